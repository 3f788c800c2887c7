//! Kernels of products: every kind of operand, loop and epilogue beside each other.

use crate::driver::Kernel;
use crate::source::{Array, Kind, Len, Source, Special};
use crate::value::{DType, Value, Whole};

/// Operands, sums, what is said behind `dot`.
const TYPES: [(DType, DType, &str); 11] = [
    (DType::F16, DType::F32, ""),
    (DType::F16, DType::F32, ""),
    (DType::BF16, DType::F32, ""),
    (DType::F32, DType::F32, ""),
    (DType::F32, DType::F32, ".tf32()"),
    (DType::F32, DType::F32, ".tf32x3()"),
    (DType::F32, DType::F32, ".bf16x3()"),
    (DType::F32, DType::F32, ".bf16x6()"),
    (DType::I8, DType::I32, ""),
    (DType::F8E4M3, DType::F32, ""),
    (DType::F8E5M2, DType::F32, ""),
];

/// How a matrix is addressed.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Addressing {
    View,
    Slice,
    Pointer,
    /// A view that the kernel makes of an address.
    Address,
    /// A pointer that the loop moves along.
    Moved,
    /// A pointer whose rows or columns begin again where the matrix ends.
    Wrapped,
}

/// One side of the product: rows of `outer` (of `m` or `n`) along `k`.
struct Side {
    name: &'static str,
    ty: DType,
    addressing: Addressing,
    /// Whether K is the last axis of the operand's array.
    along: bool,
    outer: &'static str,
    block: usize,
    /// The variable of the first row.
    at: &'static str,
    top: u64,
    /// Whether masks end before the matrix does, at limits of their own.
    short: bool,
}

impl Side {
    /// The limits of its masks: of rows or columns of the result, and of the depth.
    fn limits(&self) -> [String; 2] {
        match self.short {
            true => ["outer", "depth"].map(|of| format!("{of}_{}", self.name)),
            false => [self.outer.into(), "k".into()],
        }
    }
}

struct Shape {
    m: usize,
    n: usize,
    k: usize,
    /// Thread blocks of a cluster.
    ctas: usize,
}

