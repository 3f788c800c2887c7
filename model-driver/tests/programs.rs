//! Random programs of several threads over the runtime's whole API.
//!
//! A program is a list of steps for each thread. Threads share buffers, streams, events and graphs, and take turns at
//! each call of the driver, by a seed. There are two kinds of programs:
//! - Ordered ones, which order their streams as the documentation asks for. No call fails, reads give the written
//!   values, and the model finds nothing.
//! - Free ones, which launch on any stream at any time, and in which calls of the driver fail, or the default stream
//!   can do nothing because of someone else's capture. Their results mean nothing, but memory is never used before
//!   its allocation or after its free, and nothing is left at the end.

use super::turns::Turns;
use super::world::{BUFFERS, EVENTS, GRAPHS, STREAMS, World};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use tilewright_model_driver::Kind;

const THREADS: usize = 3;

/// One call of the runtime's API, or few that belong together. Numbers choose from the objects that the threads share.
#[derive(Clone, Debug)]
pub enum Step {
    Zeros(usize),
    Alloc(usize),
    FromSlice(usize, u8),
    CopyFrom(usize, u8),
    FillZero(usize),
    CopyBuffer {
        to: usize,
        from: usize,
    },
    Read(usize),
    ReadOn(usize, usize),
    DropBuffer(usize),
    NewStream(usize),
    /// A stream that someone else owns.
    BorrowStream(usize),
    DropStream(usize),
    WaitFor(usize, usize),
    Synchronize(usize),
    IsDone(usize),
    NewEvent(usize),
    Record {
        event: usize,
        stream: usize,
    },
    Wait {
        stream: usize,
        event: usize,
    },
    SynchronizeEvent(usize),
    AskEvent(usize),
    DropEvent(usize),
    Launch {
        stream: usize,
        from: usize,
        to: usize,
        pdl: bool,
    },
    Prepared {
        stream: usize,
        from: usize,
        to: usize,
    },
    /// Through raw slices of foreign memory, which the buffers are.
    Foreign {
        stream: usize,
        from: usize,
        to: usize,
    },
    /// By way of scratch memory.
    Scratch {
        stream: usize,
        from: usize,
        to: usize,
        zeroed: bool,
    },
    /// By way of the default stream's.
    OthersScratch {
        stream: usize,
        from: usize,
        to: usize,
    },
    /// From a tensor of another framework, which gets it back.
    Tensor {
        stream: usize,
        to: usize,
    },
    Tune {
        stream: usize,
        from: usize,
        to: usize,
    },
    /// A graph with buffers of its own. Another buffer is dropped while the stream is captured. In free programs a
    /// second stream may join the capture and be dropped in it, with the work that it was given before.
    Capture {
        graph: usize,
        stream: usize,
        scratch: bool,
        dropped: usize,
        joins: Option<usize>,
    },
    Replay {
        graph: usize,
        stream: usize,
    },
    DropGraph(usize),
    /// Buffers, or scratch, of a stream that someone else owns, makes for this step, and destroys. They are dropped
    /// before the stream, whose owner orders nothing.
    Brief {
        scratch: bool,
    },
    /// Someone else begins a capture that the default stream would break by work and waits, or ends it.
    Block,
    /// A second runtime of the device.
    Again,
    /// The call after so many calls of the driver fails.
    Fail(u64),
}

