//! The types that registers and memory hold, and their layout in the words of an access.

use crate::scalar::Scalar as Mem;

/// The hardware's view of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repr {
    F16,
    BF16,
    F32,
    F64,
    Signed,
    Unsigned,
    Bool,
    E4M3,
    E5M2,
}

/// How the bits of `T` are read; a constant once compiled.
pub const fn repr<T: Mem>() -> Repr {
    match T::NAME.as_bytes() {
        b"f16" => Repr::F16,
        b"bf16" => Repr::BF16,
        b"f32" => Repr::F32,
        b"f64" => Repr::F64,
        b"f8e4m3" => Repr::E4M3,
        b"f8e5m2" => Repr::E5M2,
        b"bool" => Repr::Bool,
        [b'i', ..] => Repr::Signed,
        _ => Repr::Unsigned,
    }
}

/// One access of up to 16 bytes: two 64-bit words where elements are that wide, else four words of 32 bits.
pub type Words = [u64; 4];

/// Element `k` of an access.
#[inline(always)]
pub fn unpack<T: Mem>(w: &Words, k: usize) -> T {
    if T::BYTES == 8 {
        T::from_bits64(w[k])
    } else {
        let at = k * T::BYTES;
        T::from_bits64((w[at / 4] as u32 >> (at % 4 * 8)) as u64)
    }
}

/// Sets element `k` of an access whose words start as zeros.
#[inline(always)]
pub fn pack<T: Mem>(w: &mut Words, k: usize, v: T) {
    if T::BYTES == 8 {
        w[k] = v.to_bits64();
    } else {
        let at = k * T::BYTES;
        w[at / 4] |= ((v.to_bits64() as u32) << (at % 4 * 8)) as u64;
    }
}

/// A value as a print shows it.
pub enum Wide {
    Float(f64),
    Signed(i64),
    Unsigned(u64),
}

#[inline(always)]
pub fn widen<T: Mem>(v: T) -> Wide {
    let bits = v.to_bits64();
    let unused = 64 - 8 * T::BYTES as u32;
    match const { repr::<T>() } {
        Repr::F16 => Wide::Float(crate::scalar::F16(bits as u16).to_f32() as f64),
        Repr::BF16 => Wide::Float(crate::scalar::BF16(bits as u16).to_f32() as f64),
        Repr::E4M3 => Wide::Float(crate::scalar::F8E4M3(bits as u8).to_f32() as f64),
        Repr::E5M2 => Wide::Float(crate::scalar::F8E5M2(bits as u8).to_f32() as f64),
        Repr::F32 => Wide::Float(f32::from_bits(bits as u32) as f64),
        Repr::F64 => Wide::Float(f64::from_bits(bits)),
        Repr::Signed => Wide::Signed((bits << unused) as i64 >> unused),
        Repr::Unsigned | Repr::Bool => Wide::Unsigned(bits),
    }
}

/// The value that atomic `OP` stores.
#[inline(always)]
pub fn combine<T: Mem, const OP: u32>(old: T, v: T) -> T {
    use super::atomic;
    match OP {
        atomic::ADD => T::atomic_add(old, v),
        atomic::MAX if planted!("device-atomic-max-keeps-a-nan") => {
            if v > old {
                v
            } else {
                old
            }
        }
        atomic::MAX => T::max(old, v),
        atomic::MIN => T::min(old, v),
        atomic::XCHG | atomic::STORE => v,
        atomic::LOAD => old,
        _ => T::atomic_bits(OP, old, v),
    }
}
