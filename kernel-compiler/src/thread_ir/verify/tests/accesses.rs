//! Accesses to one parameter, in order and out of it.

use super::{THREADS, accepts, barrier, define, named, program, refuses, refuses_body, tid, when};
use crate::dtype::DType;
use crate::ir::{Array, Atomic, Value};
use crate::thread_ir::{
    Const, ConstValue, Device, Elements, Expr, Local, Lowered, Name, Stmt, ThreadIr, Ty, call, closure,
};

/// An access of a parameter's elements, which are so many bytes apart from thread to thread.
fn access(device: Device, param: usize, bytes: u32) -> ThreadIr {
    access_at(device, param, Expr::from(Name::Arg(0)).wrapping_add((tid() * bytes).group()), true.into())
}

/// An access of elements that several warps reach, by the threads below a number.
fn masked(device: Device, below: Option<u32>) -> ThreadIr {
    let of_lane = ((Name::Tid & 31).group() * 4u32).group();
    let allowed = below.map_or(true.into(), |n| tid().less(n).group());
    access_at(device, 0, Expr::from(Name::Arg(0)).wrapping_add(of_lane), allowed)
}

/// Code generation says of all accesses that they reach the same elements.
fn access_at(device: Device, param: usize, address: Expr, allowed: Expr) -> ThreadIr {
    let (at, allowed) = (closure([Local::R], address), closure([Local::R], allowed));
    let call = match device {
        Device::Load | Device::Store => call!(device; [DType::F32, 1u32, 1u32]; at, false, allowed, 0),
        _ => call!(device; [DType::F32, 1u32, Atomic::Add as u32]; at, allowed, 0),
    };
    let elements = Elements { index: 0, threads: 0, mask: None };
    ThreadIr::access(vec![call.into()], [Array::Param(param); 2], Some(elements), 0)
}

#[test]
fn accesses_of_one_parameter_are_in_order() {
    let (read, write) = (|i| access(Device::Load, 0, i), |i| access(Device::Store, 0, i));
    let update = |i| access(Device::Atomic, 0, i);
    accepts(&program(vec![read(1), write(1), write(1), read(1)]));
    accepts(&program(vec![read(0), barrier(), write(1), named(1, THREADS), update(2), update(3)]));
    accepts(&program(vec![read(0), access(Device::Store, 1, 1)]));
    // A load under another mask may reach an element that another thread has stored.
    let (store, load) = (|mask| masked(Device::Store, mask), |mask| masked(Device::Load, mask));
    accepts(&program(vec![load(Some(1)), store(Some(1)), load(Some(1))]));
    accepts(&program(vec![load(Some(1)), store(None), load(Some(2))]));
    refuses_body(vec![load(None), store(Some(1))], "between a Read and a Write");
    refuses_body(vec![store(Some(1)), load(None)], "between a Write and a Read");
    refuses_body(vec![store(Some(1)), load(Some(2))], "between a Write and a Read");
    refuses_body(vec![read(0), write(1)], "no barrier stands between a Read and a Write of parameter 0");
    refuses_body(vec![write(0), read(1)], "between a Write and a Read");
    refuses_body(vec![write(0), update(1)], "between a Write and a Update");
    let branch = vec![define(0, 1), when(Value(0).into(), vec![write(0)]), read(1)];
    refuses_body(branch, "between a Write and a Read");
    // The next iteration reaches other elements.
    refuses_body(vec![ThreadIr::Loop { body: vec![read(0), write(0)] }], "between a Write and a Read");
    accepts(&program(vec![ThreadIr::Loop { body: vec![barrier(), read(0), write(0)] }]));
    let of_warpgroup = named(Expr::from(2) + (Name::Tid >> 7).group(), 128);
    refuses_body(vec![read(0), of_warpgroup, write(1)], "between a Read and a Write");
    // Not every way has the barrier.
    let branch = vec![define(0, 1), read(0), when(Value(0).into(), vec![barrier()]), write(1)];
    refuses_body(branch, "between a Read and a Write");
    // A way that ends brings nothing.
    let ends = vec![define(0, 1), when(Value(0).into(), vec![write(0), ThreadIr::Return]), read(1)];
    accepts(&program(ends));
}

