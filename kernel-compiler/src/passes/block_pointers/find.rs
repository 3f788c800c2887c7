//! One access: its block pointer, i.e. the array and the offsets.

use crate::analysis::polynomial::{Factor, Polynomial, Polynomials};
use crate::ir::walk::{assigned, made_of, values, walk};
use crate::ir::{Address, Base, Binary, Dim, Func, Guard, Number, Op, StmtKind, Test, Value, Var};
use crate::missed::Why;
use crate::passes::block_pointers::origins::Origins;
use std::collections::HashSet;
use tilewright_types::limits::MAX_TENSOR_MAP_RANK;

fn not_affine() -> Why {
    why!(
        "its index is not `row * stride + column` of two ranges (`arange`), scalars and arguments in 64 bits: write \
         it so, or take a tile of a view"
    )
}

fn not_a_limit() -> Why {
    why!(
        "its mask is not made of `index < extent` for its rows and columns, joined by `&`: write it so, or take a \
         tile of a view"
    )
}

fn may_be_negative() -> Why {
    why!("an index that no mask limits may be negative: cast signed numbers to `usize` once, or mask it")
}

#[derive(Clone, Debug)]
pub struct Found {
    pub dims: Vec<Dim>,
    pub at: Vec<Polynomial>,
    /// Whether the first dimension of the tile is the contiguous one of the array.
    pub across: bool,
    /// Whether the strides left open which dimension is contiguous.
    pub chosen: bool,
    pub guards: Vec<Guard>,
}

impl Found {
    /// Whether a tensor map can store to the array. The hardware clips rows at multiples of 16 bytes, and the launcher
    /// does not check constants.
    pub fn can_be_stored(&self, f: &Func, ptr: &Address) -> bool {
        let last = &self.dims[self.dims.len() - 1].extent;
        !last.words.is_empty() || (last.times * f.dtype_at(ptr).size() as u64).is_multiple_of(16)
    }
}

/// Whether a loop in front of an access has moved its pointers. How far is known in the loop alone.
fn is_behind_loop(f: &Func, ptr: &Address) -> bool {
    let read: Vec<(Value, Var)> = made_of(f, ptr.index, |_| true)
        .into_iter()
        .filter_map(|v| if let Op::ReadVar(var) = *f.op(v) { Some((v, var)) } else { None })
        .collect();
    // Reads of variables that loops in front of a statement have changed.
    let mut changed = HashSet::new();
    walk(&f.body).any(|s| match &s.kind {
        StmtKind::For { body, .. } => {
            let inside: HashSet<Value> = values(body).collect();
            let is_changed = |(v, var): &&(Value, Var)| !inside.contains(v) && !assigned(body, *var).is_empty();
            changed.extend(read.iter().filter(is_changed).map(|r| r.0));
            false
        }
        StmtKind::Let(v) => changed.contains(v),
        _ => false,
    })
}

/// The condition of a mask for one dimension: `begin + lane < end`.
struct Limit {
    dim: usize,
    begin: Polynomial,
    end: Polynomial,
}