pub fn kernel(name: &str, seed: u64) -> Kernel {
    let mut s = Source::new(seed);
    let (ty, sums, how) = *s.pick(&TYPES);
    let least = if ty == DType::F32 && how.is_empty() { 1 } else { 32 };
    if how.contains('x') && s.special == Special::All {
        // Of an infinity the parts are no numbers.
        s.special = Special::Nan;
    }
    let scale = if ty == DType::F32 && how.is_empty() { 2 } else { 1 };
    // Clusters are for warpgroups that take windows, of 64 rows each.
    let ctas = if least > 1 && s.once_in(3) { *s.pick(&[2, 2, 4, 4, 8]) } else { 1 };
    let shape = Shape {
        m: if ctas > 1 { 64 * ctas } else { *s.pick(&[16, 32, 64, 64, 64, 128, 128]) / scale },
        n: if ctas > 2 { *s.pick(&[8, 32, 64]) } else { *s.pick(&[8, 16, 24, 32, 64, 64, 96, 128]) / scale },
        k: (*s.pick(&[16, 32, 32, 64, 64, 128]) / scale).max(if ty.size() == 1 { 32 } else { least.min(16) }),
        ctas,
    };
    let aligned = 16 / ty.size();
    // Multiples of all, and a number that is no multiple.
    let runs = s.rng.usize(1..1000);
    let sizes = |block: usize, odd: usize| vec![block * 2, block + aligned * (runs % 3 + 1), odd];
    let (m, n, k) = (sizes(shape.m, runs % 70 + 1), sizes(shape.n, runs % 50 + 1), sizes(shape.k * 2, runs % 150));
    s.size("m", &m);
    s.size("n", &n);
    s.size("k", &k);

    let choices = [
        Addressing::View,
        Addressing::View,
        Addressing::View,
        Addressing::Slice,
        Addressing::Pointer,
        Addressing::Address,
        Addressing::Moved,
        Addressing::Wrapped,
    ];
    let choices = if ctas > 1 { &choices[..1] } else { &choices[..] };
    let addressing = *s.pick(choices);
    let other = if s.once_in(3) { *s.pick(choices) } else { addressing };
    let a = Side {
        name: "a",
        ty: operand_type(&mut s, ty),
        addressing,
        along: !s.once_in(3),
        outer: "m",
        block: shape.m,
        at: "row",
        top: ty.input(),
        short: !matches!(addressing, Addressing::View | Addressing::Address) && s.once_in(3),
    };
    let b = Side {
        name: "b",
        ty: operand_type(&mut s, ty),
        addressing: other,
        along: s.once_in(2),
        outer: "n",
        block: shape.n,
        at: "column",
        top: ty.input(),
        short: !matches!(other, Addressing::View | Addressing::Address) && s.once_in(3),
    };
    [&a, &b].into_iter().for_each(|side| declare(&mut s, side));

    let stay = s.once_in(3);
    let whole = |s: &mut Source| {
        s.line(format!("let (row, column) = (i * {}, j * {});", shape.m, shape.n));
        tile(s, &shape, &a, &b, ty, sums, how);
    };
    let tiles = format!("(cdiv(m, {}), cdiv(n, {}))", shape.m, shape.n);
    let grid = if stay {
        s.line(format!("let tiles = {tiles};"));
        s.block("for t in range(program_id(0), tiles.0 * tiles.1, num_programs(0))", |s| {
            s.line("let (i, j) = swizzle2d(t, tiles, 2);");
            whole(s);
        });
        "[2]".to_string()
    } else {
        s.line("let (i, j) = (program_id(0), program_id(1));");
        whole(&mut s);
        format!("[cdiv(m, {}), cdiv(n, {})]", shape.m, shape.n)
    };
    let warps = if ctas > 1 { 4 } else { *s.pick(&[4, 4, 8]) };
    let stages = *s.pick(&["", "", ", stages = [2]", ", stages = [3]", ", stages = [1]"]);
    let ctas = if ctas > 1 { format!(", ctas = [{ctas}], arch = [90]") } else { String::new() };
    let old = *s.pick(&[80, 80, 75]);
    let in_place = s.inputs.iter().any(|a| a.alias_of.is_some());
    let alias = if in_place { ", alias(before, c)" } else { "" };
    let attribute = format!(
        "tune(warps = [{warps}]{stages}{ctas}), tune(warps = [4], arch = [{old}]), grid = {grid}{alias}, emulate = all"
    );
    Kernel::new(name, &attribute, s)
}

/// The type that an operand is loaded as: its own, or a type that is converted to it.
fn operand_type(s: &mut Source, ty: DType) -> DType {
    match ty {
        DType::F16 | DType::BF16 if s.once_in(5) => *s.pick(&[DType::I8, DType::F32, DType::U8, DType::F8E4M3]),
        _ => ty,
    }
}

fn declare(s: &mut Source, side: &Side) {
    let dims = if side.along { [side.outer, "k"] } else { ["k", side.outer] };
    // Rows are sometimes longer than the part that is read.
    let pad = *s.pick(&["", "", " + 16", " + 3"]);
    let stride = format!("{}{pad}", dims[1]);
    let mut array = Array::view(side.name, side.ty, &dims, &stride, side.top);
    match side.addressing {
        Addressing::View => {}
        Addressing::Address => array.kind = Kind::Address,
        Addressing::Slice => array.kind = Kind::Slice,
        Addressing::Pointer | Addressing::Moved | Addressing::Wrapped => array.kind = Kind::Pointer,
    }
    if side.addressing != Addressing::View {
        let sized = |s: &Source, name: &str| s.sizes.iter().find(|(n, _)| n == name).expect("it is one").1.clone();
        let padding = pad.trim_start_matches(" + ").parse().unwrap_or(0);
        let strides: Vec<usize> = sized(s, dims[1]).iter().map(|d| d + padding).collect();
        s.size(&format!("stride_{}", side.name), &strides);
        if side.short {
            let less = |s: &mut Source, name: &str| {
                let by = *s.pick(&[0, 1, 5, 8]);
                sized(s, name).iter().map(|&n: &usize| n.saturating_sub(by)).collect::<Vec<_>>()
            };
            let [outer, depth] = side.limits();
            let (outers, depths) = (less(s, side.outer), less(s, "k"));
            s.size(&outer, &outers);
            s.size(&depth, &depths);
        }
    }
    s.inputs.push(array);
}

