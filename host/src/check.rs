//! The checks before a launch, on every backend: nothing is enqueued unless all of them hold.

use crate::error::{Error, Result};
use tilewright_core::{BufferUse, Call, DeviceId, KernelDesc, ParamDesc, ParamKind, Pointees};

/// Checks a call against the device and the stream, by its address, where it is to run.
#[inline]
pub(crate) fn call(device: DeviceId, stream: u64, call: &Call) -> Result<()> {
    let desc = call.desc();
    call.check()?;
    let buffers = call.buffers();
    for (i, b) in buffers.iter().enumerate() {
        if b.device != device && !b.device.takes_work(device, stream) {
            if let DeviceId::CudaStream { device: ordinal, context, stream: its } = b.device
                && device == (DeviceId::Cuda { device: ordinal, context })
            {
                let (kernel, param) = (desc.name, name(desc, b));
                return Err(Error::StreamOfArgument { kernel, param, its, this: stream });
            }
            return Err(Error::DeviceMismatch {
                kernel: desc.name,
                param: name(desc, b),
                expected: device,
                found: b.device,
            });
        }
        let Some(param) = desc.params.get(b.param as usize) else { continue };
        if b.bytes == 0 {
            continue; // empty, or a raw pointer: the caller's word
        }
        let align = param.dtype.size();
        if b.start == 0 {
            return Err(Error::NullPointer { kernel: desc.name, param: param.name });
        }
        if b.start & (align as u64 - 1) != 0 {
            return Err(Error::Misaligned { kernel: desc.name, param: param.name, align });
        }
        for other in &buffers[..i] {
            if (b.mutable || other.mutable) && overlap(b, other) {
                let same = b.start == other.start && b.bytes == other.bytes;
                let (output, other) = if b.mutable { (b, other) } else { (other, b) };
                let is_alias = desc.aliases.contains(&[other.param, output.param]);
                if !(same && is_alias && shape(call, other) == shape(call, output)) {
                    return Err(Error::Alias {
                        kernel: desc.name,
                        output: name(desc, output),
                        other: name(desc, other),
                    });
                }
            }
        }
    }
    Ok(())
}

/// Nothing overlaps an empty array, or a raw pointer, which has no extent here.
fn overlap(a: &BufferUse, b: &BufferUse) -> bool {
    a.bytes > 0 && b.bytes > 0 && a.start < b.start.saturating_add(b.bytes) && b.start < a.start.saturating_add(a.bytes)
}

/// The extents and strides of a view; empty for another array.
fn shape<'a>(call: &'a Call, b: &BufferUse) -> &'a [u64] {
    match call.desc().params.get(b.param as usize) {
        Some(p) if matches!(p.kind, ParamKind::View { .. } | ParamKind::ViewMut { .. }) => {
            let first = p.first_word;
            &call.words()[first + 1..first + p.kind.words()]
        }
        _ => &[],
    }
}

/// Why configurations are not measured on these arguments: runs would leave traces where nothing puts back what was
/// there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotPutBack {
    #[error("it writes through addresses that it computes, where tuning could not put back what was there")]
    ComputedAddresses,
    #[error(
        "there is memory between the elements of `{0}`, which tuning would overwrite: tune with an output without gaps"
    )]
    Gaps(&'static str),
    #[error("it writes through a raw pointer, whose extent is not known: `RawArg::within` says it")]
    UnknownExtent,
}

pub(crate) fn is_not_put_back(call: &Call) -> Option<NotPutBack> {
    let desc = call.desc();
    if desc.pointees == Pointees::Written {
        return Some(NotPutBack::ComputedAddresses);
    }
    let has_gaps = |b: &BufferUse, param: &ParamDesc| {
        let words = shape(call, b);
        let elements = words[..words.len() / 2].iter().fold(1u64, |n, &extent| n.saturating_mul(extent));
        !words.is_empty() && elements.saturating_mul(param.dtype.size() as u64) < b.bytes
    };
    call.buffers().iter().filter(|b| b.mutable).find_map(|b| {
        let param = desc.params.get(b.param as usize)?;
        if has_gaps(b, param) {
            return Some(NotPutBack::Gaps(param.name));
        }
        let is_unknown = param.kind == ParamKind::PtrMut && b.extent.is_none();
        is_unknown.then_some(NotPutBack::UnknownExtent)
    })
}

fn name(desc: &KernelDesc, b: &BufferUse) -> &'static str {
    desc.params.get(b.param as usize).map_or("?", |p| p.name)
}

