//! Launching on the emulated SM.

use crate::debug;
use crate::emulator_options::Options;
use crate::error::{Error, Result};
use crate::launched::{EmulatedLaunch, is_listed, record};
use crate::stream::Stream;
use crate::tensor_map::{Geometry, malformed};
use std::io::Write;
use tilewright_core::emulator::{self, Kind, Program, Region, Shape, TensorMap};
use tilewright_core::{Call, ConfigDesc, KernelDesc, MapDesc, Pointees, VariantDesc};

/// As errors name it.
const DEVICE: &str = "the emulated SM";

pub(crate) fn launch(
    stream: &Stream,
    call: &Call,
    config: &'static ConfigDesc,
    variant: &'static VariantDesc,
    grid: [u64; 3],
    options: &Options,
) -> Result<()> {
    let desc = call.desc();
    if is_listed() {
        record(|| EmulatedLaunch { kernel: desc, config, variant, grid, outcome: Ok(emulator::Report::default()) });
        return Ok(());
    }
    let not_emulated = || Error::NotEmulated { kernel: desc.name, config: config.id, emulated: None };
    // Which arguments may be read early is a part of that code.
    if variant.emulated.is_none() && desc.pdl {
        return Err(not_emulated());
    }
    let regions = regions(stream, call, variant.emulated.and_then(|e| e.pdl).unwrap_or_default());
    let maps = variant.maps.iter().map(|m| tensor_map(desc, m, call.words())).collect::<Result<Vec<_>>>()?;
    let words: Vec<u64> =
        call.words().iter().copied().chain(maps.iter().map(|m| core::ptr::from_ref(m) as u64)).collect();
    let wrong = |why| Error::CannotLaunch { kernel: desc.name, config: config.id, device: DEVICE.into(), why };
    // SAFETY: the code is that of these argument words, and the call vouches for the memory they name.
    let debugged = unsafe { debug::launch(variant.entry, &words, &regions, grid, options) };
    let ran = match (debugged.map_err(wrong)?, variant.emulated) {
        (Some(ran), _) => ran,
        (None, None) => return Err(not_emulated()),
        (None, Some(e)) => {
            let program = Program { name: desc.name, run: e.run, registers: e.registers, pdl: e.pdl.is_some() };
            let shape = Shape { threads: e.threads, shared_bytes: e.shared_bytes, grid, ctas: e.ctas };
            // SAFETY: as above.
            unsafe { emulator::launch(program, shape, &words, &regions, options) }
        }
    };
    record(|| EmulatedLaunch { kernel: desc, config, variant, grid, outcome: ran.clone() });
    let printed = match &ran {
        Ok(report) => &report.printed,
        Err(failure) => &failure.printed,
    };
    // A line that cannot be written is lost.
    printed.iter().for_each(|line| _ = writeln!(std::io::stdout(), "{line}"));
    match ran {
        Ok(_) => {
            call.buffers().iter().filter(|b| b.mutable).for_each(|b| stream.blocks().define(b.start));
            Ok(())
        }
        Err(f) => {
            let report = format!("{}, {f}", desc.file);
            Err(match f.kind {
                Kind::Assertion => Error::Assert { kernel: desc.name, message: report },
                Kind::Launch => {
                    Error::CannotLaunch { kernel: desc.name, config: config.id, device: DEVICE.into(), why: f.message }
                }
                _ => Error::Emulator { kernel: desc.name, report },
            })
        }
    }
}

/// That a grid has no more programs than are emulated: devices take more.
pub(crate) fn check_grid(
    desc: &KernelDesc,
    config: &'static ConfigDesc,
    grid: [u64; 3],
    options: &Options,
) -> Result<()> {
    let programs = grid.iter().try_fold(1u64, |n, &g| n.checked_mul(g));
    if programs.is_some_and(|n| n <= options.max_programs) {
        return Ok(());
    }
    let why = format!(
        "it runs at most {} programs of a launch (`Options::max_programs`), and this grid of {grid:?}, which a GPU takes, has more",
        options.max_programs
    );
    Err(Error::CannotLaunch { kernel: desc.name, config: config.id, device: DEVICE.into(), why })
}

fn tensor_map(desc: &KernelDesc, map: &MapDesc, words: &[u64]) -> Result<TensorMap> {
    let g = Geometry::of(desc, map, words).ok_or_else(|| malformed(desc))?;
    Ok(TensorMap::new(
        g.base,
        g.dtype.size() as u32,
        &g.dims[..g.rank],
        &g.strides[..g.rank - 1],
        &g.extents[..g.rank],
        g.swizzle,
    ))
}

/// The memory that the launch may access. Scratch that nothing has written has no contents; everything else is data.
fn regions(stream: &Stream, call: &Call, pdl: &[u8]) -> Vec<Region> {
    let (desc, all) = (call.desc(), call.buffers());
    let pointees = (desc.pointees != Pointees::None).then(|| Region {
        start: 0,
        bytes: Region::UNKNOWN,
        mutable: desc.pointees == Pointees::Written,
        initialized: true,
        pdl: false,
        name: "memory".into(),
        element: 1,
    });
    all.iter()
        .map(|b| {
            let param = desc.params.get(b.param as usize);
            let raw = param.is_some_and(|p| p.kind.words() == 1);
            // An output that is allowed to be an input makes that memory writable.
            let same = |o: &&tilewright_core::BufferUse| o.start == b.start && o.bytes == b.bytes;
            Region {
                start: b.start,
                bytes: if raw { b.extent.unwrap_or(Region::UNKNOWN) } else { b.bytes },
                mutable: all.iter().filter(same).any(|o| o.mutable),
                initialized: !stream.blocks().is_undefined(b.start),
                pdl: pdl.iter().any(|&p| p as usize == b.param as usize),
                name: param.map_or(String::new(), |p| p.name.into()),
                element: param.map_or(1, |p| p.dtype.size() as u32),
            }
        })
        .chain(pointees)
        .collect()
}
