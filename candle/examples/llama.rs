//! Tokens a second of a Llama of random weights, by the kernels of tilewright and by those of candle.
//!
//! `cargo run --release -p tilewright-candle --example llama -- --size tiny`, and with `--features cuda` also
//! `--size 8b --device cuda --dtype bf16`.

#[path = "llama/model.rs"]
mod model;

use candle_core::{DType, Device, Result, Tensor, bail};
use model::{Config, Kernels, Llama, greedy};
use std::str::FromStr;
use std::time::{Duration, Instant};

const USAGE: &str = "options: --size tiny|1b|8b, --device cpu|cuda, --dtype f32|f16|bf16, --batch N, --prompt N, \
    --tokens N, --int8 (weights of signed bytes)";

struct Options {
    config: Config,
    device: Device,
    dtype: DType,
    batch: usize,
    prompt: usize,
    tokens: usize,
    int8: bool,
}

fn main() -> Result<()> {
    let options = options()?;
    let Options { config, device, dtype, batch, prompt, tokens, int8 } = &options;
    let model = Llama::random(*config, *dtype, *int8, device)?;
    println!("{config:?}, {dtype:?}{}", if *int8 { ", weights of signed bytes" } else { "" });
    println!("batch {batch}, prompt {prompt}, then {tokens} tokens; the best of three runs");
    println!("{:12} {:>18} {:>18}", "kernels", "prompt, tokens/s", "then, tokens/s");
    for kernels in [Kernels::Tilewright, Kernels::Candle] {
        // The first run loads kernels and measures configurations.
        run(&model, &options, kernels)?;
        let runs = (0..3).map(|_| run(&model, &options, kernels)).collect::<Result<Vec<_>>>()?;
        let best = |of: fn(&(Duration, Duration)) -> Duration| runs.iter().map(of).min().expect("three").as_secs_f64();
        let (first, then) = (best(|run| run.0), best(|run| run.1));
        let rate = |tokens: usize, seconds: f64| (batch * tokens) as f64 / seconds;
        println!("{:12} {:18.1} {:18.1}", format!("{kernels:?}"), rate(*prompt, first), rate(*tokens, then));
    }
    Ok(())
}

/// The time of the prompt, and that of the tokens behind it.
fn run(model: &Llama, options: &Options, kernels: Kernels) -> Result<(Duration, Duration)> {
    let Options { config, device, batch, prompt, tokens, .. } = options;
    let ids: Vec<u32> = (0..batch * prompt).map(|i| (i * 7919 % config.vocabulary) as u32).collect();
    let ids = Tensor::from_vec(ids, (*batch, *prompt), device)?;
    let mut cache = model.cache(*batch, kernels)?;
    device.synchronize()?;
    let start = Instant::now();
    let mut next = greedy(&model.forward(&ids, &mut cache, kernels)?)?;
    device.synchronize()?;
    let first = start.elapsed();
    let start = Instant::now();
    for _ in 0..*tokens {
        next = greedy(&model.forward(&next, &mut cache, kernels)?)?;
    }
    device.synchronize()?;
    Ok((first, start.elapsed()))
}

fn options() -> Result<Options> {
    let mut options = Options {
        config: Config::TINY,
        device: Device::Cpu,
        dtype: DType::F32,
        batch: 1,
        prompt: 32,
        tokens: 16,
        int8: false,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| candle_core::Error::msg(USAGE));
        match name.as_str() {
            "--size" => {
                options.config = match value()?.as_str() {
                    "tiny" => Config::TINY,
                    "1b" => Config::B1,
                    "8b" => Config::B8,
                    _ => bail!("{USAGE}"),
                }
            }
            "--device" => {
                options.device = match value()?.as_str() {
                    "cpu" => Device::Cpu,
                    "cuda" => Device::new_cuda_with_stream(0)?,
                    _ => bail!("{USAGE}"),
                }
            }
            "--dtype" => options.dtype = DType::from_str(&value()?).map_err(candle_core::Error::wrap)?,
            "--batch" => options.batch = number(&value()?)?,
            "--prompt" => options.prompt = number(&value()?)?,
            "--tokens" => options.tokens = number(&value()?)?,
            "--int8" => options.int8 = true,
            _ => bail!("{USAGE}"),
        }
    }
    if options.prompt + options.tokens > options.config.positions {
        bail!("a sequence of this model has {} tokens at most", options.config.positions);
    }
    Ok(options)
}

fn number(text: &str) -> Result<usize> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => bail!("`{text}` is no positive number. {USAGE}"),
    }
}
