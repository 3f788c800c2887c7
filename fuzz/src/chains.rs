//! Kernels whose second product takes the result of the first one, as attention does, and products of batches.

use crate::driver::Kernel;
use crate::source::{Array, Source};
use crate::value::{DType, Value, Whole};

/// Its rows are now and then further apart than they are long.
fn view(s: &mut Source, name: &str, ty: DType, dims: &[&str]) {
    let row = format!("{}{}", dims[dims.len() - 1], *s.pick(&["", "", " + 16", " + 3"]));
    s.inputs.push(Array::view(name, ty, dims, &row, ty.input().min(4)));
}

/// `for d { s = dot(q, kᵀ); p = f(s); acc = dot(p, v, acc) }`.
pub fn chain(name: &str, seed: u64) -> Kernel {
    let mut s = Source::new(seed);
    let ty = *s.pick(&[DType::F16, DType::F16, DType::BF16]);
    let (m, n, d) = (*s.pick(&[16, 64, 64, 128]), *s.pick(&[16, 32, 64, 64]), *s.pick(&[32, 64, 64, 128]));
    let odd = s.rng.usize(1..90);
    s.size("m", &[2 * m, m + 8, odd]);
    s.size("k", &[4 * n, n + 8, 3 * odd]);
    let less = 8 * s.rng.usize(..2);
    s.size("depth", &[d, d, d - less]);
    view(&mut s, "q", ty, &["m", "depth"]);
    view(&mut s, "key", ty, &["k", "depth"]);
    view(&mut s, "value", ty, &["k", "depth"]);

    s.line(format!("let row = program_id(0) * {m};"));
    let negated = s.once_in(3);
    let query = format!("q.tile([row, 0], [{m}, {d}])");
    s.line(format!("let query = {};", if negated { format!("(-{query})") } else { query }));
    s.line(format!("let mut acc = zeros::<f32>([{m}, {d}]);"));
    let (tops, all, fade) = (s.once_in(2), s.once_in(2), s.once_in(3));
    s.line(format!("let mut top = full([{m}], -50.0);"));
    s.line(format!("let mut all = zeros::<f32>([{m}]);"));
    let masked = s.rng.u8(..4);
    let early = s.once_in(3);
    let options = *s.pick(&["", "", ".stages(2)", ".unroll(2)", ".warp_specialize(false)"]);
    let end = if masked == 1 { format!("min(k, row + {m})") } else { "k".into() };
    s.block(&format!("for at in range(0, {end}, {n}){options}"), |s| {
        s.line(format!("let keys = key.tile([at, 0], [{n}, {d}]);"));
        if early {
            s.line(format!("let values = value.tile([at, 0], [{n}, {d}]);"));
        }
        s.line(format!("let scores = dot(query, trans(keys), zeros::<f32>([{m}, {n}]));"));
        let seen = match masked {
            0 => Some(format!("((at + arange({n}) < k).expand(0)).broadcast([{m}, {n}])")),
            1 => Some(format!("(at + arange({n})).expand(0) <= (row + arange({m})).expand(1)")),
            _ => None,
        };
        if let Some(seen) = seen {
            s.line(format!("let scores = where_({seen}, scores, -9.0);"));
        }
        if tops {
            s.line("let higher = maximum(top, max(scores, 1));");
            if fade {
                s.line("let fade = where_(higher > top, -1.0, 1.0);");
            }
            s.line("let weights = maximum(scores - higher.expand(1) + 5.0, -2.0);");
        } else {
            s.line("let weights = clamp(scores, -3.0, 6.0);");
        }
        if all {
            s.line(if tops && fade { "all = all * fade + sum(weights, 1);" } else { "all += sum(weights, 1);" });
        }
        let from = if tops && fade { "acc * fade.expand(1)" } else { "acc" };
        let values = if early { "values".to_string() } else { format!("value.tile([at, 0], [{n}, {d}])") };
        s.line(format!("acc = dot({}, {values}, {from});", ty.of("weights")));
        if tops {
            s.line("top = higher;");
        }
    });
    s.outputs.push(Array::view("out", DType::F32, &["m", "depth"], "depth", 3));
    s.line("out.store([row, 0], acc + all.expand(1) - top.expand(1));");
    let attribute = format!(
        "tune(warps = [{}]), tune(warps = [4], arch = [{}]), grid = [cdiv(m, {m})], emulate = all",
        *s.pick(&[4, 4, 8]),
        *s.pick(&[80, 80, 75])
    );
    Kernel::new(name, &attribute, s)
}