fn step(faults: bool) -> BoxedStrategy<Step> {
    let (b, s, e, g) = (0..BUFFERS, 0..STREAMS, 0..EVENTS, 0..GRAPHS);
    let three = || (s.clone(), b.clone(), b.clone());
    let steps = prop_oneof![
        3 => b.clone().prop_map(Step::Zeros),
        1 => b.clone().prop_map(Step::Alloc),
        3 => (b.clone(), 0..50u8).prop_map(|(b, v)| Step::FromSlice(b, v)),
        2 => (b.clone(), 0..50u8).prop_map(|(b, v)| Step::CopyFrom(b, v)),
        1 => b.clone().prop_map(Step::FillZero),
        2 => (b.clone(), b.clone()).prop_map(|(to, from)| Step::CopyBuffer { to, from }),
        3 => b.clone().prop_map(Step::Read),
        1 => (b.clone(), s.clone()).prop_map(|(b, s)| Step::ReadOn(b, s)),
        3 => b.clone().prop_map(Step::DropBuffer),
        2 => s.clone().prop_map(Step::NewStream),
        2 => s.clone().prop_map(Step::BorrowStream),
        2 => s.clone().prop_map(Step::DropStream),
        2 => (s.clone(), s.clone()).prop_map(|(a, b)| Step::WaitFor(a, b)),
        1 => s.clone().prop_map(Step::Synchronize),
        1 => s.clone().prop_map(Step::IsDone),
        1 => e.clone().prop_map(Step::NewEvent),
        1 => (e.clone(), s.clone()).prop_map(|(event, stream)| Step::Record { event, stream }),
        1 => (e.clone(), s.clone()).prop_map(|(event, stream)| Step::Wait { stream, event }),
        1 => e.clone().prop_map(Step::SynchronizeEvent),
        1 => e.clone().prop_map(Step::AskEvent),
        1 => e.prop_map(Step::DropEvent),
        8 => (three(), any::<bool>())
            .prop_map(|((stream, from, to), pdl)| Step::Launch { stream, from, to, pdl }),
        2 => three().prop_map(|(stream, from, to)| Step::Prepared { stream, from, to }),
        2 => three().prop_map(|(stream, from, to)| Step::Foreign { stream, from, to }),
        4 => (three(), any::<bool>())
            .prop_map(|((stream, from, to), zeroed)| Step::Scratch { stream, from, to, zeroed }),
        2 => three().prop_map(|(stream, from, to)| Step::OthersScratch { stream, from, to }),
        3 => (s.clone(), b.clone()).prop_map(|(stream, to)| Step::Tensor { stream, to }),
        1 => three().prop_map(|(stream, from, to)| Step::Tune { stream, from, to }),
        2 => (g.clone(), s.clone(), any::<bool>(), b, proptest::option::of(s.clone()))
            .prop_map(|(graph, stream, scratch, dropped, joins)| Step::Capture {
                graph, stream, scratch, dropped, joins,
            }),
        3 => (g.clone(), s).prop_map(|(graph, stream)| Step::Replay { graph, stream }),
        1 => g.prop_map(Step::DropGraph),
        1 => Just(Step::Again),
    ];
    if !faults {
        return steps.boxed();
    }
    let brief = any::<bool>().prop_map(|scratch| Step::Brief { scratch });
    prop_oneof![48 => steps, 4 => brief, 2 => Just(Step::Block), 4 => (0..24u64).prop_map(Step::Fail)].boxed()
}

/// Runs a program, and looks at the model's findings.
fn run(threads: &[Vec<Step>], seed: u64, ordered: bool) -> Result<(), TestCaseError> {
    let (model, rt, kernel, _here) = super::over(seed);
    let world = World::new(&model, rt, kernel, ordered);
    let turns = std::sync::Arc::new(Turns::new(threads.len(), seed));
    let of_hook = turns.clone();
    model.before_calls(move |_| of_hook.call());
    let begin = model.hand_over();
    let ended: Vec<_> = std::thread::scope(|scope| {
        let spawn = |(me, steps): (usize, &'_ Vec<Step>)| {
            let (world, turns, model, begin, driver) =
                (&world, &turns, model.clone(), &begin, super::driver_of_thread());
            let steps = steps.clone();
            scope.spawn(move || {
                let (_part, _entered) = (turns.take_part(me), super::enter(&model, driver));
                model.accept(begin);
                let mut first = Ok(());
                for s in &steps {
                    first = first.and(world.step(s).map_err(|e| format!("{s:?}: {e}")));
                }
                (first, model.hand_over())
            })
        };
        let all: Vec<_> = threads.iter().enumerate().map(spawn).collect();
        all.into_iter().map(|t| t.join()).collect()
    });
    model.before_calls(|_| ());
    model.fail_no_more();
    for end in ended {
        let (done, end) = end.map_err(|_| TestCaseError::fail("a thread panicked"))?;
        model.accept(&end);
        if ordered {
            prop_assert_eq!(done, Ok(()));
        }
    }
    world.end();
    let c = model.counts();
    let left = (c.blocks, c.streams, c.events, c.graphs, c.executables, c.pools, c.retained);
    prop_assert_eq!((model.reports_of(Kind::Memory), model.reports_of(Kind::Call)), (vec![], vec![]));
    prop_assert_eq!((left, model.reports_of(Kind::Leak)), ((0, 0, 0, 0, 0, 0, 0), vec![]));
    if ordered {
        prop_assert_eq!(model.reports_of(Kind::Race), vec![""; 0]);
    }
    Ok(())
}

fn check(ordered: bool) {
    // `PROPTEST_CASES` runs more of them.
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(250);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
    let programs = (vec(vec(step(!ordered), 1..22), 1..=THREADS), any::<u64>());
    let checked = TestRunner::new(config).run(&programs, |(threads, seed)| run(&threads, seed, ordered));
    checked.unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn ordered_programs_read_what_they_have_written() {
    check(true);
}

#[test]
fn free_programs_use_no_memory_that_is_not_theirs() {
    check(false);
}

/// Programs that found a defect.
#[test]
fn programs_that_found_something_find_nothing() {
    // The wait of a tensor's drop fails: the tensor is given back when the runtime ends.
    for skip in 0..40 {
        let steps = [
            vec![Step::Synchronize(0), Step::NewStream(1), Step::Fail(skip)],
            vec![Step::Alloc(3), Step::Tensor { stream: 1, to: 3 }],
            vec![Step::BorrowStream(2)],
        ];
        for seed in [1274156032790604739, 1, 2, 3] {
            run(&steps, seed, false).unwrap_or_else(|e| panic!("call {skip}, seed {seed}: {e}"));
        }
    }
}
