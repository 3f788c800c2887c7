//! One access: the array that it is a window of, and where in it.

use super::*;

/// An extent that nothing is beyond: of what no mask limits.
const UNLIMITED: u64 = 1 << 30;
/// Dimensions of an array that tensor maps take.
const MAX_RANK: usize = 5;

#[derive(Clone, Debug)]
pub struct Found {
    pub dims: Vec<Dim>,
    pub at: Vec<Sum>,
    /// The tile's first dimension is the array's last one.
    pub across: bool,
    /// Which dimension's elements are neighbours was left open by the strides.
    pub chosen: bool,
    pub requires: Vec<Require>,
}

impl Found {
    /// Tensor maps clip what they store at 16 bytes, and the launcher does not look at constants.
    pub fn can_be_stored(&self, f: &Func, place: &Place) -> bool {
        let last = &self.dims[self.dims.len() - 1].extent;
        !last.slots.is_empty() || (last.times * f.params[place.param()].dtype.size() as u64).is_multiple_of(16)
    }
}

/// The window that an access is; none if it is none of a matrix. `flipped`: the first dimension's elements are neighbours, where the strides
/// leave that open.
pub fn find(f: &Func, sums: &Sums, place: &Place, mask: Option<Value>, flipped: bool) -> Option<Found> {
    let (index, size) = (place.index(), f.params[place.param()].dtype.size() as u64);
    let shape: &[usize; 2] = f.shape(index).try_into().ok()?;
    let sum = sums.of(index)?;
    let strides = strides(&sum)?;
    let one = Number::constant(1);
    let (unit, slot) = match [0, 1].map(|d| strides[d] == one) {
        [_, true] => (1, None),
        [true, _] => (0, None),
        _ => {
            let d = if flipped { 0 } else { 1 };
            (d, Some(strides[d].as_slot()?))
        }
    };
    // From here on that stride is 1.
    let known = |s: Sum| if let Some(slot) = slot { s.with_one(slot) } else { s };
    let other = 1 - unit;
    let stride = known(of_number(&strides[other])).number()?;
    if stride == one || stride.slots.is_empty() && !is_stride(stride.times, size) {
        return None;
    }
    let mut requires: Vec<Require> = slot.map(|s| Require::slot(s, Test::Equal(1))).into_iter().collect();
    let mut at = Origin::of(&known(sum), &stride, size)?;
    let mut limits: [Option<Number>; 2] = [None, None];
    for (a, b) in limits_of(f, sums, mask)? {
        let (d, begin) = known(a).lane()?;
        let extent = limit(f, sums, &begin, &known(b), if d == unit { &at.column } else { &at.row })?;
        if limits[d].as_ref().is_some_and(|l| *l != extent) {
            return None;
        }
        limits[d] = Some(extent);
    }
    let wraps = sums.wraps();
    for (d, begin) in [(unit, &at.column), (other, &at.row)] {
        let all: Vec<Wrap> = begin.atoms().filter_map(|a| if let Atom::Wrapped(v) = a { Some(wraps[&v].clone()) } else { None }).collect();
        // All of the tile is inside, or none of it wraps around.
        requires.extend(all.iter().map(|w| Require::slot(w.extent, Test::Multiple(w.length as u64))));
        match &all[..] {
            [] => {}
            [w] if begin.0.len() == 1 && w.length == shape[d] && limits[d].is_none() => limits[d] = Some(Number::slot(w.extent)),
            _ => return None,
        }
        // Without a limit an index below the first one is in memory, too.
        if limits[d].is_none() && !begin.counts_up() {
            return None;
        }
    }
    let limited = limits.iter().all(Option::is_some);
    let [columns, rows] = [unit, other].map(|d| limits[d].clone().unwrap_or(Number::constant(UNLIMITED)));
    if let Place::Slice { param, .. } = place {
        if !limited || !at.before.is_empty() {
            return None;
        }
        requires.extend(inside(&rows, &columns, &stride, f.params[*param].slot + 1)?);
    }
    let before = std::mem::take(&mut at.before);
    let (outer, mut begins): (Vec<Dim>, Vec<Sum>) = before.into_iter().map(|(stride, begin)| (Dim { extent: Number::constant(UNLIMITED), stride }, begin)).unzip();
    let dims = [outer, vec![Dim { extent: rows, stride }, Dim { extent: columns, stride: slot.map_or(one, Number::slot) }]].concat();
    begins.extend([at.row, at.column]);
    let signed = |slot: &usize| f.params.iter().any(|p| p.slot == *slot && p.kind == crate::ast::ParamKind::Scalar && p.dtype.is_signed());
    let slots: BTreeSet<usize> = begins.iter().flat_map(Sum::atoms).filter_map(|a| if let Atom::Slot(s) = a { Some(s) } else { None }).chain(dims.iter().flat_map(|d| [&d.extent, &d.stride]).flat_map(|n| n.slots.clone())).collect();
    requires.extend(slots.iter().filter(|s| signed(s)).map(|&s| Require::slot(s, Test::Within(0, i32::MAX as u64))));
    (dims.len() <= MAX_RANK).then_some(Found { dims, at: begins, across: unit == 0, chosen: slot.is_some(), requires })
}

