//! Four processes that `mpirun` starts, each of which runs one test of this file as a rank. They have no network.

mod mpirun;

use mpirun::{mpirun, output};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tilewright::{BackendKind, Buffer, Runtime, Stream, bf16, f16};
use tilewright_collectives::{Error, Number, Reduction, World};

/// Runs a test of this file on each rank.
fn on_ranks(ranks: usize, test: &str) -> Option<(bool, String)> {
    let mut c = mpirun(ranks)?;
    c.env("TILE_TEST_RANKS", ranks.to_string()).arg(std::env::current_exe().expect("this test")).args([
        "--exact",
        test,
        "--ignored",
        "--nocapture",
    ]);
    c.args(["--test-threads", "1"]);
    Some(output(c))
}

#[test]
fn four_ranks() {
    let Some((passed, text)) = on_ranks(4, "rank::operations") else { return };
    assert!(passed, "{text}");
    assert_eq!(text.matches("this rank is done").count(), 4, "{text}");
}

/// `mpirun` ends two ranks of a test without success, at once and not by its timeout. One of them prints `says`.
fn fails(test: &str, says: &str) {
    let start = Instant::now();
    let Some((passed, text)) = on_ranks(2, test) else { return };
    assert!(!passed && text.contains(says), "{text}");
    assert!(start.elapsed() < Duration::from_secs(60), "{text}");
}

#[test]
fn ranks_that_panic_end_the_others() {
    fails("rank::panics", "as it should be");
}

/// A group has failed on rank 1, which finishes its world: `mpirun` ends rank 0, and does not succeed.
#[test]
fn a_group_that_does_not_finish_is_a_failure() {
    fails("rank::leaves_a_group", "this rank has left its group");
}

#[test]
fn errors_are_typed_on_all_ranks() {
    let Some((passed, text)) = on_ranks(2, "rank::errors") else { return };
    assert!(passed, "{text}");
    assert_eq!(text.matches("1 passed").count(), 2, "{text}");
}

/// A library that is not one.
#[test]
fn a_missing_library_names_the_command_that_installs_it() {
    if std::env::var_os("TILE_MPI").is_some() {
        return;
    }
    let mut c = Command::new(std::env::current_exe().expect("this test"));
    c.args(["--exact", "rank::without_a_library", "--ignored", "--nocapture"]);
    c.env("TILE_MPI", Path::new("/nowhere/libmpi.so")).env("TILE_COLLECTIVES", "mpi").env("TILE_BACKEND", "cpu");
    let (passed, text) = output(c);
    assert!(passed && text.contains("1 passed"), "{text}");
}

/// Started by `torchrun` on the CPU, whose ranks no library knows.
#[test]
fn ranks_of_torchrun_on_the_cpu_are_told_of_mpirun() {
    let mut c = Command::new(std::env::current_exe().expect("this test"));
    c.args(["--exact", "rank::of_torchrun", "--ignored", "--nocapture"]).env("TILE_BACKEND", "cpu");
    c.env("RANK", "0").env("WORLD_SIZE", "4").env("MASTER_ADDR", "localhost").env("MASTER_PORT", "29511");
    let (passed, text) = output(c);
    assert!(passed && text.contains("1 passed"), "{text}");
}

/// The program of a rank, run by `mpirun` or in a process of its own.
mod rank {
    use super::*;

    /// Values of a rank: `rank + 1 + i`.
    fn values<T: Number>(rank: usize, n: usize, of: impl Fn(f64) -> T) -> Vec<T> {
        (0..n).map(|i| of((rank + 1 + i) as f64)).collect()
    }

    fn reduced(reduction: Reduction, size: usize, i: usize) -> f64 {
        let all = (0..size).map(|rank| (rank + 1 + i) as f64);
        match reduction {
            Reduction::Sum => all.sum(),
            Reduction::Product => all.product(),
            Reduction::Min => all.fold(f64::INFINITY, f64::min),
            Reduction::Max => all.fold(0.0, f64::max),
            Reduction::Average => all.sum::<f64>() / size as f64,
        }
    }

    /// All reductions of one type. `of` rounds or truncates.
    fn reductions<T: Number + PartialEq + core::fmt::Debug>(world: &World, of: impl Fn(f64) -> T + Copy) {
        use Reduction::{Average, Max, Min, Product, Sum};
        let (rt, size) = (world.runtime(), world.size());
        for reduction in [Sum, Product, Min, Max, Average] {
            let mut x = Buffer::from_slice(rt, &values(world.rank(), 3, of)).unwrap();
            world.all_reduce(rt.stream(), &mut x, reduction).unwrap();
            let wanted: Vec<T> = (0..3).map(|i| of(reduced(reduction, size, i))).collect();
            assert_eq!(x.to_vec().unwrap(), wanted, "{reduction:?} of {}", core::any::type_name::<T>());

            let x = Buffer::from_slice(rt, &values(world.rank(), size, of)).unwrap();
            let mut y = rt.zeros::<T>(1).unwrap();
            world.reduce_scatter(rt.stream(), &x, &mut y, reduction).unwrap();
            assert_eq!(y.to_vec().unwrap(), [of(reduced(reduction, size, world.rank()))], "{reduction:?}");
            assert_eq!(x.to_vec().unwrap(), values(world.rank(), size, of), "the input stays as it is");
        }
    }