/// The addresses of the code count, whatever names they have, and nothing that code generation says of an access.
#[test]
fn addresses_of_accesses_are_derived() {
    let [x, y] = [0, 1].map(Name::Temporary);
    let let_be = |name: Name, bytes: u32| {
        let address = Expr::from(Name::Arg(0)).wrapping_add((tid() * bytes).group());
        ThreadIr::from(Stmt::define(name, Ty::U64, address))
    };
    let load = |at: Name| access_at(Device::Load, 0, at.into(), true.into());
    let store = |at: Name| access_at(Device::Store, 0, at.into(), true.into());
    accepts(&program(vec![let_be(x, 4), let_be(y, 4), load(x), store(y)]));
    refuses_body(vec![let_be(x, 4), let_be(y, 8), load(x), store(y)], "between a Read and a Write");
    // Threads store what another one has loaded.
    let of_neighbor = ((Name::Tid ^ 1).group() * 4u32).group();
    let neighbor = ThreadIr::from(Stmt::define(y, Ty::U64, Expr::from(Name::Arg(0)).wrapping_add(of_neighbor)));
    refuses_body(vec![let_be(x, 4), neighbor, load(x), store(y)], "between a Read and a Write");
    // A variable that changes between them.
    let variable = |value: ThreadIr| match value {
        ThreadIr::Line(stmts) => match stmts.into_iter().next() {
            Some(Stmt::Let { name, ty, value, .. }) => ThreadIr::from(Stmt::variable(name, ty, value)),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let moved = || ThreadIr::from(Stmt::assign(x, Expr::from(x).wrapping_add(4)));
    accepts(&program(vec![variable(let_be(x, 4)), load(x), store(x)]));
    accepts(&program(vec![variable(let_be(x, 4)), moved(), load(x), store(x)]));
    refuses_body(vec![variable(let_be(x, 4)), load(x), moved(), store(x)], "between a Read and a Write");
    let sometimes = when(Name::Arg(1).into(), vec![moved()]);
    refuses_body(vec![variable(let_be(x, 4)), load(x), sometimes, store(x)], "between a Read and a Write");
    // A register of one thread is that of another one in a table.
    let table = |numbers: Vec<u64>| Const { name: Name::Table(0), value: ConstValue::Table(Ty::U32, numbers) };
    let by_table = |device: Device, lanes: u32, numbers: Vec<u64>| {
        let of_register = Expr::from(Name::Table(0)).element(Local::R);
        let at = Expr::from(Name::Arg(0)).wrapping_add(((Name::Tid & lanes).group() * 8 + of_register).group());
        let (at, low) = (closure([Local::R], at), closure([Local::R], tid().less(64)));
        let other = if device == Device::Load { closure([Local::R], true) } else { low };
        let call = call!(device; [DType::F32, 2u32, 1u32]; at, false, other, 0);
        let elements = Some(Elements { index: 0, threads: 0, mask: None });
        (ThreadIr::access(vec![call.into()], [Array::Param(0); 2], elements, 0), table(numbers))
    };
    let in_place = |lanes: u32, numbers: Vec<u64>| {
        let [(load, table), (store, _)] = [Device::Load, Device::Store].map(|d| by_table(d, lanes, numbers.clone()));
        Lowered { consts: vec![vec![table]], ..program(vec![load, store]) }
    };
    accepts(&in_place(511, vec![0, 4]));
    refuses(&in_place(511, vec![0, 8]), "between a Read and a Write");
    refuses(&in_place(127, vec![0, 4]), "between a Read and a Write");
}

/// Arrays that a call may give one memory have the same start.
#[test]
fn aliases_have_one_address() {
    let access = |device, param: usize, bytes: u32| {
        let address = Expr::from(Name::Arg(2 * param)).wrapping_add((tid() * bytes).group());
        let ThreadIr::Access { stmts, mut access } = access_at(device, param, address, true.into()) else {
            unreachable!("an access")
        };
        access.memory = Array::Param(0);
        ThreadIr::Access { stmts, access }
    };
    accepts(&program(vec![access(Device::Load, 0, 4), access(Device::Store, 1, 4)]));
    accepts(&program(vec![access(Device::Store, 1, 8), access(Device::Load, 0, 4)]));
    refuses_body(vec![access(Device::Load, 0, 4), access(Device::Store, 1, 8)], "between a Read and a Write");
}
