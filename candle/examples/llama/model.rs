//! A Llama: RMS norms, grouped-query attention with rotary embeddings and a KV cache, gated layers.

use candle_core::{D, DType, Device, Module, Result, Tensor};
use tilewright_candle::{Int8Linear, add_rms_norm, embedding, flash_attn, rms_norm, rope_thd, swiglu};

/// The sizes of a model.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub vocabulary: usize,
    pub hidden: usize,
    pub intermediate: usize,
    pub layers: usize,
    pub heads: usize,
    pub kv_heads: usize,
    /// The most tokens of a sequence.
    pub positions: usize,
    pub eps: f32,
    pub theta: f32,
}

impl Config {
    /// For tests.
    pub const TINY: Config = Config {
        vocabulary: 160,
        hidden: 96,
        intermediate: 160,
        layers: 2,
        heads: 6,
        kv_heads: 2,
        positions: 64,
        eps: 1e-5,
        theta: 10_000.0,
    };
    /// As Llama 3.2 1B.
    pub const B1: Config = Config {
        vocabulary: 128_256,
        hidden: 2048,
        intermediate: 8192,
        layers: 16,
        heads: 32,
        kv_heads: 8,
        positions: 8192,
        eps: 1e-5,
        theta: 500_000.0,
    };
    /// As Llama 3.1 8B.
    pub const B8: Config = Config { hidden: 4096, intermediate: 14336, layers: 32, ..Config::B1 };

    fn head_dim(&self) -> usize {
        self.hidden / self.heads
    }
}

/// Whose kernels run, apart from those of products.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kernels {
    Tilewright,
    Candle,
}

/// A weight, or one of signed bytes.
enum Linear {
    Float(Tensor),
    Int8(Int8Linear),
}

impl Linear {
    fn random(outputs: usize, inputs: usize, dtype: DType, int8: bool, device: &Device) -> Result<Linear> {
        let weight = Tensor::randn(0.0f32, 1.0 / (inputs as f32).sqrt(), (outputs, inputs), device)?.to_dtype(dtype)?;
        Ok(if int8 { Linear::Int8(Int8Linear::new(&weight)?) } else { Linear::Float(weight) })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        match self {
            Linear::Float(weight) => candle_nn::Linear::new(weight.clone(), None).forward(x),
            Linear::Int8(layer) => layer.forward(x),
        }
    }
}

struct Layer {
    before_attention: Tensor,
    before_gates: Tensor,
    q: Linear,
    k: Linear,
    v: Linear,
    o: Linear,
    gate: Linear,
    up: Linear,
    down: Linear,
}

/// The keys and the values of each layer, `(batch, positions, kv_heads, d)`.
pub struct Cache {
    layers: Vec<[Tensor; 2]>,
    tokens: usize,
}

/// A model.
pub struct Llama {
    config: Config,
    dtype: DType,
    table: Tensor,
    layers: Vec<Layer>,
    norm: Tensor,
    head: Linear,
    /// f32, `(positions, d / 2)`.
    cos: Tensor,
    sin: Tensor,
    /// The same of the model's dtype, which candle's kernels take.
    cos_of_dtype: Tensor,
    sin_of_dtype: Tensor,
}