/// Whether there is anything to do on this grid; an error where no device can run it.
#[inline]
pub(crate) fn grid(desc: &KernelDesc, grid: [u64; 3]) -> Result<bool> {
    if grid.contains(&0) {
        return Ok(false);
    }
    if grid[0] > i32::MAX as u64 || grid[1] > 65535 || grid[2] > 65535 {
        return Err(Error::GridTooLarge { kernel: desc.name, grid });
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kernel::{COPY, copy_call};
    use tilewright_core::{BindError, KernelParts, SliceArg, SliceMutArg};

    // SAFETY: the functions of the copy, which reads each element before it writes it.
    static IN_PLACE: KernelDesc = unsafe { KernelDesc::new(KernelParts { aliases: &[[0, 1]], ..*COPY.parts() }) };

    #[test]
    fn every_defect_has_its_error() {
        let at = |x: u64, n: usize, y: u64, m: usize, device| copy_call(x, n, y, m, device);
        let host = DeviceId::Host;
        let in_place = |x: u64, n: usize, y: u64, m: usize| {
            // SAFETY: nothing is launched.
            let (x, y) = unsafe { (SliceArg::<f32>::from_raw(x, n, host), SliceMutArg::<f32>::from_raw(y, m, host)) };
            Call::new(&IN_PLACE).slice(x).slice_mut(y)
        };
        assert!(call(host, 0, &at(64, 4, 80, 4, host)).is_ok());
        assert!(matches!(call(host, 0, &at(64, 5, 80, 4, host)), Err(Error::Alias { output: "y", other: "x", .. })));
        assert!(matches!(call(host, 0, &at(64, 4, 64, 4, host)), Err(Error::Alias { .. })));
        assert!(call(host, 0, &at(68, 0, 64, 4, host)).is_ok(), "an empty array within another one");
        assert!(call(host, 0, &in_place(64, 4, 64, 4)).is_ok());
        assert!(matches!(call(host, 0, &in_place(64, 4, 68, 4)), Err(Error::Alias { .. })));
        assert!(matches!(call(host, 0, &in_place(64, 4, 64, 3)), Err(Error::Alias { .. })));
        assert!(matches!(call(host, 0, &at(66, 4, 80, 4, host)), Err(Error::Misaligned { param: "x", align: 4, .. })));
        assert!(matches!(call(host, 0, &at(0, 4, 80, 4, host)), Err(Error::NullPointer { param: "x", .. })));
        assert!(call(host, 0, &at(0, 0, 0, 0, host)).is_ok());
        let gpu = DeviceId::Cuda { device: 0, context: 3 };
        let wrong = call(gpu, 0x10, &at(64, 4, 80, 4, host));
        assert!(matches!(wrong, Err(Error::DeviceMismatch { param: "x", .. })));
        assert!(
            wrong.unwrap_err().to_string().contains("lives on the host but the call runs on CUDA device 0 (context 3)")
        );
        assert!(call(gpu, 0x10, &at(64, 4, 80, 4, DeviceId::Unknown)).is_ok());
        let of_stream = |stream| DeviceId::CudaStream { device: 0, context: 3, stream };
        assert!(call(gpu, 0x10, &at(64, 4, 80, 4, of_stream(0x10))).is_ok());
        let wrong = call(gpu, 0x10, &at(64, 4, 80, 4, of_stream(0x20)));
        assert!(matches!(wrong, Err(Error::StreamOfArgument { param: "x", its: 0x20, this: 0x10, .. })));
        let there = DeviceId::CudaStream { device: 1, context: 4, stream: 0x10 };
        assert!(matches!(call(gpu, 0x10, &at(64, 4, 80, 4, there)), Err(Error::DeviceMismatch { .. })));
        let unbound = call(host, 0, &Call::new(&COPY));
        assert!(matches!(unbound, Err(Error::Arguments(BindError::Missing { kernel: "copy", param: "x", .. }))));
    }

    #[test]
    fn grids() {
        assert!(!grid(&COPY, [3, 0, 1]).unwrap());
        assert!(grid(&COPY, [(1 << 31) - 1, 65535, 65535]).unwrap());
        for g in [[1 << 31, 1, 1], [1, 65536, 1], [1, 1, 65536]] {
            assert!(matches!(grid(&COPY, g), Err(Error::GridTooLarge { .. })));
        }
    }
}