/// The tile of a side from a depth on, as the product takes it: rows of `a`, columns of `b`.
fn operand(s: &mut Source, side: &Side, depth: usize) -> Value {
    let (name, at, block) = (side.name, side.at, side.block);
    let lies = if side.along { [block, depth] } else { [depth, block] };
    let text = match side.addressing {
        Addressing::View | Addressing::Address => {
            let from = if side.along { format!("[{at}, d]") } else { format!("[d, {at}]") };
            let hint = *s.pick(&["", "", "", ".evict_last()"]);
            let view = match side.addressing {
                Addressing::View => name.to_string(),
                _ => {
                    let dims = if side.along { [side.outer, "k"] } else { ["k", side.outer] };
                    let (ty, dims) = (side.ty.name(), dims.join(", "));
                    format!("view({name} as *const {ty}, [{dims}], [stride_{name}, 1])")
                }
            };
            format!("{view}.tile({from}, {lies:?}){hint}")
        }
        Addressing::Slice | Addressing::Pointer | Addressing::Moved | Addressing::Wrapped => {
            let (outer, deep) = (format!("({at} + arange({block}))"), format!("(d + arange({depth}))"));
            let wraps = side.addressing == Addressing::Wrapped;
            let outer = if wraps { format!("({outer} % {})", side.outer) } else { outer };
            let [across, along] = side.limits();
            let (rows, columns, limits) =
                if side.along { (&outer, &deep, [across, along]) } else { (&deep, &outer, [along, across]) };
            let index = format!("{rows}.expand(1) * stride_{name} + {columns}.expand(0)");
            let masks =
                [format!("({rows}.expand(1) < {})", limits[0]), format!("({columns}.expand(0) < {})", limits[1])];
            let mask = match wraps && !side.short {
                // An index that wraps around is inside.
                true => masks[usize::from(side.along)].clone(),
                false => masks.join(" & "),
            };
            match side.addressing {
                Addressing::Slice => format!("load({name}, {index}).mask({mask})"),
                Addressing::Pointer | Addressing::Wrapped => format!("load({name}.add({index})).mask({mask})"),
                _ => format!("load({name}_at).mask({mask})"),
            }
        }
    };
    let transposed = side.along != (name == "a");
    let (text, shape) = if transposed { (format!("trans({text})"), [lies[1], lies[0]]) } else { (text, lies) };
    Value::new(text, side.ty, &shape, side.top)
}

/// The operand in the product's type, now and then computed.
fn prepared(s: &mut Source, v: Value, ty: DType) -> Value {
    let shape = v.shape.clone();
    let v = if s.once_in(4) && !matches!(v.ty, DType::F8E4M3 | DType::F8E5M2) {
        match s.rng.u8(..4) {
            0 => Value { text: format!("maximum({}, {})", v.text, v.ty.literal(0)), ..v },
            1 if v.ty.has_sign() => Value { text: format!("(-{})", v.text), ..v },
            2 => {
                let limit = *s.pick(&["k", "m", "5"]);
                let axis = s.rng.usize(..2);
                let i = s.along(&shape, axis);
                Value {
                    text: format!("where_(({i} < {limit}).broadcast({shape:?}), {}, {})", v.text, v.ty.literal(1)),
                    ..v
                }
            }
            _ => {
                let axis = s.rng.usize(..2);
                let x = s.input(v.ty);
                let i = shape[1 - axis];
                Value::new(
                    format!("minimum({}, load({}, arange({i})).expand({axis}))", v.text, x.name),
                    v.ty,
                    &shape,
                    v.top.max(x.top),
                )
            }
        }
    } else {
        v
    };
    if v.ty == ty {
        return v;
    }
    let v = s.at_most(v, ty.exact().min(8));
    Value::new(s.convert(&v, ty), ty, &shape, v.top)
}