    fn moves(world: &World) {
        let (rt, rank, size) = (world.runtime(), world.rank(), world.size());
        let s = rt.stream();
        for root in 0..size {
            let mut x = Buffer::from_slice(rt, &[rank as u16, 7]).unwrap();
            world.broadcast(s, &mut x, root).unwrap();
            assert_eq!(x.to_vec().unwrap(), [root as u16, 7]);
        }
        let x = Buffer::from_slice(rt, &[rank as f64, -1.0]).unwrap();
        let mut all = rt.zeros::<f64>(2 * size).unwrap();
        world.all_gather(s, &x, &mut all).unwrap();
        assert_eq!(all.to_vec().unwrap(), (0..size).flat_map(|r| [r as f64, -1.0]).collect::<Vec<_>>());

        let sent: Vec<u8> = (0..size).map(|to| (10 * rank + to) as u8).collect();
        let (x, mut y) = (rt.from_slice(&sent).unwrap(), rt.zeros::<u8>(size).unwrap());
        world.all_to_all(s, &x, &mut y).unwrap();
        assert_eq!(y.to_vec().unwrap(), (0..size).map(|from| (10 * from + rank) as u8).collect::<Vec<_>>());

        let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
        let (x, mut y) = (rt.from_slice(&[rank as i64; 5]).unwrap(), rt.zeros::<i64>(5).unwrap());
        world.send_receive(s, &x, next, &mut y, before).unwrap();
        assert_eq!(y.to_vec().unwrap(), [before as i64; 5]);
        let mut y = rt.zeros::<u32>(2).unwrap();
        match rank {
            0 => (1..size).for_each(|other| {
                world.send(s, &rt.from_slice(&[other as u32, 9]).unwrap(), other).unwrap();
            }),
            _ => {
                world.receive(s, &mut y, 0).unwrap();
                assert_eq!(y.to_vec().unwrap(), [rank as u32, 9]);
            }
        }
        // A part of a buffer, and none of one.
        let mut x = Buffer::from_slice(rt, &[1.0f32, 2.0, 3.0]).unwrap();
        world.all_reduce(s, x.slice_mut(1..2).unwrap(), Reduction::Sum).unwrap();
        world.all_reduce(s, x.slice_mut(..0).unwrap(), Reduction::Sum).unwrap();
        assert_eq!(x.to_vec().unwrap(), [1.0, 2.0 * size as f32, 3.0]);
    }

    fn groups(world: &World) {
        let (rt, rank) = (world.runtime(), world.rank());
        let half = world.split(rank as u32 % 2).unwrap();
        let of_it: Vec<usize> = (0..world.size()).filter(|r| r % 2 == rank % 2).collect();
        assert_eq!((half.rank(), half.size()), (rank / 2, of_it.len()));
        let mut x = rt.from_slice(&[rank as f32]).unwrap();
        half.all_reduce(rt.stream(), &mut x, Reduction::Sum).unwrap();
        assert_eq!(x.to_vec().unwrap(), [of_it.iter().sum::<usize>() as f32]);
        half.finish().unwrap();
    }

    /// Two threads of each rank send at once, each in a group of its own.
    fn threads(world: &World) {
        let groups = [world.split(0).unwrap(), world.split(0).unwrap()];
        std::thread::scope(|scope| {
            for (i, group) in groups.iter().enumerate() {
                scope.spawn(move || {
                    for round in 0..20 {
                        let mut x = [(i + round + group.rank()) as i32];
                        let stream = Stream::new(group.runtime()).unwrap();
                        group.all_reduce(&stream, &mut x, Reduction::Sum).unwrap();
                        let wanted: usize = (0..group.size()).map(|r| i + round + r).sum();
                        assert_eq!(x, [wanted as i32]);
                    }
                });
            }
        });
        for group in groups {
            group.finish().unwrap();
        }
    }

    /// Also for any number of ranks on GPUs, as `torchrun` starts them.
    #[test]
    #[ignore = "a rank of `four_ranks`"]
    fn operations() {
        let rt = tilewright_collectives::runtime().unwrap();
        let world = World::from_env(&rt).unwrap();
        if let Ok(ranks) = std::env::var("TILE_TEST_RANKS") {
            assert_eq!(ranks, world.size().to_string());
        }
        reductions(&world, |v| v as f32);
        reductions(&world, |v| v);
        reductions(&world, f16::from_f64);
        reductions(&world, bf16::from_f64);
        // The product does not fit.
        reductions(&world, |v| v as i64 as i8);
        reductions(&world, |v| v as i64 as u8);
        reductions(&world, |v| v as i32);
        reductions(&world, |v| v as u32);
        reductions(&world, |v| v as i64);
        reductions(&world, |v| v as usize);
        moves(&world);
        groups(&world);
        if rt.kind() == BackendKind::Cpu {
            threads(&world);
        }
        world.barrier(rt.stream()).unwrap();
        println!("this rank is done ({}, {})", world.name(), rt.name());
        world.finish().unwrap();
    }