/// What a tensor map takes.
fn is_stride(stride: u64, size: u64) -> bool {
    (stride * size).is_multiple_of(16) && stride * size < 1 << 40
}

/// Elements from one index to the next, in either dimension.
fn strides(index: &Sum) -> Option<[Number; 2]> {
    let mut strides = [None, None];
    for (t, n) in &index.0 {
        let lanes: Vec<usize> = t.iter().filter_map(|a| if let Atom::Lane(d) = a { Some(*d) } else { None }).collect();
        match lanes[..] {
            [] => {}
            [d] if strides[d].is_none() => {
                let others = t.iter().copied().filter(|a| !matches!(a, Atom::Lane(_))).collect();
                strides[d] = Some(Sum([(others, *n)].into()).number()?);
            }
            _ => return None,
        }
    }
    let [rows, columns] = strides;
    Some([rows?, columns?])
}

fn of_number(n: &Number) -> Sum {
    Sum([(n.slots.iter().map(|&s| Atom::Slot(s)).collect(), i128::from(n.times))].into())
}

/// Where a tile begins.
struct Origin {
    row: Sum,
    column: Sum,
    /// In dimensions beyond these, with their strides.
    before: Vec<(Number, Sum)>,
}

impl Origin {
    /// Of an index whose columns are neighbours. What is a multiple of the rows' stride moves along the rows; what has other slots as
    /// factors along a dimension of its own; all else along the columns.
    fn of(index: &Sum, stride: &Number, size: u64) -> Option<Origin> {
        let mut at = Origin { row: Sum::default(), column: Sum::default(), before: vec![] };
        for (t, &n) in index.0.iter().filter(|(t, _)| !t.iter().any(|a| matches!(a, Atom::Lane(_)))) {
            let term = |t: Vec<Atom>, n: i128| Sum([(t, n)].into());
            let slots: Vec<usize> = t.iter().filter_map(|a| if let Atom::Slot(s) = a { Some(*s) } else { None }).collect();
            let others: Vec<Atom> = t.iter().copied().filter(|a| !matches!(a, Atom::Slot(_))).collect();
            if let Some(rest) = without(t, &stride.slots).filter(|_| n % i128::from(stride.times) == 0) {
                at.row = at.row.add(&term(rest, n / i128::from(stride.times)));
            } else if slots.is_empty() || others.is_empty() {
                at.column = at.column.add(&term(t.clone(), n));
            } else {
                let stride = Number { times: 1, slots };
                let begin = term(others, n);
                if !begin.counts_up() || size > 16 {
                    return None;
                }
                match at.before.iter_mut().find(|(s, _)| *s == stride) {
                    Some((_, sum)) => *sum = sum.add(&begin),
                    None => at.before.push((stride, begin)),
                }
            }
        }
        Some(at)
    }
}

/// The factors that are left without these slots; none if not all of them are there.
fn without(t: &[Atom], slots: &[usize]) -> Option<Vec<Atom>> {
    let mut rest = t.to_vec();
    for &s in slots {
        rest.remove(rest.iter().position(|&a| a == Atom::Slot(s))?);
    }
    Some(rest)
}