impl Llama {
    /// A model of random weights.
    pub fn random(config: Config, dtype: DType, int8: bool, device: &Device) -> Result<Llama> {
        let Config { vocabulary, hidden, intermediate, heads, kv_heads, positions, theta, .. } = config;
        let of_kv = kv_heads * config.head_dim();
        let linear = |outputs, inputs| Linear::random(outputs, inputs, dtype, int8, device);
        let norm = || Tensor::randn(1.0f32, 0.1, hidden, device)?.to_dtype(dtype);
        let layer = |_| {
            Ok(Layer {
                before_attention: norm()?,
                before_gates: norm()?,
                q: linear(hidden, hidden)?,
                k: linear(of_kv, hidden)?,
                v: linear(of_kv, hidden)?,
                o: linear(hidden, hidden)?,
                gate: linear(intermediate, hidden)?,
                up: linear(intermediate, hidden)?,
                down: linear(hidden, intermediate)?,
            })
        };
        let half = hidden / heads / 2;
        let angles: Vec<f32> = (0..positions)
            .flat_map(|p| (0..half).map(move |i| p as f32 * theta.powf(-(i as f32) / half as f32)))
            .collect();
        let angles = Tensor::from_vec(angles, (positions, half), device)?;
        let (cos, sin) = (angles.cos()?, angles.sin()?);
        Ok(Llama {
            config,
            dtype,
            table: Tensor::randn(0.0f32, 1.0, (vocabulary, hidden), device)?.to_dtype(dtype)?,
            layers: (0..config.layers).map(layer).collect::<Result<_>>()?,
            norm: norm()?,
            head: Linear::random(vocabulary, hidden, dtype, int8, device)?,
            cos_of_dtype: cos.to_dtype(dtype)?,
            sin_of_dtype: sin.to_dtype(dtype)?,
            cos,
            sin,
        })
    }

    /// An empty cache of a batch.
    pub fn cache(&self, batch: usize, kernels: Kernels) -> Result<Cache> {
        // Attention of tilewright takes 16 bits.
        let dtype = match (kernels, self.dtype) {
            (Kernels::Tilewright, DType::F32) => DType::F16,
            (_, dtype) => dtype,
        };
        let shape = (batch, self.config.positions, self.config.kv_heads, self.config.head_dim());
        let zeros = || Tensor::zeros(shape, dtype, self.cos.device());
        let layers = (0..self.config.layers).map(|_| Ok([zeros()?, zeros()?])).collect::<Result<_>>()?;
        Ok(Cache { layers, tokens: 0 })
    }

    /// The logits behind the last of these tokens, `(batch, tokens)` of u32, which follow those of the cache.
    pub fn forward(&self, tokens: &Tensor, cache: &mut Cache, kernels: Kernels) -> Result<Tensor> {
        let (batch, new) = tokens.dims2()?;
        let mut x = match kernels {
            Kernels::Tilewright => embedding(&self.table, tokens)?,
            Kernels::Candle => {
                let rows = self.table.embedding(&tokens.flatten_all()?)?;
                rows.reshape((batch, new, self.config.hidden))?
            }
        };
        // The output of the layer before, which is not added yet.
        let mut step = None;
        for (layer, cached) in self.layers.iter().zip(&cache.layers) {
            let (sum, normal) = self.add_norm(x, step, &layer.before_attention, kernels)?;
            let attended = self.attention(layer, &normal, cached, cache.tokens, kernels)?;
            let (sum, normal) = self.add_norm(sum, Some(attended), &layer.before_gates, kernels)?;
            let (gate, up) = (layer.gate.forward(&normal)?, layer.up.forward(&normal)?);
            let gated = match kernels {
                Kernels::Tilewright => swiglu(&gate, &up)?,
                Kernels::Candle => (gate.silu()? * up)?,
            };
            step = Some(layer.down.forward(&gated)?);
            x = sum;
        }
        cache.tokens += new;
        let last = |x: Tensor| x.narrow(1, new - 1, 1)?.squeeze(1)?.contiguous();
        let (_, normal) = self.add_norm(last(x)?, step.map(last).transpose()?, &self.norm, kernels)?;
        self.head.forward(&normal)
    }

    /// The sum, and its norm.
    fn add_norm(&self, x: Tensor, step: Option<Tensor>, weight: &Tensor, by: Kernels) -> Result<(Tensor, Tensor)> {
        let eps = self.config.eps;
        match (by, step) {
            (Kernels::Tilewright, Some(step)) => add_rms_norm(&step, &x, weight, eps),
            (Kernels::Tilewright, None) => Ok((x.clone(), rms_norm(&x, weight, eps)?)),
            (Kernels::Candle, step) => {
                let x = step.map_or(Ok(x.clone()), |step| x + step)?;
                Ok((x.clone(), candle_nn::ops::rms_norm(&x, weight, eps)?))
            }
        }
    }

