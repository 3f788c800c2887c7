//! A scan is executed level by level, on lists of the elements that were combined.

use super::super::{LANE_BITS, Level, plan};
use super::{check, one, table};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn scans_keep_the_order(l in one(), axis in 0..3usize) {
        let axis = axis % l.rank();
        let l = if l.scan(axis).is_some() { l } else { l.along(axis) };
        let scan = l.scan(axis).unwrap();
        // A value is the list of the elements in it, in the order in which they were combined.
        type Values = Vec<Vec<Vec<u32>>>;
        let join = |a: &[u32], b: &[u32]| [a, b].concat();
        let mut values: Values = table(&l).iter().map(|regs| scan.items.iter().map(|&r| vec![regs[r]]).collect()).collect();
        let items = values.clone();
        // For each level the exclusive prefix of an item in it, and the item of the next level that contains it.
        let mut levels: Vec<(Values, Vec<usize>)> = vec![];
        for level in &scan.levels {
            let count = values[0].len();
            prop_assert_eq!(values[0].len() % level.totals(count), 0);
            let mut of = (0..count).collect::<Vec<_>>();
            let (mut before, mut totals): (Values, Values) = (vec![vec![vec![]; count]; values.len()], values.clone());
            match level {
                Level::Registers { order, len } => {
                    for (p, &item) in order.iter().enumerate() {
                        of[item] = p / len;
                    }
                    for tid in 0..values.len() {
                        totals[tid] = order.chunks(*len).map(|group| {
                            group.iter().fold(vec![], |sum, &item| {
                                before[tid][item] = sum.clone();
                                join(&sum, &values[tid][item])
                            })
                        }).collect();
                    }
                }
                Level::Lanes { mask } => {
                    let mask = *mask as usize;
                    for tid in 0..values.len() {
                        for i in 0..count {
                            // Lanes by the bits of the mask, upwards.
                            let mut lanes: Vec<usize> = (0..32).filter(|lane| lane & !mask == (tid % 32) & !mask).collect();
                            lanes.sort_unstable();
                            let of_lane = |lane: &usize| values[tid / 32 * 32 + lane][i].clone();
                            before[tid][i] = lanes.iter().take_while(|&&lane| lane < tid % 32).flat_map(of_lane).collect();
                            totals[tid][i] = lanes.iter().flat_map(of_lane).collect();
                        }
                    }
                }
                Level::Warps { bits, across } => {
                    check(&plan(&across.partial, &across.gathered, 4), &across.partial, &across.gathered, 4);
                    let mut by_slot = vec![None; 1 << across.partial.bits()];
                    for (regs, held) in table(&across.partial).iter().zip(&values) {
                        regs.iter().zip(held).for_each(|(&slot, value)| by_slot[slot as usize] = Some(value.clone()));
                    }
                    for (tid, slots) in table(&across.gathered).iter().enumerate() {
                        let own: usize = bits.iter().enumerate().map(|(i, b)| (tid >> (LANE_BITS + b) & 1) << i).sum();
                        let part = |k: usize, i: usize| by_slot[slots[i + k * count] as usize].clone().unwrap();
                        for i in 0..count {
                            before[tid][i] = (0..own).flat_map(|k| part(k, i)).collect();
                            totals[tid][i] = (0..across.warps).flat_map(|k| part(k, i)).collect();
                        }
                    }
                }
            }
            levels.push((before, of));
            values = totals;
        }
        for (tid, regs) in table(&l).iter().enumerate() {
            for (r, &element) in regs.iter().enumerate() {
                let (first, mut item, mut found) = (scan.item_of[r], scan.item_of[r], vec![]);
                for (before, of) in &levels {
                    found = join(&before[tid][item], &found);
                    item = of[item];
                }
                found = join(&found, &items[tid][first]);
                let mut c = l.coords(element);
                let wanted: Vec<u32> = (0..=c[axis]).map(|k| { c[axis] = k; l.flat(&c) }).collect();
                prop_assert_eq!(found, wanted);
            }
        }
    }
}
