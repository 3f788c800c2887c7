//! Raw pointers: those of parameters, and addresses that a kernel casts to pointers.

use crate::diag::{Code, Result, Span};
use crate::dtype::{DType, in_message};
use crate::front::ast::{self, Expr};
use crate::front::infer::val::{Pointer, PointerVar};
use crate::front::infer::{Binding, Infer, Val};
use crate::ir::{Base, Binary, StmtKind, Value};

impl Infer<'_> {
    pub(super) fn is_mut(&self, to: Base) -> bool {
        match to {
            Base::Slice(p) | Base::Raw(p) => self.params[p].kind.is_mut(),
            Base::Shared(_) => true,
            Base::Pointer { mutable, .. } => mutable,
        }
    }

    pub(super) fn elem(&self, to: Base) -> DType {
        match to {
            Base::Slice(p) | Base::Raw(p) => self.params[p].dtype,
            Base::Shared(array) => self.shared[array].dtype,
            Base::Pointer { dtype, .. } => dtype,
        }
    }

    /// The type of a pointer, as messages call it.
    pub(super) fn pointer_type(&self, to: Base) -> String {
        format!("*{} {}", if self.is_mut(to) { "mut" } else { "const" }, self.elem(to))
    }

    /// The offset of a pointer, with the shape of its elements.
    pub(super) fn offset(&mut self, p: &Pointer, span: Span) -> Result<Value> {
        let offset = match p.offset {
            Some(o) => o,
            None => self.constant(&Val::Int(0, None), DType::U64, span)?,
        };
        match p.to {
            Base::Pointer { address, .. } if self.ty(offset).is_scalar() => {
                let shape = self.ty(address).shape.clone();
                self.broadcast_to(offset, &shape, span, "an offset")
            }
            _ => Ok(offset),
        }
    }

    /// `address as *const T`: of an integer of 64 bits, or of a tile of them.
    pub(super) fn to_pointer(&mut self, of: &Expr, ty: &ast::PointerType, span: Span) -> Result<Val> {
        let v = self.expr(of)?;
        let dtype = self.dtype(&ty.elem)?;
        if !self.kernel.is_unsafe {
            return self.error(
                Code::NeedsUnsafe,
                span,
                "an address is cast to a pointer in `unsafe fn` kernels alone: nothing checks it",
            );
        }
        let to = match v {
            Val::Ptr(p) => return self.cast_pointer(p, dtype, ty.mutable, span),
            v => self.run(v, of.span)?,
        };
        let found = self.ty(to).clone();
        if found.dtype != DType::U64 && found.dtype != DType::I64 {
            let found = in_message(found.dtype);
            return self.error(
                Code::AddressType,
                of.span,
                format!("an address has 64 bits, `u64` or `i64`, found {found}"),
            );
        }
        let address = self.converted(to, DType::U64, span);
        Ok(Val::Ptr(Pointer { to: Base::Pointer { address, dtype, mutable: ty.mutable }, offset: None }))
    }

    /// A pointer loses its right to write; of a computed address it may change its type, too.
    fn cast_pointer(&mut self, p: Pointer, dtype: DType, mutable: bool, span: Span) -> Result<Val> {
        let from = self.pointer_type(p.to);
        if mutable && !self.is_mut(p.to) {
            return self.error(Code::NotWritable, span, format!("a `{from}` is not cast to a `*mut {dtype}`"));
        }
        let (elem, to) = (self.elem(p.to), p.to);
        match to {
            _ if elem == dtype => Ok(Val::Ptr(match to {
                Base::Pointer { address, dtype, .. } => Pointer { to: Base::Pointer { address, dtype, mutable }, ..p },
                Base::Slice(_) | Base::Raw(_) | Base::Shared(_) => p,
            })),
            Base::Pointer { mut address, .. } => {
                if let Some(offset) = p.offset {
                    let size = self.constant(&Val::Int(elem.size() as i128, None), DType::U64, span)?;
                    let bytes = self.binary(Binary::Mul, offset, size, span)?;
                    address = self.binary(Binary::Add, address, bytes, span)?;
                }
                Ok(Val::Ptr(Pointer { to: Base::Pointer { address, dtype, mutable }, offset: None }))
            }
            Base::Shared(_) => unreachable!("a shared array has no pointers"),
            Base::Slice(p) | Base::Raw(p) => {
                let name = &self.params[p].name;
                self.error(
                    Code::Bitcast,
                    span,
                    format!("`{name}` points to {elem}: load it, and `bitcast` what is loaded to {dtype}"),
                )
            }
        }
    }

    pub(super) fn pointer_add(&mut self, p: Pointer, i: Val, span: Span) -> Result<Val> {
        let i = self.index(i, span)?;
        // Negative offsets wrap, as addresses do.
        let i = self.converted(i, DType::U64, span);
        let mut offset = match p.offset {
            Some(o) => self.binary(Binary::Add, o, i, span)?,
            None => i,
        };
        let mut to = p.to;
        if let Base::Pointer { address, .. } = &mut to
            && !self.ty(*address).is_scalar()
        {
            let shape = self.common_shape(&self.ty(*address).shape, &self.ty(offset).shape, span)?;
            (*address, offset) = (self.broadcast(*address, &shape, span), self.broadcast(offset, &shape, span));
        }
        Ok(Val::Ptr(Pointer { to, offset: Some(offset) }))
    }

    // --- mutable pointers ---

    pub(super) fn pointer_cell(&mut self, name: &str, p: Pointer, span: Span) -> Result<Binding> {
        let offset = self.offset(&p, span)?;
        let mut cell = |v: Value| {
            let var = self.new_var(name, self.ty(v).clone());
            self.emit(StmtKind::Assign(var, v));
            var
        };
        let offset = cell(offset);
        let address = match p.to {
            Base::Pointer { address, .. } => Some(cell(address)),
            Base::Slice(_) | Base::Raw(_) | Base::Shared(_) => None,
        };
        Ok(Binding::PtrVar(PointerVar { to: p.to, address, offset }))
    }

    pub(super) fn read_pointer(&mut self, var: PointerVar, span: Span) -> Val {
        let to = match (var.to, var.address) {
            (Base::Pointer { dtype, mutable, .. }, Some(address)) => {
                Base::Pointer { address: self.read_var(address, span), dtype, mutable }
            }
            (to, _) => to,
        };
        Val::Ptr(Pointer { to, offset: Some(self.read_var(var.offset, span)) })
    }

    pub(super) fn assign_pointer(&mut self, name: &str, var: PointerVar, p: Pointer, span: Span) -> Result<Val> {
        let address = match (var.to, p.to) {
            (Base::Raw(to), Base::Raw(from)) if to == from => None,
            (Base::Raw(to), _) => {
                let to = &self.params[to].name;
                return self.error(
                    Code::VariableType,
                    span,
                    format!("`{name}` is a pointer into `{to}`: no pointer into another array is assigned to it"),
                );
            }
            (Base::Pointer { dtype, mutable, .. }, Base::Pointer { address, dtype: t, mutable: m })
                if dtype == t && (m || !mutable) =>
            {
                Some(address)
            }
            (to, from) => {
                let (to, from) = (self.pointer_type(to), self.pointer_type(from));
                return self.error(
                    Code::VariableType,
                    span,
                    format!("`{name}` is a `{to}` from an address, found a `{from}`"),
                );
            }
        };
        let offset = self.offset(&p, span)?;
        for (var, v, what) in [(Some(var.offset), Some(offset), "an offset"), (var.address, address, "an address")] {
            if let (Some(var), Some(v)) = (var, v) {
                let shape = self.vars[var.0 as usize].ty.shape.clone();
                let v = self.broadcast_to(v, &shape, span, what)?;
                self.emit(StmtKind::Assign(var, v));
            }
        }
        Ok(Val::Unit)
    }
}
