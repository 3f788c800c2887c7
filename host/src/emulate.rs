//! Launching on the emulated SM.

use crate::error::{Error, Result};
use crate::stream::Stream;
use crate::tensor_map::{Geometry, malformed};
use kernel_core::emulator::{self, Kind, Options, Program, Region, Shape, TensorMap};
use kernel_core::{Call, ConfigDesc, KernelDesc, MapDesc, VariantDesc};
use std::io::Write;

pub(crate) fn launch(
    stream: &Stream,
    call: &Call,
    config: &'static ConfigDesc,
    variant: &VariantDesc,
    grid: [u64; 3],
    options: &Options,
) -> Result<()> {
    let desc = call.desc();
    let Some(emulated) = variant.emulated else {
        return Err(Error::NotEmulated { kernel: desc.name, config: config.id });
    };
    let regions = regions(stream, call, emulated.early.unwrap_or_default());
    let program =
        Program { name: desc.name, run: emulated.run, registers: emulated.registers, early: emulated.early.is_some() };
    let maps = variant.maps.iter().map(|m| tensor_map(desc, m, call.slots())).collect::<Result<Vec<_>>>()?;
    let slots: Vec<u64> =
        call.slots().iter().copied().chain(maps.iter().map(|m| core::ptr::from_ref(m) as u64)).collect();
    let shape = Shape { threads: emulated.threads, shared_bytes: emulated.shared_bytes, grid, ctas: emulated.ctas };
    // SAFETY: the code is that of these slots, and the call vouches for the memory they name.
    let ran = unsafe { emulator::launch(program, shape, &slots, &regions, options) };
    match ran {
        Ok(report) => {
            // A line that cannot be written is lost.
            report.printed.iter().for_each(|line| _ = writeln!(std::io::stdout(), "{line}"));
            call.buffers().iter().filter(|b| b.mutable).for_each(|b| stream.blocks().define(b.start));
            Ok(())
        }
        Err(f) => {
            let report = format!("{}, {f}", desc.file);
            Err(match f.kind {
                Kind::Assertion => Error::Assert { kernel: desc.name, message: report },
                Kind::Launch => Error::CannotLaunch {
                    kernel: desc.name,
                    config: config.id,
                    device: "the emulated SM".into(),
                    why: f.message,
                },
                _ => Error::Emulator { kernel: desc.name, report },
            })
        }
    }
}

fn tensor_map(desc: &KernelDesc, map: &MapDesc, slots: &[u64]) -> Result<TensorMap> {
    let g = Geometry::of(desc, map, slots).ok_or_else(|| malformed(desc))?;
    Ok(TensorMap::new(
        g.base,
        g.dtype.size() as u32,
        &g.dims[..g.rank],
        &g.strides[..g.rank - 1],
        &g.extents[..g.rank],
        g.swizzle,
    ))
}

/// What the launch may touch. Scratch that nothing has written holds nothing; everything else is data.
fn regions(stream: &Stream, call: &Call, early: &[u8]) -> Vec<Region> {
    let (desc, all) = (call.desc(), call.buffers());
    all.iter()
        .map(|b| {
            let param = desc.params.get(b.param as usize);
            let raw = param.is_some_and(|p| p.kind.slots() == 1);
            // An output that is allowed to be an input makes that memory writable.
            let same = |o: &&kernel_core::BufferUse| o.start == b.start && o.bytes == b.bytes;
            Region {
                start: b.start,
                bytes: if raw { b.extent.unwrap_or(Region::UNKNOWN) } else { b.bytes },
                mutable: all.iter().filter(same).any(|o| o.mutable),
                initialised: !stream.blocks().is_undefined(b.start),
                early: early.iter().any(|&p| p as usize == b.param as usize),
                name: param.map_or(String::new(), |p| p.name.into()),
            }
        })
        .collect()
}
