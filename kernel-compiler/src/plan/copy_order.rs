//! The order in which the producer begins the TMA copies of an operand group's tiles.
//!
//! A stage is full when its last tile has arrived. Left operands are copied first, whichever operand the kernel loads
//! first: products of tf32 were up to 20 % slower with the right operand first (docs/lab/one-matmul-function.md).

use super::product::Operand;
use super::warp_specialized::Pipeline;
use std::collections::HashSet;

/// Orders the copies of each operand group.
///
/// Tiles that are copied in the order of their loads are copied at their own places. Else all tiles are copied at the
/// last load's place, where the coordinates of every tile are known.
pub fn plan(p: &mut Pipeline) {
    let left: HashSet<(usize, usize)> = p.dots.values().filter_map(|d| place(&d.a)).collect();
    for (i, group) in p.operand_groups.iter_mut().enumerate() {
        let mut order: Vec<usize> = (0..group.buffers.len()).collect();
        order.sort_by_key(|&b| !left.contains(&(i, b)));
        if order.is_sorted() {
            p.copies.extend(group.buffers.iter().enumerate().map(|(own, b)| (b.load, vec![own])));
        } else {
            let last = group.buffers.last().expect("an operand group has loads");
            p.copies.insert(last.load, order.clone());
        }
        group.order = order;
    }
}

fn place(operand: &Operand) -> Option<(usize, usize)> {
    if let Operand::Buffer { operand_group, buffer, .. } = *operand { Some((operand_group, buffer)) } else { None }
}
