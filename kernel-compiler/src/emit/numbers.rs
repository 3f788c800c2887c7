//! Numbers in CPU functions. Configurations whose functions differ in numbers alone, such as the extents of blocks,
//! share one function, which reads the numbers from `p.numbers`. Otherwise the functions of kernels would take most of
//! the compile time of a crate.

use crate::dtype::DType;
use crate::thread_ir::print;
use crate::thread_ir::walk::{exprs, mapped};
use crate::thread_ir::{Expr, Literal, Name, Stmt, ThreadIr, Ty};
use std::collections::HashMap;

/// The functions, and the function and the numbers of each configuration.
#[derive(Debug, PartialEq)]
pub struct Shared {
    /// Bodies, as Rust.
    pub functions: Vec<String>,
    pub uses: Vec<Use>,
}

#[derive(Debug, PartialEq)]
pub struct Use {
    /// Index of a function.
    pub function: usize,
    /// In the order of `p.numbers`.
    pub numbers: Vec<Number>,
}

/// An integer of a configuration; without a type it is a `usize`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    value: i128,
    dtype: Option<DType>,
}

impl Number {
    fn of(e: &Expr) -> Option<Number> {
        match e {
            Expr::Literal(Literal::Configured { value, dtype }) => Some(Number { value: *value, dtype: *dtype }),
            _ => None,
        }
    }

    /// The number as Rust.
    pub fn text(self) -> String {
        Expr::Literal(Literal::Int { value: self.value, dtype: self.dtype }).to_string()
    }
}

/// Groups configurations whose bodies differ in numbers alone.
pub fn share(bodies: &[Vec<ThreadIr>]) -> Shared {
    let mut groups: Vec<Vec<usize>> = vec![];
    let mut known: HashMap<Vec<ThreadIr>, usize> = HashMap::new();
    for (i, body) in bodies.iter().enumerate() {
        let common = mapped(body, &mut |e| {
            let Number { dtype, .. } = Number::of(e)?;
            Some(Expr::Literal(Literal::Configured { value: 0, dtype }))
        });
        let g = *known.entry(common).or_insert(groups.len());
        if g == groups.len() {
            groups.push(vec![]);
        }
        groups[g].push(i);
    }
    let mut out =
        Shared { functions: vec![], uses: bodies.iter().map(|_| Use { function: 0, numbers: vec![] }).collect() };
    for members in groups {
        let (text, columns) = function(&members.iter().map(|&i| &bodies[i][..]).collect::<Vec<_>>());
        for (row, &i) in members.iter().enumerate() {
            let numbers = columns.iter().map(|c| c[row]).collect();
            out.uses[i] = Use { function: out.functions.len(), numbers };
        }
        out.functions.push(text);
    }
    out
}

/// The body for all members, and its numbers in `p.numbers`: a column has one number of each member. Numbers that are
/// equal in all members stay literals, and numbers that always change together are one.
fn function(members: &[&[ThreadIr]]) -> (String, Vec<Vec<Number>>) {
    let numbers = |body: &[ThreadIr]| {
        let mut out = vec![];
        exprs(body, &mut |e| out.extend(Number::of(e)));
        out
    };
    let rows: Vec<Vec<Number>> = members.iter().map(|m| numbers(m)).collect();
    let (mut at, mut columns) = (0, Vec::<Vec<Number>>::new());
    let body = mapped(members[0], &mut |e| {
        let number = Number::of(e)?;
        let column: Vec<Number> = rows.iter().map(|r| r[at]).collect();
        at += 1;
        if column.iter().all(|n| *n == number) {
            return None;
        }
        let n = columns.iter().position(|c| *c == column).unwrap_or_else(|| {
            columns.push(column);
            columns.len() - 1
        });
        Some(Name::Number(n).into())
    });
    let define = |(n, column): (usize, &Vec<Number>)| {
        let ty = column[0].dtype.map_or(Ty::Usize, Ty::from);
        let number = Expr::from(Name::Numbers).element(n).cast(ty.clone());
        ThreadIr::from(Stmt::define(Name::Number(n), ty, number))
    };
    let body: Vec<ThreadIr> = columns.iter().enumerate().map(define).chain(body).collect();
    (print::body(&body), columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread_ir::{Cpu, call};

    fn configured(value: i128, dtype: Option<DType>) -> Expr {
        Expr::Literal(Literal::Configured { value, dtype })
    }

    fn body(block: i128, shape: i128, offset: i128) -> Vec<ThreadIr> {
        let shape = || configured(shape, None);
        let each = call!(Cpu::Each; Expr::Array(vec![shape(), shape()]).by_ref(), configured(7, None));
        let print = call!(Cpu::Print; configured(offset, Some(DType::I32)));
        vec![
            Stmt::bind(Name::Program, configured(block, Some(DType::U64))).into(),
            ThreadIr::Loop { body: vec![each.into(), print.into()] },
        ]
    }

    #[test]
    fn numbers_that_differ_are_parameters() {
        let shared = share(&[body(64, 128, -5), body(32, 256, -6)]);
        let expected = "    let n0: u64 = p.numbers[0] as u64;
    let n1: usize = p.numbers[1] as usize;
    let n2: i32 = p.numbers[2] as i32;
    let p = n0;
    loop {
        c::each(&[n1, n1], 7);
        c::print(n2);
    }
";
        assert_eq!(shared.functions, [expected]);
        let texts: Vec<String> = shared.uses[1].numbers.iter().map(|n| n.text()).collect();
        assert_eq!((shared.uses[1].function, texts), (0, vec!["32u64".into(), "256".into(), "(-6i32)".into()]));
    }

    #[test]
    fn what_is_alone_keeps_its_numbers() {
        let other = |t: DType| vec![call!(Cpu::Print; configured(64, Some(t))).into()];
        let shared = share(&[body(64, 128, 5), other(DType::U32), body(64, 128, 5), other(DType::U64)]);
        let alone = "    let p = 64u64;
    loop {
        c::each(&[128, 128], 7);
        c::print(5i32);
    }
";
        assert_eq!(shared.functions, [alone, "    c::print(64u32);\n", "    c::print(64u64);\n"]);
        let uses: Vec<_> = shared.uses.iter().map(|u| (u.function, u.numbers.len())).collect();
        assert_eq!(uses, [(0, 0), (1, 0), (0, 0), (2, 0)]);
    }
}
