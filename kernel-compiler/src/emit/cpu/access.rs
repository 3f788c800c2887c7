//! The memory that loads, stores and atomics access: addresses, bounds and masks, by element or by axis.

use super::{Writer, number, of_i};
use crate::codegen::pieces::all_of;
use crate::dtype::DType;
use crate::ir::{Address, Base, Binary, Value};
use crate::plan::cpu::Axis;
use crate::thread_ir::{BinaryOp, Cpu, Expr, Function, Local, Name, call};

impl Writer<'_> {
    /// The arguments of an access by axes: the address and the length of the array, `u64::MAX` where bounds are not
    /// checked, and the axes of the elements of a tile.
    pub(super) fn by_axes(&self, ptr: &Address, of: Value, axes: &[Axis]) -> [Expr; 3] {
        let (base, len) = self.array(ptr);
        [base, len.unwrap_or(Expr::typed(u64::MAX, DType::U64)), self.axes(of, axes)]
    }

    fn axes(&self, of: Value, axes: &[Axis]) -> Expr {
        let of_axis = |(axis, &extent): (&Axis, &usize)| {
            let at = |v: &Value| match self.f.shape(*v).iter().all(|&n| n == 1) {
                true => self.at(*v, 0),
                false => self.at(*v, Local::I),
            };
            let offset = axis.offsets.iter().map(at).reduce(|sum, x| call!(Binary::Add; sum, x));
            let mask = all_of(axis.conditions.iter().map(at), BinaryOp::And);
            call!(Cpu::Axis; number(extent, None), of_i(offset.unwrap_or(Expr::typed(0, DType::U64))), of_i(mask))
        };
        Expr::Array(axes.iter().zip(self.f.shape(of)).map(of_axis).collect()).by_ref()
    }

    /// The address of the array of an access, and its length where bounds are checked.
    fn array(&self, ptr: &Address) -> (Expr, Option<Expr>) {
        let word = |param: usize, i: usize| Expr::from(Name::Words).element(self.f.params[param].first_word + i);
        match ptr.base {
            Base::Slice(param) => (word(param, 0), Some(word(param, 1))),
            Base::Raw(param) => (word(param, 0), None),
            Base::Shared(array) => {
                let address = call!(Cpu::SharedAddress; Expr::from(Name::SharedArray(array)).by_ref());
                (address, Some(number(self.f.shared[array].len, Some(DType::U64))))
            }
            Base::Pointer { address, .. } => (self.at(address, Local::I), None),
        }
    }

    fn index(&self, ptr: &Address) -> Expr {
        let v = ptr.index;
        let index = self.at(v, Local::I);
        match self.f.ty(v).dtype {
            DType::U64 => index,
            d => call!(Function::Cast; [d, DType::U64]; index),
        }
    }

    pub(super) fn address(&self, ptr: &Address) -> Expr {
        let bytes = self.index(ptr).group().wrapping_mul(self.f.dtype_at(ptr).size());
        self.array(ptr).0.wrapping_add(bytes)
    }

    pub(super) fn ok(&self, ptr: &Address, mask: Option<Value>) -> Expr {
        let inside = self.array(ptr).1.map(|len| self.index(ptr).less(len).group());
        all_of(inside.into_iter().chain(mask.map(|m| self.at(m, Local::I))), BinaryOp::And)
    }
}
