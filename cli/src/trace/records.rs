//! The array `tile_trace` of a launch, taken apart.

use super::table::Table;
use anyhow::{Result, ensure};
use tilewright_compiler::trace::TraceLayout;
use tilewright_core::TracePhase;

/// A moment on a multiprocessor: its clock, and the timer that all of them share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    pub clock: u64,
    /// Nanoseconds. It counts in steps, of up to a microsecond.
    pub time: u64,
}

/// The run of a block or of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub sm: u32,
    pub begin: Moment,
    /// None where it has not ended.
    pub end: Option<Moment>,
}

/// A part of a warp's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The number of the event.
    pub event: u32,
    pub value: u32,
    /// On the clock of the multiprocessor.
    pub from: u64,
    pub to: u64,
    pub is_instant: bool,
    /// Its end had no place in the slot.
    pub is_cut: bool,
}

/// A traced warp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warp {
    pub block: u32,
    pub warp: u32,
    pub run: Run,
    /// By their begin, outer ones first.
    pub spans: Vec<Span>,
    /// Marks that had no place.
    pub dropped: u64,
}

/// A launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// All listed blocks, by their numbers.
    pub blocks: Vec<(u32, Run)>,
    pub warps: Vec<Warp>,
}

/// The words of an array.
struct Array<'a>(&'a [u8]);

impl Array<'_> {
    /// The two words of a record.
    fn record(&self, at: usize) -> [u64; 2] {
        let word = |i: usize| {
            let bytes = self.0[at * TraceLayout::RECORD + i * 8..][..8].try_into().expect("eight bytes");
            u64::from_le_bytes(bytes)
        };
        [word(0), word(1)]
    }

    /// A head, if one was written, and the last word of it.
    fn head(&self, at: usize) -> Option<(Run, u64)> {
        let [[begin, begun], [end, ended], [sm, last]] = [0, 1, 2].map(|i| self.record(at + i));
        let was_written = sm >> 32 == 1;
        let moment = |clock, time| Moment { clock, time };
        let run = Run { sm: sm as u32, begin: moment(begin, begun), end: (ended > 0).then(|| moment(end, ended)) };
        was_written.then_some((run, last))
    }
}

/// Takes the array of a launch of a table's entry apart, of `grid` thread blocks.
pub fn decode(array: &[u8], table: &Table, grid: u64) -> Result<Recorded> {
    let layout = table.layout();
    ensure!(
        array.len() >= layout.bytes(),
        "the launch of {} left {} bytes, and its marks take {}",
        table.entry,
        array.len(),
        layout.bytes()
    );
    let array = Array(array);
    let of = |most: u32| (0..u32::try_from(grid).unwrap_or(u32::MAX).min(most)).collect::<Vec<u32>>();
    let listed = |b: u32| Some((b, array.head(layout.listed_block(b as usize))?.0));
    let mut out = Recorded { blocks: of(layout.listed).into_iter().filter_map(listed).collect(), warps: vec![] };
    for block in of(layout.blocks) {
        for warp in 0..layout.warps {
            let slot = layout.slot(block as usize, warp as usize);
            let Some((run, count)) = array.head(slot) else { continue };
            let marks = (0..layout.marks()).map(|i| array.record(slot + TraceLayout::HEAD + i));
            let marks: Vec<[u64; 2]> = marks.take_while(|[_, mark]| *mark as u32 != 0).collect();
            let dropped = if run.end.is_some() { count.saturating_sub(marks.len() as u64) } else { 0 };
            let last = run.end.map(|e| e.clock).into_iter().chain(marks.last().map(|[clock, _]| *clock)).max();
            let spans = spans(&marks, last.unwrap_or(run.begin.clock));
            out.warps.push(Warp { block, warp, run, spans, dropped });
        }
    }
    Ok(out)
}

