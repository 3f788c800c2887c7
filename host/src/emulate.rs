//! Launching on the emulated SM.

use crate::error::{Error, Result};
use crate::stream::Stream;
use kernel_core::emulator::{self, Kind, Options, Region};
use kernel_core::{Call, ConfigDesc, VariantDesc};

pub(crate) fn launch(stream: &Stream, call: &Call, config: &'static ConfigDesc, variant: &VariantDesc, grid: [u64; 3], options: &Options) -> Result<()> {
    let desc = call.desc();
    let Some(emulated) = variant.emulated else { return Err(Error::NotEmulated { kernel: desc.name, config: config.id }) };
    let regions = regions(stream, call);
    if !variant.maps.is_empty() {
        // TODO: append the addresses of emulator::TensorMap::new(base, elem_bytes, dims, strides_bytes, box, swizzle).
        let why = "its tensor maps are not emulated".into();
        return Err(Error::CannotLaunch { kernel: desc.name, config: config.id, device: "the emulated SM".into(), why });
    }
    // SAFETY: the code is that of these slots, and the call vouches for the memory they name.
    let ran = unsafe { emulator::launch(emulated.run, emulated.threads, emulated.shared_bytes, grid, call.slots(), &regions, options) };
    match ran {
        Ok(report) => {
            report.printed.iter().for_each(|line| println!("{line}"));
            call.buffers().iter().filter(|b| b.mutable).for_each(|b| stream.blocks().define(b.start));
            Ok(())
        }
        Err(f) => {
            let report = format!("{}, {f}", desc.file);
            Err(match f.kind {
                Kind::Assertion => Error::Assert { kernel: desc.name, message: report },
                Kind::Launch => Error::CannotLaunch { kernel: desc.name, config: config.id, device: "the emulated SM".into(), why: f.message },
                _ => Error::Emulator { kernel: desc.name, report },
            })
        }
    }
}

/// What the launch may touch. Scratch that nothing has written holds nothing; everything else is data.
fn regions(stream: &Stream, call: &Call) -> Vec<Region> {
    let (desc, all) = (call.desc(), call.buffers());
    all.iter()
        .map(|b| {
            let param = desc.params.get(b.param as usize);
            let raw = param.is_some_and(|p| p.kind.slots() == 1);
            // An output that is allowed to be an input makes that memory writable.
            let same = |o: &&kernel_core::BufferUse| o.start == b.start && o.bytes == b.bytes;
            Region {
                start: b.start,
                bytes: if raw { Region::UNKNOWN } else { b.bytes },
                mutable: all.iter().filter(same).any(|o| o.mutable),
                initialised: !stream.blocks().is_undefined(b.start),
                name: param.map_or(String::new(), |p| p.name.into()),
            }
        })
        .collect()
}