    fn attention(
        &self,
        layer: &Layer,
        x: &Tensor,
        [keys, values]: &[Tensor; 2],
        before: usize,
        kernels: Kernels,
    ) -> Result<Tensor> {
        let (batch, new, hidden) = x.dims3()?;
        let Config { heads, kv_heads, .. } = self.config;
        let d = self.config.head_dim();
        let scale = 1.0 / (d as f32).sqrt();
        let q = layer.q.forward(x)?.reshape((batch, new, heads, d))?;
        let k = layer.k.forward(x)?.reshape((batch, new, kv_heads, d))?;
        let v = layer.v.forward(x)?.reshape((batch, new, kv_heads, d))?;
        let (cos, sin) = match kernels {
            Kernels::Tilewright => (&self.cos, &self.sin),
            Kernels::Candle => (&self.cos_of_dtype, &self.sin_of_dtype),
        };
        let (cos, sin) = (cos.narrow(0, before, new)?, sin.narrow(0, before, new)?);
        let (q, k) = match kernels {
            Kernels::Tilewright => (rope_thd(&q, &cos, &sin)?, rope_thd(&k, &cos, &sin)?),
            Kernels::Candle => {
                use candle_nn::rotary_emb::rope_thd;
                (rope_thd(&q, &cos, &sin)?, rope_thd(&k, &cos, &sin)?)
            }
        };
        keys.slice_set(&k.to_dtype(keys.dtype())?, 1, before)?;
        values.slice_set(&v.to_dtype(values.dtype())?, 1, before)?;
        let (k, v) = (keys.narrow(1, 0, before + new)?, values.narrow(1, 0, before + new)?);
        let y = match kernels {
            // The cache is read where it is.
            Kernels::Tilewright => flash_attn(&q.to_dtype(k.dtype())?, &k, &v, scale, true)?.to_dtype(self.dtype)?,
            Kernels::Candle => softmax_attention(&q, &k, &v, scale)?,
        };
        layer.o.forward(&y.reshape((batch, new, hidden))?)
    }
}

/// Causal attention by products and a softmax.
fn softmax_attention(q: &Tensor, k: &Tensor, v: &Tensor, scale: f32) -> Result<Tensor> {
    let ((batch, new, heads, d), (_, all, shared, _)) = (q.dims4()?, k.dims4()?);
    // Each head of K and V beside the heads of Q that share it.
    let repeated = |x: &Tensor| {
        let x = x.transpose(1, 2)?.unsqueeze(2)?;
        x.expand((batch, shared, heads / shared, all, d))?.contiguous()?.reshape((batch, heads, all, d))
    };
    let (q, k, v) = (q.transpose(1, 2)?.contiguous()?, repeated(k)?, repeated(v)?);
    let mut scores = (q.matmul(&k.t()?)? * f64::from(scale))?;
    if new > 1 {
        let sees = |i: usize, j: usize| if j + new <= all + i { 0.0 } else { f32::NEG_INFINITY };
        let mask: Vec<f32> = (0..new).flat_map(|i| (0..all).map(move |j| sees(i, j))).collect();
        let mask = Tensor::from_vec(mask, (new, all), q.device())?.to_dtype(q.dtype())?;
        scores = scores.broadcast_add(&mask)?;
    }
    candle_nn::ops::softmax_last_dim(&scores)?.matmul(&v)?.transpose(1, 2)?.contiguous()
}

/// The most likely token of each sequence, `(batch, 1)`.
pub fn greedy(logits: &Tensor) -> Result<Tensor> {
    logits.argmax(D::Minus1)?.unsqueeze(1)
}