/// All of a tile of the result: a loop, or two, and the store.
fn tile(s: &mut Source, shape: &Shape, a: &Side, b: &Side, ty: DType, sums: DType, how: &str) {
    let Shape { m, n, k, .. } = *shape;
    s.line(format!("let mut acc = {};", sums.zeros(&[m, n])));
    // Beside the product: sums of the left operand's rows, or a second product.
    let besides = s.rng.u8(..8);
    let rows = besides == 0 && !matches!(a.ty, DType::F8E4M3 | DType::F8E5M2);
    let second = besides == 1;
    if rows {
        s.line(format!("let mut rows = zeros::<i32>([{m}]);"));
    }
    if second {
        s.line(format!("let mut other = {};", sums.zeros(&[m, n])));
    }
    let moved: Vec<&Side> = [a, b].into_iter().filter(|x| x.addressing == Addressing::Moved).collect();
    for side in &moved {
        let (name, at, block) = (side.name, side.at, side.block);
        let (rows, columns) = if side.along {
            (format!("({at} + arange({block}))"), format!("arange({k})"))
        } else {
            (format!("arange({k})"), format!("({at} + arange({block}))"))
        };
        s.line(format!("let mut {name}_at = {name}.add({rows}.expand(1) * stride_{name} + {columns}.expand(0));"));
    }
    let options = *s.pick(&["", "", ".stages(2)", ".unroll(2)", ".warp_specialize(false)", ".flatten()"]);
    let head = match s.rng.u8(..4) {
        0 => format!("for d in (0..k).step_by({k})"),
        1 => format!("for step in 0..cdiv(k, {k})"),
        _ => format!("for d in range(0, k, {k}){options}"),
    };
    let steps = head.starts_with("for step");
    let guarded = s.once_in(8);
    s.block(&head, |s| {
        if steps {
            s.line(format!("let d = step * {k};"));
        }
        let (l, r) = (operand(s, a, k), operand(s, b, k));
        let l = if rows || second || s.once_in(2) { s.hold(&l) } else { l };
        if rows {
            let whole = s.convert(&l, DType::I32);
            s.line(format!("rows += sum({whole}, 1);"));
        }
        let (x, y) = (prepared(s, l.clone(), ty), prepared(s, r.clone(), ty));
        let product = format!("acc = dot({}, {}, acc){how};", x.text, y.text);
        if guarded {
            s.line(format!("if d != {k} {{ {product} }}"))
        } else {
            s.line(product)
        }
        if second {
            let (x, y) = (prepared(s, l, ty), prepared(s, r, ty));
            s.line(format!("other = dot({}, {}, other){how};", x.text, y.text));
        }
        for side in &moved {
            let step = if side.along { k.to_string() } else { format!("{k} * stride_{}", side.name) };
            s.line(format!("{}_at += {step};", side.name));
        }
    });
    // At most 300 of depth, of numbers up to 8.
    let top = 1 << 15;
    let mut result = Value::new("acc", sums, &[m, n], top);
    if second {
        result = Value::new(format!("(acc - {} * other)", sums.literal(2)), sums, &[m, n], 3 * top);
    }
    epilogue(s, result, shape);
    if rows {
        s.outputs.push(Array {
            name: "sums".into(),
            ty: DType::I32,
            kind: Kind::Slice,
            top: 3,
            len: Len::Matrix(["1".into(), "m".into(), "m".into()]),
            alias_of: None,
        });
        s.line(format!("if j == 0 {{ store(sums, row + arange({m}), rows); }}"));
    }
}