/// The block pointer of an access to a matrix. `flipped`: the first dimension is contiguous, where the strides leave
/// that open.
pub fn find(f: &Func, sums: &Polynomials, ptr: &Address, mask: Option<Value>, flipped: bool) -> Result<Found, Why> {
    if ptr.param().is_none() {
        return Err(why!("its array is no parameter, and a tensor map describes one: pass the array to the kernel"));
    }
    let (index, size) = (ptr.index, f.dtype_at(ptr).size() as u64);
    let shape = f.shape(index);
    let shape: &[usize; 2] = shape.try_into().map_err(|_| {
        let rank = shape.len();
        why!("its tile has {rank} dimensions, and index arithmetic makes block pointers of two: take a tile of a view")
    })?;
    let mut begins = Origins::new(f, sums);
    let index = sums.of(index).ok_or_else(not_affine)?;
    let strides = strides(&index).ok_or_else(not_affine)?;
    let (unit, word) = neighbors(&strides, flipped).ok_or_else(|| {
        why!(
            "neither dimension has a stride of 1, and the inner stride is no argument that could be 1: make rows or \
             columns contiguous, or pass the stride"
        )
    })?;
    // From here on the stride of the contiguous dimension is 1.
    let known = |s: &Polynomial| if let Some(word) = word { s.with_one(word) } else { s.clone() };
    let rows = 1 - unit;
    let stride = known(&Polynomial::of(&strides[rows]))
        .number()
        .filter(|s| *s != Number::constant(1) && is_stride(s, size))
        .ok_or_else(|| {
            why!(
                "the stride from row to row is no multiple of 16 bytes, or no product of arguments and constants: pad \
                 the rows, or pass their stride"
            )
        })?;
    let mut limits = vec![];
    for (a, b) in compared(f, sums, mask).ok_or_else(not_a_limit)? {
        begins.signs(&[&a, &b]);
        let (dim, begin) = known(&a).lane().ok_or_else(not_a_limit)?;
        limits.push(Limit { dim, begin, end: known(&b) });
    }
    begins.signs(&[&index]);
    let of = |dim: usize| limits.iter().find(|l| l.dim == dim).map(|l| &l.begin);
    let at = Origin::of(sums, &known(&index), &stride, [of(rows), of(unit)], shape[unit], size).ok_or_else(|| {
        why!(
            "a term of its index belongs to neither its rows nor its columns, and its stride is no multiple of 16 \
             bytes: pad that stride, or mask the dimension with the term"
        )
    })?;
    let mut extents = [None, None];
    for l in &limits {
        let extent = extent(f, sums, l, if l.dim == unit { &at.column } else { &at.row }, &mut begins).ok_or_else(
            || match is_behind_loop(f, ptr) {
                true => why!(
                    "a loop has moved its pointers, and its mask is of other indices: compute the pointers anew \
                     behind the loop"
                ),
                false => why!(
                    "its mask compares an index that differs from the access's own by more than a loop has counted: \
                     compare the access's own"
                ),
            },
        )?;
        let differs = extents[l.dim].replace(extent.clone()).is_some_and(|other| other != extent);
        if differs && !planted!("block-pointer-last-of-two-extents") {
            return Err(why!("its mask gives one dimension two extents: compare rows once, and columns once"));
        }
    }
    for (d, begin) in [(unit, &at.column), (rows, &at.row)] {
        match begins.wrap(begin) {
            // The tile is inside of the extent, or it does not wrap around.
            Some((w, true)) if w.length == shape[d] && extents[d].is_none() => {
                extents[d] = Some(Number::word(w.extent))
            }
            Some(_) => {
                return Err(why!(
                    "its index wraps around (`%`) in a part of the tile, beside another term, or under a mask: take \
                     `%` of all of `start + arange(BLOCK)`, without a mask of that dimension"
                ));
            }
            // Without a limit an index below the first row or column is an element too.
            None if extents[d].is_none()
                && !begins.counts_up(begin)
                && !planted!("block-pointer-begins-below-zero") =>
            {
                return Err(may_be_negative());
            }
            None => {}
        }
    }
    if !at.before.iter().all(|(_, begin)| begins.counts_up(begin)) {
        return Err(may_be_negative());
    }
    let limited = extents.iter().all(Option::is_some);
    let order = if planted!("block-pointer-extents-swapped") { [rows, unit] } else { [unit, rows] };
    let [columns, rows] = order.map(|d| Dim::extent_of(extents[d].clone()));
    let mut guards: Vec<Guard> =
        word.map(|w| Guard::word(w, Test::Equal(1))).into_iter().chain(begins.guards).collect();
    if let Base::Slice(param) = ptr.base {
        if !limited || !at.before.is_empty() {
            return Err(why!("a slice's rows and columns are not both limited by its mask: use a view, or mask both"));
        }
        let asked = inside(&rows, &columns, &stride, f.params[param].first_word + 1);
        let asked =
            asked.ok_or_else(|| why!("nothing tells that the masked matrix lies inside of the slice: use a view"))?;
        guards.extend(asked.into_iter().filter(|_| !planted!("block-pointer-slice-length-not-asked")));
    }
    let (mut dims, mut at_dims): (Vec<Dim>, Vec<Polynomial>) =
        at.before.into_iter().map(|(stride, begin)| (Dim { extent: Dim::extent_of(None), stride }, begin)).unzip();
    dims.extend([
        Dim { extent: rows, stride },
        Dim { extent: columns, stride: word.map_or(Number::constant(1), Number::word) },
    ]);
    at_dims.extend([at.row, at.column]);
    if dims.len() > MAX_TENSOR_MAP_RANK {
        return Err(why!(
            "its index has {} dimensions with strides of their own, and a tensor map {MAX_TENSOR_MAP_RANK} at most: \
             merge dimensions that are contiguous",
            dims.len()
        ));
    }
    Ok(Found { dims, at: at_dims, across: unit == 0, chosen: word.is_some(), guards })
}