/// Pairs the marks of a warp. Open spans end at `last`.
fn spans(marks: &[[u64; 2]], last: u64) -> Vec<Span> {
    let (mut out, mut open): (Vec<Span>, Vec<usize>) = (vec![], vec![]);
    for &[clock, word] in marks {
        let Some((event, phase)) = TracePhase::of(word as u32) else { continue };
        let is_instant = phase == TracePhase::Instant;
        match phase {
            TracePhase::End => {
                if let Some(at) = open.iter().rposition(|&i| out[i].event == event) {
                    // A span that began in it and has no end of its own ends with it.
                    open.drain(at..).for_each(|i| (out[i].to, out[i].is_cut) = (clock, out[i].event != event));
                }
            }
            TracePhase::Begin | TracePhase::Instant => {
                if !is_instant {
                    open.push(out.len());
                }
                let value = (word >> 32) as u32;
                out.push(Span { event, value, from: clock, to: clock, is_instant, is_cut: false });
            }
        }
    }
    for i in open {
        (out[i].to, out[i].is_cut) = (last.max(out[i].from), true);
    }
    out
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::trace::table::Event;

    /// Two warps a block, slots of six records, and two listed blocks.
    pub fn table() -> Table {
        let event =
            |label: &str, value: Option<&str>| Event { label: label.into(), line: 5, value: value.map(str::to_owned) };
        Table {
            kernel: "k".into(),
            config: "warps=2".into(),
            entry: "k__aligned".into(),
            file: "k.rs".into(),
            threads: 64,
            consumers: 0,
            ctas: 1,
            blocks: 1,
            records: 7,
            listed: 3,
            events: vec![
                event("iteration", Some("iteration")),
                event("barrier", None),
                event("release 0", Some("stage")),
            ],
        }
    }

    /// An array as a launch leaves it.
    pub struct Written(pub Vec<u8>);

    impl Written {
        pub fn new(table: &Table) -> Written {
            Written(vec![0; table.layout().bytes()])
        }

        pub fn record(&mut self, at: usize, words: [u64; 2]) {
            let bytes = words.map(u64::to_le_bytes).concat();
            self.0[at * TraceLayout::RECORD..][..TraceLayout::RECORD].copy_from_slice(&bytes);
        }

        pub fn head(&mut self, at: usize, sm: u64, [begin, end]: [Moment; 2], last: u64) {
            self.record(at, [begin.clock, begin.time]);
            self.record(at + 1, [end.clock, end.time]);
            self.record(at + 2, [1 << 32 | sm, last]);
        }

        pub fn mark(&mut self, at: usize, clock: u64, (event, phase): (u32, TracePhase), value: u64) {
            self.record(at, [clock, u64::from(phase.mark(event)) | value << 32]);
        }
    }

    pub fn at(clock: u64, time: u64) -> Moment {
        Moment { clock, time }
    }

    #[test]
    fn marks_of_a_launch_are_paired() {
        let table = table();
        let (layout, mut array) = (table.layout(), Written::new(&table));
        array.head(0, 9, [at(100, 5000), at(900, 5400)], 4);
        array.mark(3, 110, (1, TracePhase::Begin), 8);
        array.mark(4, 120, (2, TracePhase::Begin), 0);
        array.mark(5, 150, (2, TracePhase::End), 0);
        array.mark(6, 160, (1, TracePhase::End), 0);
        // The second warp has more marks than its slot has places, and has no end of the iteration.
        array.head(7, 9, [at(101, 5000), at(950, 5430)], 9);
        array.mark(10, 200, (1, TracePhase::Begin), 1);
        array.mark(11, 210, (3, TracePhase::Instant), 4);
        array.mark(12, 220, (2, TracePhase::Begin), 0);
        array.mark(13, 240, (2, TracePhase::End), 0);
        array.head(layout.listed_block(0), 9, [at(100, 5000), at(950, 5430)], 0);
        array.head(layout.listed_block(2), 3, [at(70, 5100), at(0, 0)], 0);
        let recorded = decode(&array.0, &table, 3).expect("it is whole");
        let ends: Vec<_> = recorded.blocks.iter().map(|(b, run)| (*b, run.sm, run.end)).collect();
        assert_eq!(ends, [(0, 9, Some(at(950, 5430))), (2, 3, None)]);
        let [first, second] = &recorded.warps[..] else { panic!("{:?}", recorded.warps) };
        let spans = |w: &Warp| w.spans.iter().map(|s| (s.event, s.value, s.from, s.to, s.is_cut)).collect::<Vec<_>>();
        assert_eq!(spans(first), [(1, 8, 110, 160, false), (2, 0, 120, 150, false)]);
        assert_eq!(first.dropped, 0);
        assert_eq!(spans(second), [(1, 1, 200, 950, true), (3, 4, 210, 210, false), (2, 0, 220, 240, false)]);
        assert_eq!((second.dropped, second.spans[1].is_instant), (5, true));
    }

    #[test]
    fn blocks_beyond_the_grid_are_not_looked_at() {
        let table = table();
        let mut array = Written::new(&table);
        for b in 0..3 {
            array.head(table.layout().listed_block(b), 1, [at(1, 1), at(2, 2)], 0);
        }
        assert_eq!(decode(&array.0, &table, 2).expect("it is whole").blocks.len(), 2);
        let short = decode(&array.0[16..], &table, 2).expect_err("bytes are missing").to_string();
        assert!(short.contains("its marks take"), "{short}");
    }

    /// For any array: no panic, and spans that end after their begin.
    #[test]
    fn any_words_are_read() {
        let table = Table { blocks: 3, ..table() };
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..200 {
            let mut array = Written::new(&table);
            for at in 0..array.0.len() / TraceLayout::RECORD {
                // Small numbers are marks and heads more often.
                array.record(at, [rng.u64(0..9) << rng.u32(0..34), rng.u64(0..18) << rng.u32(0..2)]);
            }
            for warp in decode(&array.0, &table, 4).expect("it is whole").warps {
                assert!(
                    warp.spans
                        .iter()
                        .all(|s| s.is_instant || s.is_cut || table.event(s.event).is_some() || s.event > 0)
                );
            }
        }
    }
}