fn epilogue(s: &mut Source, mut v: Value, shape: &Shape) {
    let Shape { m, n, .. } = *shape;
    let ty = v.ty;
    let to = match ty {
        DType::I32 => *s.pick(&[DType::I32, DType::I8, DType::F32]),
        _ => *s.pick(&[DType::F32, DType::F16, DType::BF16, DType::F8E4M3]),
    };
    // Now and then the result is added to the matrix that is written.
    // A program of a cluster reads nothing that it writes, and reduces no columns.
    let in_place = shape.ctas == 1 && !to.is_float8() && s.once_in(5);
    let pad = *s.pick(&["", "", " + 16", " + 5"]);
    if in_place {
        let top = to.input();
        let old = Array::view("before", to, &["m", "n"], &format!("n{pad}"), top);
        s.inputs.push(Array { alias_of: Some("c".into()), ..old });
        let old = Value::new(format!("before.tile([row, column], [{m}, {n}])"), to, &[m, n], top);
        v = s.hold(&Value::new(format!("({} + {})", v.text, s.convert(&old, ty)), ty, &[m, n], v.top + top));
    }
    for _ in 0..s.rng.usize(..3) {
        v = match s.rng.u8(..6) {
            0 => {
                let bias = s.input(ty);
                Value::new(
                    format!("({} + load({}, column + arange({n})).expand(0))", v.text, bias.name),
                    ty,
                    &[m, n],
                    v.top + bias.top,
                )
            }
            1 => Value { text: format!("maximum({}, {})", v.text, ty.literal(0)), ..v },
            2 => {
                let v = s.hold(&v);
                Value { text: format!("where_({0} > {1}, {0}, -{0})", v.text, ty.literal(3)), ..v }
            }
            3 => {
                let from = *s.pick(&[DType::F16, DType::F32, DType::I8]);
                if !s.inputs.iter().any(|x| x.name == "old") {
                    s.inputs.push(Array::view("old", from, &["m", "n"], "n", 8));
                }
                let old = Value::new(format!("old.tile([row, column], [{m}, {n}])"), from, &[m, n], 8);
                Value::new(format!("({} + {})", v.text, s.convert(&old, ty)), ty, &[m, n], v.top + 8)
            }
            4 => {
                let axis = if shape.ctas > 1 { 1 } else { s.rng.usize(..2) };
                let v = s.hold(&v);
                let v = s.at_most(v, 1000);
                let v = s.hold(&v);
                Value::new(format!("({0} - max({0}, {axis}).expand({axis}))", v.text), ty, &[m, n], 2000)
            }
            _ => {
                let seen = s.condition(&[m, n], 0);
                Value { text: format!("where_({seen}, {}, {})", v.text, ty.literal(7)), ..v }
            }
        };
        v = s.hold(&v);
    }
    if to != ty {
        v = s.at_most(v, to.exact());
        v = Value::new(s.convert(&v, to), to, &[m, n], v.top);
    }
    // Now and then across, padded, or through a slice or a pointer.
    let transposed = !in_place && s.once_in(6);
    let dims = if transposed { ["n", "m"] } else { ["m", "n"] };
    let at = if transposed { ["column", "row"] } else { ["row", "column"] };
    let extents = if transposed { [n, m] } else { [m, n] };
    let text = if transposed { format!("trans({})", v.text) } else { v.text };
    let addressing = if in_place {
        Addressing::View
    } else {
        *s.pick(&[
            Addressing::Pointer,
            Addressing::Address,
            Addressing::Slice,
            Addressing::View,
            Addressing::View,
            Addressing::View,
        ])
    };
    let row = format!("{}{}", dims[1], if addressing == Addressing::Slice { "" } else { pad });
    let mut c = Array::view("c", to, &dims, &row, 3);
    if addressing == Addressing::View {
        s.line(format!("c.store([{}, {}], {text});", at[0], at[1]));
    } else {
        let [rows, columns] = [0, 1].map(|i| format!("({} + arange({})).expand({})", at[i], extents[i], 1 - i));
        let index = format!("{rows} * ({row}) + {columns}");
        let (kind, place) = match addressing {
            Addressing::Slice => (Kind::Slice, format!("c, {index}")),
            Addressing::Address => (Kind::Address, format!("(c as *mut {}).add({index})", to.name())),
            _ => (Kind::Pointer, format!("c.add({index})")),
        };
        c.kind = kind;
        s.line(format!("store({place}, {text}).mask(({rows} < {}) & ({columns} < {}));", dims[0], dims[1]));
    }
    s.outputs.push(c);
}
