//! Structs, tuples and arrays of tiles, which leave a variable for each part; element types as values.

use crate::parameters::program;

const STATE: &str = "
    struct State { best: Tile<f32>, total: Tile<f32>, seen: usize }
    fn merged(s: State, v: Tile<f32>) -> State {
        State { best: maximum(s.best, v), total: s.total + v, seen: s.seen + 1 }
    }
    fn finish(s: State) -> Tile<f32> { s.total / s.best }";

#[test]
fn a_struct_is_its_fields() {
    let body = "
        let mut s = State { best: full([4], f32::NEG_INFINITY), total: zeros::<f32>([4]), seen: 0 };
        for i in 0..n {
            s = merged(s, load(x, i * 4 + arange(4)));
            s.seen += 1;
        }
        let State { seen, .. } = s;
        store(y, arange(4), finish(s));
        store(y, 4, seen as f32);";
    let plain = "
        let mut best = full([4], f32::NEG_INFINITY);
        let mut total = zeros::<f32>([4]);
        let mut seen = 0usize;
        for i in 0..n {
            let v = load(x, i * 4 + arange(4));
            (best, total, seen) = (maximum(best, v), total + v, seen + 1);
            seen += 1;
        }
        store(y, arange(4), total / best);
        store(y, 4, seen as f32);";
    let (found, wanted) = (program(STATE, body), program("", plain));
    // The names of variables differ, and the order in which the fields are read.
    let count = |text: &str, op: &str| text.matches(op).count();
    for op in ["var ", " = div", " = max", " = add", "store", "load", "for "] {
        assert_eq!(count(&found, op), count(&wanted, op), "{op}\n{found}\n{wanted}");
    }
    assert!(found.contains("s.best") && found.contains("s.seen"), "{found}");
}

#[test]
fn parts_of_variables_are_variables() {
    let body = "
        let mut t = (a, [zeros::<f32>([4]); 3]);
        for i in static_range(0..3) { t.1[i] += load(x, i * 4 + arange(4)); }
        t.0 = 2.0 * t.0;
        store(y, arange(4), t.1[0] + t.1[2] * t.0);";
    let plain = "
        let mut b = a; let mut p = zeros::<f32>([4]); let mut q = zeros::<f32>([4]); let mut r = zeros::<f32>([4]);
        p += load(x, 0 + arange(4)); q += load(x, 4 + arange(4)); r += load(x, 8 + arange(4));
        b = 2.0 * b;
        store(y, arange(4), p + r * b);";
    let (found, wanted) = (program("", body), program("", plain));
    for op in ["var ", " = mul", " = load", " = fma", "store"] {
        assert_eq!(found.matches(op).count(), wanted.matches(op).count(), "{op}\n{found}\n{wanted}");
    }
}

/// Branches that a condition chooses when the kernel runs give structs, arrays and tuples.
#[test]
fn a_branch_gives_a_struct() {
    let items = "struct Pair<T> { low: T, high: Tile<f32> }
        fn of(n: usize, v: f32) -> Pair<usize> { if n > 1 { return Pair { low: n, high: full([4], v) }; } Pair { low: 0, high: zeros::<f32>([4]) } }";
    let text = program(items, "let p = of(n, a); store(y, p.low + arange(4), p.high);");
    let plain = "let (low, high) = if n > 1 { (n, full([4], a)) } else { (0, zeros::<f32>([4])) }; store(y, low + arange(4), high);";
    assert_eq!(text, program("", plain));
}

#[test]
fn an_element_type_is_a_value() {
    let named = "store(y, 0, load(h, 0).to::<f32>()); store(z, arange(4), zeros::<f32>([4])); store(z, 9, bitcast::<f32>(n as u32));";
    let of_values = "store(y, 0, load(h, 0).to(y.dtype())); store(z, arange(4), zeros([4], a.dtype())); store(z, 9, bitcast(n as u32, dtype::<f32>()));";
    assert_eq!(program("", of_values), program("", named));
    let chosen =
        "if h.dtype() == dtype::<f16>() && x.dtype() != h.dtype() { store(y, 0, a); } else { static_assert!(false); }";
    assert_eq!(program("", chosen), program("", "store(y, 0, a);"));
    // A helper's type parameter follows from arguments, also from those in tuples.
    let items = "fn put<T>(y: &mut [T], v: (Tile<T>, f32)) { store(y, arange(4), v.0 * v.1.to::<T>()); }
        fn as_of<T, U>(v: Tile<T>, of: &[U]) -> Tile<U> { v.to::<U>() }";
    let inferred = "put(y, (as_of(load(h, arange(4)), x), a));";
    let plain = "let v = load(h, arange(4)).to::<f32>(); store(y, arange(4), v * a);";
    assert_eq!(program(items, inferred), program("", plain));
}