/// The contiguous dimension, and the argument word that must be 1 for it, where the strides leave that open.
fn neighbors(strides: &[Number; 2], flipped: bool) -> Option<(usize, Option<usize>)> {
    let one = Number::constant(1);
    match [strides[0] == one, strides[1] == one] {
        [_, true] => Some((1, None)),
        [true, _] => Some((0, None)),
        _ => {
            let d = if flipped { 0 } else { 1 };
            Some((d, Some(strides[d].as_word()?)))
        }
    }
}

/// Whether a tensor map takes a stride. The launcher checks strides that are argument words.
fn is_stride(stride: &Number, size: u64) -> bool {
    !stride.words.is_empty()
        || stride.times.checked_mul(size).is_some_and(|bytes| bytes.is_multiple_of(16) && bytes < 1 << 40)
}

/// The strides of both dimensions in elements.
fn strides(index: &Polynomial) -> Option<[Number; 2]> {
    let mut strides = [None, None];
    for (t, n) in &index.0 {
        let lanes: Vec<usize> = t.iter().filter_map(|a| a.lane()).collect();
        match lanes[..] {
            [] => {}
            [d] if strides[d].is_none() => {
                let others = t.iter().copied().filter(|a| a.lane().is_none()).collect();
                strides[d] = Some(Polynomial([(others, *n)].into()).number()?);
            }
            _ => return None,
        }
    }
    let [rows, columns] = strides;
    Some([rows?, columns?])
}

/// The offsets of a tile.
struct Origin {
    row: Polynomial,
    column: Polynomial,
    /// The offsets in further dimensions, with their strides.
    before: Vec<(Number, Polynomial)>,
}

impl Origin {
    /// The offsets of an index whose columns are contiguous. A term that is a multiple of the stride of the rows is an
    /// offset of rows. A constant is an offset of columns, and so is a term without argument words that is in the mask
    /// of the columns or does not exceed the width of the tile. Every other term, such as the number of a batch times
    /// its stride, gets a dimension of its own. `[row, column]` are the offsets in the masks of rows and columns.
    fn of(
        sums: &Polynomials,
        index: &Polynomial,
        stride: &Number,
        [row, column]: [Option<&Polynomial>; 2],
        width: usize,
        size: u64,
    ) -> Option<Origin> {
        let mut at = Origin { row: Polynomial::default(), column: Polynomial::default(), before: vec![] };
        // The mask has the term, or the term is counted by a loop whose remaining count is in the mask.
        let belongs = |mask: &Polynomial, t: &[Factor], n: i128| {
            mask.0.get(t) == Some(&n) || matches!(t, [Factor::Scalar(v)] if sums.end(*v).is_some())
        };
        for (t, &n) in index.0.iter().filter(|(t, _)| t.iter().all(|a| a.lane().is_none())) {
            let words: Vec<usize> = t.iter().filter_map(|a| a.word()).collect();
            let others: Vec<Factor> = t.iter().copied().filter(|a| a.word().is_none()).collect();
            let term = |t: Vec<Factor>, n: i128| Polynomial([(t, n)].into());
            let times = i128::from(stride.times);
            if let Some(rest) = without(t, &stride.words).filter(|_| n % times == 0) {
                let free = rest.iter().all(|a| a.word().is_none());
                if others.is_empty() || row.map_or(free, |mask| belongs(mask, &rest, n / times)) {
                    at.row = at.row.add(&term(rest, n / times));
                    continue;
                }
            } else if others.is_empty()
                || words.is_empty()
                    && (n.unsigned_abs() <= width as u128 || column.is_some_and(|mask| belongs(mask, t, n)))
            {
                at.column = at.column.add(&term(t.clone(), n));
                continue;
            }
            let stride = Number { times: u64::try_from(n).ok()?, words };
            if !is_stride(&stride, size) {
                return None;
            }
            let begin = term(others, 1);
            match at.before.iter_mut().find(|(s, _)| *s == stride) {
                Some((_, sum)) => *sum = sum.add(&begin),
                None => at.before.push((stride, begin)),
            }
        }
        Some(at)
    }
}