/// The comparisons that a mask is made of, each as an index and what it is below.
fn limits_of(f: &Func, sums: &Sums, mask: Option<Value>) -> Option<Vec<(Sum, Sum)>> {
    let Some(mask) = mask else { return Some(vec![]) };
    // Lanes of a comparison, seen from the mask.
    fn collect(f: &Func, sums: &Sums, v: Value, dims: &[usize], out: &mut Vec<(Sum, Sum)>) -> Option<()> {
        match *f.op(v) {
            Op::Binary(Binary::And, a, b) => {
                collect(f, sums, a, dims, out)?;
                collect(f, sums, b, dims, out)
            }
            Op::Broadcast(x) => collect(f, sums, x, dims, out),
            Op::Expand(x, axis) => collect(f, sums, x, &[&dims[..axis], &dims[axis + 1..]].concat(), out),
            Op::Permute(x, ref perm) => {
                let mut of = vec![0; perm.len()];
                perm.iter().enumerate().for_each(|(d, &p)| of[p] = dims[d]);
                collect(f, sums, x, &of, out)
            }
            Op::Binary(op @ (Binary::Lt | Binary::Gt), a, b) => {
                let (a, b) = if op == Binary::Lt { (a, b) } else { (b, a) };
                out.push((sums.of(a)?.at_lanes(dims), sums.of(b)?));
                Some(())
            }
            _ => None,
        }
    }
    let (rank, mut out) = (f.shape(mask).len(), vec![]);
    collect(f, sums, mask, &(0..rank).collect::<Vec<_>>(), &mut out)?;
    Some(out)
}

/// The extent of a dimension by a mask, `begin + lane < end`, of a tile that begins at `at`.
fn limit(f: &Func, sums: &Sums, begin: &Sum, end: &Sum, at: &Sum) -> Option<Number> {
    let ahead = at.sub(begin);
    let extent = end.add(&ahead).number()?;
    let constant = |n: &Number| n.slots.is_empty() && !(1..=i32::MAX as u64).contains(&n.times);
    if constant(&extent) {
        return None;
    }
    // `lane < extent - ahead` is `ahead + lane < extent` unless the difference is negative.
    (ahead.0.is_empty() || ahead.counts_up() && reaches(f, sums, &ahead, &of_number(&extent))).then_some(extent)
}

/// Whether what a loop has counted is never beyond an extent that the loop ends at.
fn reaches(f: &Func, sums: &Sums, counted: &Sum, extent: &Sum) -> bool {
    let Some((t, &by)) = counted.0.iter().next().filter(|_| counted.0.len() == 1) else { return false };
    let [Atom::Scalar(iv)] = t[..] else { return false };
    let Some(end) = sums.end(iv) else { return false };
    match by {
        1 => sums.of(end).as_ref() == Some(extent),
        by => parts(f, sums, end).is_some_and(|(whole, of)| of == by && whole == *extent),
    }
}

/// `cdiv(n, of)`: in parts of so many, how many there are.
fn parts(f: &Func, sums: &Sums, v: Value) -> Option<(Sum, i128)> {
    let divided = |v: Value, op: Binary| match *f.op(v) {
        Op::Binary(o, a, b) if o == op => Some((sums.of(a)?, sums.of(b)?.as_constant().filter(|&n| n > 0)?)),
        _ => None,
    };
    if let Op::Binary(Binary::Add, q, more) = *f.op(v)
        && let Op::Cast(some) = *f.op(more)
        && let Op::Binary(Binary::Ne, r, zero) = *f.op(some)
        && f.is_zeros(zero)
    {
        let (whole, rest) = (divided(q, Binary::Div)?, divided(r, Binary::Rem)?);
        return (whole == rest).then_some(whole);
    }
    // Written out: `(n + of - 1) / of`.
    let (more, of) = divided(v, Binary::Div)?;
    Some((more.sub(&Sum::constant(of - 1)), of))
}

/// What makes all of a matrix lie in a slice, of which the length is in a slot.
fn inside(rows: &Number, columns: &Number, stride: &Number, len: usize) -> Option<Vec<Require>> {
    let narrow = match (columns == stride, stride.as_slot()) {
        (true, _) => vec![],
        (false, Some(slot)) => vec![Require { of: columns.clone(), test: Test::AtMost(slot) }],
        (false, None) if stride.slots.is_empty() => vec![Require { of: columns.clone(), test: Test::Within(0, stride.times) }],
        _ => return None,
    };
    Some([narrow, vec![Require { of: rows.times(stride), test: Test::AtMost(len) }]].concat())
}
