//! Numbers that PTX moves to registers, for instructions that take them there: masks, counts, matrix descriptors.

use std::collections::BTreeMap;

/// The numbers of registers that hold one: by `mov`, or by an `or` with the upper half of a matrix descriptor.
pub struct Numbers<'a> {
    moved: BTreeMap<&'a str, Option<u64>>,
    joined: BTreeMap<&'a str, Option<u64>>,
}

/// A matrix descriptor as far as it is a number: the bytes of a swizzled row, those from eight rows to the next eight,
/// and those to the next block of the contiguous dimension where they are in the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    pub swizzle: u64,
    pub stride: u64,
    pub leading: Option<u64>,
}

impl Descriptor {
    fn of(number: u64) -> Descriptor {
        let field = |shift: u32| (number >> shift & 0x3FFF) << 4;
        let swizzle = [0, 128, 64, 32][(number >> 62) as usize];
        Descriptor { swizzle, stride: field(32), leading: Some(field(16)).filter(|&bytes| bytes > 0) }
    }
}

impl<'a> Numbers<'a> {
    /// A register of several numbers has none.
    pub fn of(ptx: &'a str) -> Numbers<'a> {
        let mut all = Numbers { moved: BTreeMap::new(), joined: BTreeMap::new() };
        for line in ptx.lines() {
            let Some((opcode, operands)) = line.split_once([' ', '\t']) else { continue };
            let operands: Vec<&str> = operands.trim_end_matches(';').split(',').map(str::trim).collect();
            let (to, from, number) = match operands[..] {
                [to, number] if opcode.starts_with("mov.b") => (to, &mut all.moved, number),
                [to, _, number] if opcode == "or.b64" => (to, &mut all.joined, number),
                _ => continue,
            };
            let number = number.parse::<i64>().map(|n| n as u64).or_else(|_| number.parse()).ok();
            from.entry(to).and_modify(|known| *known = known.filter(|k| Some(*k) == number)).or_insert(number);
        }
        all
    }

    /// An operand, which is a number or a register that holds one.
    pub fn number(&self, operand: &str) -> Option<u64> {
        operand.parse().ok().or_else(|| *self.moved.get(operand)?)
    }

    pub fn descriptor(&self, register: &str) -> Option<Descriptor> {
        let joined = self.joined.get(register).copied().flatten();
        joined.or_else(|| self.moved.get(register).copied().flatten()).map(Descriptor::of)
    }
}

#[test]
fn numbers_of_registers() {
    let ptx = "mov.b16 %rs1, 15;\nmov.b32 %r1, %r2;\nmov.b32 %r3, 1;\nmov.b32 %r3, 2;\n\
               or.b64 %rd5, %rd13, 4611686293305360384;\nor.b64 %rd6, %rd13, 4611686293305294848;";
    let all = Numbers::of(ptx);
    assert_eq!(["%rs1", "%r1", "%r3", "7"].map(|r| all.number(r)), [Some(15), None, None, Some(7)]);
    let descriptor = |leading| Some(Descriptor { swizzle: 128, stride: 1024, leading });
    assert_eq!(all.descriptor("%rd5"), descriptor(Some(16)));
    assert_eq!(all.descriptor("%rd6"), descriptor(None));
    assert_eq!(all.descriptor("%rd13"), None);
}