/// The factors without these argument words; none if one of the words is no factor.
fn without(t: &[Factor], words: &[usize]) -> Option<Vec<Factor>> {
    let mut rest = t.to_vec();
    for &w in words {
        rest.remove(rest.iter().position(|&a| a == Factor::Word(w))?);
    }
    Some(rest)
}

/// The comparisons of a mask, each as an index and its limit.
fn compared(f: &Func, sums: &Polynomials, mask: Option<Value>) -> Option<Vec<(Polynomial, Polynomial)>> {
    let Some(mask) = mask else { return Some(vec![]) };
    // The lanes of a comparison in the dimensions of the mask.
    fn collect(
        f: &Func,
        sums: &Polynomials,
        v: Value,
        dims: &[usize],
        out: &mut Vec<(Polynomial, Polynomial)>,
    ) -> Option<()> {
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
            _ => planted!("block-pointer-ignores-a-condition").then_some(()),
        }
    }
    let (rank, mut out) = (f.shape(mask).len(), vec![]);
    collect(f, sums, mask, &(0..rank).collect::<Vec<_>>(), &mut out)?;
    Some(out)
}

/// The extent of a dimension according to a mask, for a tile that begins at `at`.
fn extent(f: &Func, sums: &Polynomials, limit: &Limit, at: &Polynomial, begins: &mut Origins) -> Option<Number> {
    let ahead = at.sub(&limit.begin);
    let extent =
        limit.end.add(&ahead).number().filter(|n| !n.words.is_empty() || (1..=i32::MAX as u64).contains(&n.times))?;
    // `begin + lane < extent - ahead` is `begin + ahead + lane < extent` unless the difference is negative, or a sum is
    // beyond all numbers.
    let counted = || ahead.counts_up() && reaches(f, sums, &ahead, &Polynomial::of(&extent));
    (planted!("block-pointer-mask-of-another-index")
        || ahead.0.is_empty()
        || counted() && begins.counts_up(&limit.begin))
    .then_some(extent)
}

/// Whether the count of a loop never exceeds the extent at which the loop ends.
fn reaches(f: &Func, sums: &Polynomials, counted: &Polynomial, extent: &Polynomial) -> bool {
    let Some((t, &by)) = counted.0.iter().next().filter(|_| counted.0.len() == 1) else { return false };
    let [Factor::Scalar(iv)] = t[..] else { return false };
    let Some(end) = sums.end(iv) else { return false };
    match by {
        1 => at_most(f, sums, end, extent),
        by => parts(f, sums, end).is_some_and(|(whole, of)| of == by && whole == *extent),
    }
}

/// Whether a number is an extent, or the minimum of the extent and another number.
fn at_most(f: &Func, sums: &Polynomials, v: Value, extent: &Polynomial) -> bool {
    sums.of(v).as_ref() == Some(extent)
        || matches!(*f.op(v), Op::Binary(Binary::Min, a, b) if at_most(f, sums, a, extent) || at_most(f, sums, b, extent))
}

/// The operands of `cdiv(n, of)`, if a value is one.
fn parts(f: &Func, sums: &Polynomials, v: Value) -> Option<(Polynomial, i128)> {
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
    Some((more.sub(&Polynomial::constant(of - 1)), of))
}

/// The guards with which a matrix is within a slice, whose length is an argument word.
fn inside(rows: &Number, columns: &Number, stride: &Number, len: usize) -> Option<Vec<Guard>> {
    let narrow = match (columns == stride, stride.as_word()) {
        (true, _) => vec![],
        (false, Some(word)) => vec![Guard { of: columns.clone(), test: Test::AtMost(word) }],
        (false, None) if stride.words.is_empty() => {
            vec![Guard { of: columns.clone(), test: Test::Within(0, stride.times) }]
        }
        _ => return None,
    };
    Some([narrow, vec![Guard { of: rows.times(stride)?, test: Test::AtMost(len) }]].concat())
}