    #[test]
    #[ignore = "a rank of `ranks_that_panic_end_the_others`"]
    fn panics() {
        let rt = Runtime::cpu();
        let world = World::from_env(&rt).unwrap();
        assert!(world.rank() == 0, "as it should be");
        // Rank 1 never comes.
        let _ = world.barrier(rt.stream());
        let _ = world.finish();
    }

    #[test]
    #[ignore = "a rank of `a_group_that_does_not_finish_is_a_failure`"]
    fn leaves_a_group() {
        let rt = Runtime::cpu();
        let world = World::from_env(&rt).unwrap();
        let group = world.split(0).unwrap();
        // Rank 0 would wait for rank 1 in the `finish` of the group.
        match world.rank() {
            0 => std::mem::forget(group),
            _ => {
                drop(group);
                println!("this rank has left its group");
            }
        }
        world.finish().unwrap();
    }

    #[test]
    #[ignore = "a rank of `errors_are_typed_on_all_ranks`"]
    fn errors() {
        let rt = Runtime::cpu();
        let world = World::from_env(&rt).unwrap();
        let (s, mut x) = (rt.stream(), [0.0f32; 3]);
        let e = world.all_gather(s, &[1.0f32], &mut x).unwrap_err();
        assert_eq!(e.to_string(), "all_gather: 1 elements of 2 ranks go to 3: pass an output of 2 elements");
        let e = world.reduce_scatter(s, &[1.0f32; 5], &mut x, Reduction::Sum).unwrap_err();
        assert_eq!(e.to_string(), "reduce_scatter: 5 elements have no 2 equal parts: pass 1 more");
        let e = world.reduce_scatter(s, &[1.0f32; 4], &mut x, Reduction::Sum).unwrap_err();
        assert_eq!(e.to_string(), "reduce_scatter: 4 elements for 2 ranks have parts of 2, not 3");
        let e = world.all_to_all(s, &[1.0f32; 3], &mut x).unwrap_err();
        assert_eq!(e.to_string(), "all_to_all: 3 elements to 3: pass the same number, in 2 equal parts");
        let e = world.broadcast(s, &mut x, 2).unwrap_err();
        assert_eq!(e.to_string(), "broadcast: there is no rank 2: ranks are 0..2");
        let e = world.send(s, &x, world.rank()).unwrap_err();
        assert!(matches!(e, Error::Itself { .. }));
        let e = world.broadcast(s, &mut [true], 0).unwrap_err();
        assert_eq!(e.to_string(), "broadcast: elements of bool are not sent: pass them as u8");
        assert!(matches!(world.split(1 << 31), Err(Error::Color { .. })));
        // Counts of MPI are 32-bit integers, of all ranks together. These pages are never touched.
        let (half, whole, mut to) = (vec![0u8; 1 << 30], vec![0u8; 1 << 31], vec![0u8; 1 << 31]);
        let too_long = |e: Result<(), Error>| matches!(e, Err(Error::TooLong { len: 0x8000_0000, .. }));
        assert!(too_long(world.all_gather(s, &half, &mut to)));
        assert!(too_long(world.all_to_all(s, &whole, &mut to)));
        assert!(too_long(world.reduce_scatter(s, &whole, &mut to[..1 << 30], Reduction::Sum)));
        // Rank 1 expects more elements than rank 0 sends.
        let received = match world.rank() {
            0 => world.send(s, &[1.0f32; 2], 1),
            _ => world.receive(s, &mut x, 0),
        };
        assert_eq!(received.is_err(), world.rank() == 1, "{received:?}");
        world.finish().unwrap();
    }

    #[test]
    #[ignore = "the process of `a_missing_library_names_the_command_that_installs_it`"]
    fn without_a_library() {
        let e = World::from_env(&Runtime::cpu()).unwrap_err();
        assert!(matches!(e, Error::NoLibrary { library: "MPI", .. }));
        assert!(e.to_string().starts_with("no MPI here: /nowhere/libmpi.so: cannot open"), "{e}");
        assert!(e.to_string().contains("Install it with `apt-get install openmpi-bin`, or set TILE_MPI"), "{e}");
    }

    #[test]
    #[ignore = "the process of `ranks_of_torchrun_on_the_cpu_are_told_of_mpirun`"]
    fn of_torchrun() {
        let e = World::from_env(&Runtime::cpu()).unwrap_err();
        assert!(e.to_string().contains("start them with `mpirun -n 4`, not with torchrun"), "{e}");
    }
}