/// Products of batches: of rank 3, or a matrix for each program.
pub fn batch(name: &str, seed: u64) -> Kernel {
    let mut s = Source::new(seed);
    let (ty, sums, how) = *s.pick(&[
        (DType::F16, DType::F32, ""),
        (DType::BF16, DType::F32, ""),
        (DType::I8, DType::I32, ""),
        (DType::F32, DType::F32, ".tf32()"),
        (DType::F32, DType::F32, ""),
    ]);
    let whole = s.once_in(2);
    let b = if whole { 1 } else { *s.pick(&[1, 2, 4]) };
    let (m, n, k) = (*s.pick(&[16, 32, 64]), *s.pick(&[8, 16, 32, 64]), *s.pick(&[32, 64]));
    let odd = s.rng.usize(1..40);
    s.size("batches", &[b, b + 1, 3]);
    s.size("m", &[m, m + 8, odd]);
    s.size("n", &[2 * n, n + 16, odd + 3]);
    s.size("k", &[k, k + 16, odd + 30]);
    let (across, transposed) = (s.once_in(3), s.once_in(2));
    view(&mut s, "a", ty, if across { &["batches", "k", "m"] } else { &["batches", "m", "k"] });
    view(&mut s, "b", ty, if transposed { &["batches", "n", "k"] } else { &["batches", "k", "n"] });
    s.line(format!("let (first, row, column) = (program_id(2) * {b}, program_id(0) * {m}, program_id(1) * {n});"));
    // The operand of the product, which may be stored transposed.
    let operand = |name: &str, transposed: bool, [at, to]: [&str; 2], [rows, columns]: [usize; 2]| {
        let (at, to, rows, columns) = if transposed { (to, at, columns, rows) } else { (at, to, rows, columns) };
        let tile = format!("{name}.tile([first, {at}, {to}], [{b}, {rows}, {columns}])");
        let tile = if whole { format!("reshape({tile}, [{rows}, {columns}])") } else { tile };
        if transposed { format!("trans({tile})") } else { tile }
    };
    let (left, right) = (operand("a", across, ["row", "d"], [m, k]), operand("b", transposed, ["d", "column"], [k, n]));
    let shape = if whole { vec![m, n] } else { vec![b, m, n] };
    s.line(format!("let mut acc = {};", sums.zeros(&shape)));
    let options = *s.pick(&["", "", ".stages(2)", ".unroll(2)"]);
    s.block(&format!("for d in range(0, k, {k}){options}"), |s| {
        s.line(format!("acc = dot({left}, {right}, acc){how};"))
    });
    let v = Value::new("acc", sums, &shape, 1 << 14);
    let v = match s.rng.u8(..3) {
        0 => {
            let axis = s.rng.usize(..shape.len());
            let v = s.hold(&v);
            Value::new(format!("({0} - max({0}, {axis}).expand({axis}))", v.text), sums, &shape, 1 << 15)
        }
        1 => Value { text: format!("maximum({}, {})", v.text, sums.literal(0)), ..v },
        _ => v,
    };
    let text = if whole { format!("reshape({}, [1, {m}, {n}])", v.text) } else { v.text };
    s.outputs.push(Array::view("c", sums, &["batches", "m", "n"], "n", 3));
    s.line(format!("c.store([first, row, column], {text});"));
    let attribute = format!(
        "tune(warps = [{}]), tune(warps = [4], arch = [{}]), grid = [cdiv(m, {m}), cdiv(n, {n}), cdiv(batches, {b})], emulate = all",
        *s.pick(&[4, 4, 8]),
        *s.pick(&[80, 80, 75])
    );
    Kernel::new(name, &attribute, s)
}
