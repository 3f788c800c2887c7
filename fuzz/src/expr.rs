//! Random expressions of tiles and scalars.

use crate::source::{INPUT, Source, Special};
use crate::value::{DType, FLOATS, INTEGERS, Value, Whole};

/// Elements of the largest tile.
pub const MAX_ELEMENTS: usize = 4096;

impl Source {
    pub fn ty(&mut self) -> DType {
        match self.rng.u8(..10) {
            0..4 => DType::F32,
            4..6 => *self.pick(&FLOATS),
            6..8 => DType::I32,
            _ => *self.pick(&INTEGERS),
        }
    }

    pub fn shape(&mut self) -> Vec<usize> {
        let extents: &[usize] =
            if self.once_in(4) { &[1, 3, 5, 6, 12, 24, 48, 100] } else { &[1, 2, 4, 8, 16, 32, 64, 128] };
        let rank = 1 + self.rng.usize(..3);
        let mut shape: Vec<usize> = (0..rank).map(|_| *self.pick(extents)).collect();
        if rank == 1 {
            shape[0] *= self.rng.usize(1..5);
        }
        while shape.iter().product::<usize>() > MAX_ELEMENTS {
            let widest = (0..rank).max_by_key(|&i| shape[i]).expect("it has some");
            shape[widest] = shape[widest].div_ceil(2);
        }
        shape
    }

    /// `arange` along an axis of a shape, with the rank of the shape.
    pub fn along(&self, shape: &[usize], axis: usize) -> String {
        let before = (0..axis).map(|_| ".expand(0)".to_string());
        let after = (axis + 1..shape.len()).map(|i| format!(".expand({})", i - axis));
        // Later axes first: their positions do not count the earlier axes, which are inserted after them.
        let expands: String = after.chain(before).collect();
        format!("arange({}){expands}", shape[axis])
    }

    /// The place of an element in a shape whose axes lie in a random order, the last one fastest.
    pub fn linear(&mut self, shape: &[usize]) -> String {
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        if self.once_in(3) {
            self.rng.shuffle(&mut axes);
        }
        let mut stride = 1;
        let mut terms = vec![];
        for &axis in axes.iter().rev() {
            let a = self.along(shape, axis);
            terms.push(if stride == 1 { a } else { format!("{a} * {stride}") });
            stride *= shape[axis];
        }
        self.rng.shuffle(&mut terms);
        terms.join(" + ")
    }

    /// A uniform `usize`.
    fn base(&mut self) -> String {
        let counters: Vec<Value> =
            self.seen.iter().filter(|v| v.ty == DType::U64 && v.shape.is_empty()).cloned().collect();
        match self.rng.u8(..4) {
            0 => self.rng.usize(..200).to_string(),
            1 if !counters.is_empty() => format!("{} * {}", self.pick(&counters).text.clone(), self.rng.usize(1..70)),
            2 => "n".into(),
            _ => format!("program_id(0) * {}", self.rng.usize(1..300)),
        }
    }

    /// Indices of a slice, now and then past its end.
    fn index(&mut self, shape: &[usize], depth: usize) -> String {
        let base = self.base();
        match self.rng.u8(..8) {
            0 if depth > 0 => {
                let v = self.tile(DType::I32, shape, depth - 1);
                format!("{}.to::<usize>() % {INPUT}", v.text)
            }
            1 => format!("{base} + {} - ({})", self.rng.usize(..300), self.linear(shape)),
            2 => format!("({base} + {}) % {}", self.linear(shape), self.rng.usize(1..INPUT)),
            3 => {
                let terms: Vec<String> =
                    (0..shape.len()).map(|i| format!("{} * {}", self.along(shape, i), self.rng.usize(..40))).collect();
                format!("{base} + {}", terms.join(" + "))
            }
            _ => format!("{base} + {}", self.linear(shape)),
        }
    }

    fn load(&mut self, ty: DType, shape: &[usize], depth: usize) -> Value {
        let x = self.input(ty);
        let i = self.index(shape, depth);
        let mut text = format!("load({}, {i})", x.name);
        match self.rng.u8(..6) {
            0 | 1 => text += &format!(".mask({})", self.condition(shape, depth.saturating_sub(1))),
            // Ends before the slice does, as a rule within a vector.
            2 => text += &format!(".mask({i} < {})", self.rng.usize(..INPUT / 4)),
            _ => {}
        }
        if self.once_in(3) {
            text += &format!(".other({})", ty.literal(self.rng.i64(1..=x.top as i64)));
        }
        text += *self.pick(&["", "", "", ".evict_first()", ".evict_last()"]);
        Value::new(text, ty, shape, x.top)
    }

    /// A tile of a view, that may reach over its edge.
    fn window(&mut self, ty: DType, shape: &[usize]) -> Value {
        // Views take many of the words that a kernel has.
        if self.inputs.len() + self.outputs.len() > 6 {
            return self.load(ty, shape, 0);
        }
        let w = self.input_view(ty, shape.len());
        let mut at: Vec<String> = vec!["0".into(); shape.len()];
        let axis = self.rng.usize(..shape.len());
        at[axis] = match self.rng.u8(..4) {
            0 => self.base(),
            1 => format!("program_id(0) * {}", shape[axis]),
            2 => self.rng.usize(..40).to_string(),
            _ => "0".into(),
        };
        let mut text = format!("{}.tile([{}], {shape:?})", w.name, at.join(", "));
        if self.once_in(4) {
            text += &format!(".other({})", ty.literal(self.rng.i64(1..=w.top as i64)));
        }
        Value::new(text, ty, shape, w.top)
    }

    /// A product of computed tiles.
    fn product(&mut self, ty: DType, shape: &[usize], depth: usize) -> Option<Value> {
        let &[m, n] = shape else { return None };
        if m < 16 || n < 8 || !m.is_power_of_two() || !n.is_power_of_two() {
            return None;
        }
        let (from, how) = match ty {
            DType::F32 => *self.pick(&[
                (DType::F16, ""),
                (DType::BF16, ""),
                (DType::F32, ""),
                (DType::F32, ".tf32()"),
                // Of an infinity the parts are no numbers.
                (DType::F32, if self.special == Special::All { "" } else { ".tf32x3()" }),
            ]),
            DType::I32 => (DType::I8, ""),
            _ => return None,
        };
        let k = if from == DType::I8 { 32 } else { *self.pick(&[16, 32]) };
        let (a, b) = (self.tile(from, &[m, k], depth), self.tile(from, &[k, n], depth));
        let (a, b) = (self.at_most(a, 100), self.at_most(b, 100));
        let acc = if self.once_in(2) { Value::new(ty.zeros(shape), ty, shape, 0) } else { self.tile(ty, shape, depth) };
        let top = acc.top as u128 + k as u128 * a.top as u128 * b.top as u128;
        Value::computed(format!("dot({}, {}, {}){how}", a.text, b.text, acc.text), ty, shape, top)
    }

    /// A `bool` for each element.
    pub fn condition(&mut self, shape: &[usize], depth: usize) -> String {
        match self.rng.u8(..6) {
            0 if depth > 0 => {
                let (a, b) = (self.condition(shape, depth - 1), self.condition(shape, depth - 1));
                format!("(({a}) {} ({b}))", *self.pick(&["&", "|", "^"]))
            }
            1 if depth > 0 => format!("!({})", self.condition(shape, depth - 1)),
            2 | 3 => {
                let axis = self.rng.usize(..shape.len());
                let i = self.along(shape, axis);
                let limit = if self.once_in(3) { "n".into() } else { self.rng.usize(..=shape[axis]).to_string() };
                let compared = format!("{i} {} {limit}", *self.pick(&["<", "<=", ">", ">=", "==", "!="]));
                // All elements of it.
                if shape.len() == 1 { format!("({compared})") } else { format!("({compared}).broadcast({shape:?})") }
            }
            _ => {
                let ty = self.ty();
                let (a, b) =
                    (self.tile(ty, shape, depth.saturating_sub(1)), self.operand(ty, shape, depth.saturating_sub(1)));
                format!("({} {} {})", a.text, *self.pick(&["<", "<=", ">", ">=", "==", "!="]), b.text)
            }
        }
    }

    /// A tile, a scalar or a literal that meets a tile.
    fn operand(&mut self, ty: DType, shape: &[usize], depth: usize) -> Value {
        let scalars: Vec<Value> =
            self.seen.iter().chain(&self.variables).filter(|v| v.ty == ty && v.shape.is_empty()).cloned().collect();
        match self.rng.u8(..4) {
            0 => {
                let v = self.rng.i64(1..5);
                Value::new(ty.literal(v), ty, shape, v as u64)
            }
            1 if !scalars.is_empty() => Value { shape: shape.into(), ..self.pick(&scalars).clone() },
            2 if shape.len() > 1 => {
                // The operand that is broadcast along an axis.
                let axis = self.rng.usize(..shape.len());
                let mut less = shape.to_vec();
                less.remove(axis);
                let v = self.tile(ty, &less, depth.saturating_sub(1));
                Value::new(format!("({}).expand({axis})", v.text), ty, shape, v.top)
            }
            _ => self.tile(ty, shape, depth),
        }
    }

    /// The same numbers, none above `top`.
    pub fn at_most(&mut self, v: Value, top: u64) -> Value {
        if v.top <= top {
            return v;
        }
        let text = match v.ty.has_sign() {
            true => format!("clamp({}, {}, {})", v.text, v.ty.literal(-(top as i64)), v.ty.literal(top as i64)),
            false => format!("minimum({}, {})", v.text, v.ty.literal(top as i64)),
        };
        Value::new(text, v.ty, &v.shape, top)
    }

    /// A tile of another type, converted.
    pub fn converted(&mut self, v: Value, ty: DType) -> Value {
        let v = if ty.is_float() || self.once_in(2) { self.at_most(v, ty.exact().min(1000)) } else { v };
        // An integer that does not fit wraps or saturates.
        let top = if v.top <= ty.exact() && (ty.has_sign() || !v.ty.has_sign()) { v.top } else { ty.exact() };
        Value::new(self.convert(&v, ty), ty, &v.shape, top)
    }

    /// A tile of a type and a shape.
    pub fn tile(&mut self, ty: DType, shape: &[usize], depth: usize) -> Value {
        let known: Vec<Value> =
            self.seen.iter().chain(&self.variables).filter(|v| v.ty == ty && v.shape == shape).cloned().collect();
        if !known.is_empty() && self.once_in(3) {
            return self.pick(&known).clone();
        }
        if depth == 0 {
            return if self.once_in(4) { self.window(ty, shape) } else { self.load(ty, shape, 0) };
        }
        for _ in 0..8 {
            if let Some(v) = self.computed(ty, shape, depth - 1) {
                return v;
            }
        }
        self.load(ty, shape, depth)
    }

    fn computed(&mut self, ty: DType, shape: &[usize], depth: usize) -> Option<Value> {
        let rank = shape.len();
        match self.rng.u8(..22) {
            0..3 => {
                let (a, b) = (self.tile(ty, shape, depth), self.operand(ty, shape, depth));
                let op = *self.pick(&["+", "-", "*"]);
                let top = if op == "*" { a.top as u128 * b.top as u128 } else { a.top as u128 + b.top as u128 };
                // Below zero unsigned integers wrap.
                let top = if op == "-" && !ty.has_sign() { ty.exact() as u128 } else { top };
                Value::computed(format!("({} {op} {})", a.text, b.text), ty, shape, top)
            }
            3 => {
                let (a, b) = (self.tile(ty, shape, depth), self.operand(ty, shape, depth));
                let f = *self.pick(&["maximum", "minimum"]);
                Some(Value::new(format!("{f}({}, {})", a.text, b.text), ty, shape, a.top.max(b.top)))
            }
            4 | 5 => {
                let c = self.condition(shape, depth);
                let (a, b) = (self.tile(ty, shape, depth), self.operand(ty, shape, depth));
                Some(Value::new(format!("where_({c}, {}, {})", a.text, b.text), ty, shape, a.top.max(b.top)))
            }
            6 | 7 => {
                let from = self.ty();
                let v = self.tile(from, shape, depth);
                Some(self.converted(v, ty))
            }
            8 if ty.has_sign() => {
                let v = self.tile(ty, shape, depth);
                let text = if self.once_in(2) { format!("(-{})", v.text) } else { format!("abs({})", v.text) };
                Some(Value::new(text, ty, shape, v.top))
            }
            9 if !ty.is_float() => {
                let (a, b) = (self.tile(ty, shape, depth), self.operand(ty, shape, depth));
                let op = *self.pick(&["&", "|", "^", "/", "%", "<<", ">>"]);
                Some(Value::new(format!("({} {op} {})", a.text, b.text), ty, shape, ty.exact()))
            }
            10 if rank >= 2 => {
                let mut transposed = shape.to_vec();
                transposed.swap(rank - 1, rank - 2);
                let v = self.tile(ty, &transposed, depth);
                Some(Value::new(format!("trans({})", v.text), ty, shape, v.top))
            }
            11 if rank == 3 => {
                let mut order = [0, 1, 2];
                self.rng.shuffle(&mut order);
                let mut from = vec![0; 3];
                order.iter().zip(shape).for_each(|(&o, &e)| from[o] = e);
                let v = self.tile(ty, &from, depth);
                Some(Value::new(format!("permute({}, {order:?})", v.text), ty, shape, v.top))
            }
            12 if shape.iter().all(|e| e.is_power_of_two()) => {
                // The same elements in other extents.
                let all: usize = shape.iter().product();
                let first = 1 << self.rng.usize(..=all.ilog2() as usize);
                let from = if self.once_in(2) { vec![first, all / first] } else { vec![all] };
                let v = self.tile(ty, &from, depth);
                Some(Value::new(format!("reshape({}, {shape:?})", v.text), ty, shape, v.top))
            }
            13 => {
                // From one element along an axis to all of it.
                let axis = self.rng.usize(..rank);
                let mut from = shape.to_vec();
                from[axis] = 1;
                let v = self.tile(ty, &from, depth);
                Some(Value::new(format!("({}).broadcast({shape:?})", v.text), ty, shape, v.top))
            }
            14 if rank < 3 => self.reduced(ty, shape, depth),
            15 => Some(self.load(ty, shape, depth)),
            16 => Some(self.window(ty, shape)),
            17 => self.product(ty, shape, depth),
            21 => self.assembly(ty, shape, depth),
            20 if rank == 1 && self.once_in(2) => self.cumcount(ty, shape, depth),
            20 if rank == 1 => self.histogram(ty, shape, depth),
            18 | 19 if self.helpers.len() < 5 => self.helped(ty, shape, depth),
            _ => None,
        }
    }

    /// The result of a helper of tiles, of a slice, or of another function.
    fn helped(&mut self, ty: DType, shape: &[usize], depth: usize) -> Option<Value> {
        let name = self.name("help");
        let t = ty.name();
        match self.rng.u8(..4) {
            0 if shape.len() == 1 => {
                let (x, base) = (self.input(ty), self.base());
                self.helpers.push(format!(
                    "    fn {name}<T: Element, const N: usize>(x: &[T], at: usize) -> Tile<T> {{ load(x, at + arange(N)) }}"
                ));
                let text = format!("{name}::<{t}, {}>({}, {base})", shape[0], x.name);
                Some(Value::new(text, ty, shape, x.top))
            }
            1 => {
                let (a, b) = (self.tile(ty, shape, depth), self.tile(ty, shape, depth));
                let inner = self.name("help");
                let top = 2 * (a.top as u128 + b.top as u128);
                let v = Value::computed(format!("{name}::<{t}>({}, {})", a.text, b.text), ty, shape, top)?;
                self.helpers.push(format!("    fn {inner}<T: Num>(a: Tile<T>) -> Tile<T> {{ a + a }}"));
                self.helpers.push(format!(
                    "    fn {name}<T: Num>(a: Tile<T>, b: Tile<T>) -> Tile<T> {{\n        let twice = {inner}::<T>(a);\n        maximum(twice, b) + b\n    }}"
                ));
                Some(v)
            }
            2 => {
                let v = self.tile(ty, shape, depth);
                self.helpers.push(format!(
                    "    fn {name}<T: Num>(x: Tile<T>, f: impl Fn(Tile<T>) -> Tile<T>) -> Tile<T> {{ f(f(x)) }}"
                ));
                let top = v.top as u128 + 2;
                Value::computed(format!("{name}::<{t}>({}, |x| x + {})", v.text, ty.literal(1)), ty, shape, top)
            }
            _ => {
                let (v, limit) = (self.tile(ty, shape, depth), self.rng.u8(..9));
                self.helpers.push(format!(
                    "    const {}: usize = {limit};\n    fn {name}(x: Tile<{t}>, n: usize) -> Tile<{t}> {{\n        if n > {} {{ minimum(x, {}) }} else {{ x }}\n    }}",
                    name.to_uppercase(),
                    name.to_uppercase(),
                    ty.literal(3)
                ));
                Some(Value::new(format!("{name}({}, n)", v.text), ty, shape, v.top.max(3)))
            }
        }
    }

    /// A reduction along an axis, of a tile that has one more.
    fn reduced(&mut self, ty: DType, shape: &[usize], depth: usize) -> Option<Value> {
        let extent = *self.pick(&[1, 2, 4, 8, 32, 3, 7, 20, 128]);
        if shape.iter().product::<usize>() * extent > MAX_ELEMENTS {
            return None;
        }
        let axis = self.rng.usize(..=shape.len());
        let mut from = shape.to_vec();
        from.insert(axis, extent);
        let v = self.tile(ty, &from, depth);
        match self.rng.u8(..6) {
            0 | 1 => Value::computed(format!("sum({}, {axis})", v.text), ty, shape, v.top as u128 * extent as u128),
            2 if extent.is_power_of_two() => {
                // A comparison with a NaN depends on the order.
                let ordered = if self.special == Special::Nothing { "where_(a < b, b, a)" } else { "maximum(b, a)" };
                let f = *self.pick(&["maximum(a, b)", "minimum(a, b)", ordered]);
                Some(Value::new(format!("reduce({}, {axis}, |a, b| {f})", v.text), ty, shape, v.top))
            }
            3 => {
                let f = *self.pick(&["argmax", "argmin"]);
                Some(Value::new(ty.of(&format!("{f}({}, {axis})", v.text)), ty, shape, extent as u64))
            }
            _ => Some(Value::new(format!("{}({}, {axis})", *self.pick(&["max", "min"]), v.text), ty, shape, v.top)),
        }
    }

    /// An instruction of two operands.
    fn assembly(&mut self, ty: DType, shape: &[usize], depth: usize) -> Option<Value> {
        let instruction = match (ty, ty.size()) {
            (DType::F16 | DType::F32 | DType::F64, _) => format!("add.{}", ty.name()),
            (DType::BF16, _) | (_, 1) => return None,
            (_, bytes) => format!("xor.b{}", 8 * bytes),
        };
        let (a, b) = (self.tile(ty, shape, depth), self.tile(ty, shape, depth));
        let (sign, top) = if ty.is_float() { ("+", a.top as u128 + b.top as u128) } else { ("^", ty.exact() as u128) };
        let text =
            format!("asm(\"{instruction} {{0}}, {{1}}, {{2}};\", ({}, {}), |(a, b)| a {sign} b)", a.text, b.text);
        Value::computed(text, ty, shape, top)
    }

    /// How many elements each bin has, or the sums of their weights.
    fn histogram(&mut self, ty: DType, shape: &[usize], depth: usize) -> Option<Value> {
        let (from, n) = (*self.pick(&INTEGERS), *self.pick(&[1, 7, 32, 100, 256, 1024]));
        let v = self.tile(from, &[n], depth);
        let mut text = format!("histogram({}, {})", v.text, shape[0]);
        if self.once_in(3) {
            text += &format!(".mask({})", self.condition(&[n], depth));
        }
        if (ty.size() >= 4 || ty.is_float()) && self.once_in(2) {
            let w = self.tile(ty, &[n], depth);
            let text = format!("{text}.weights({})", w.text);
            return Value::computed(text, ty, shape, w.top as u128 * n as u128);
        }
        Value::computed(ty.of(&text), ty, shape, n as u128)
    }

    /// The number of each element among the equal elements.
    fn cumcount(&mut self, ty: DType, shape: &[usize], depth: usize) -> Option<Value> {
        let (from, bins) = (*self.pick(&INTEGERS), *self.pick(&[1, 7, 32, 100, 256]));
        let mut text = format!("cumcount({}, {bins})", self.tile(from, shape, depth).text);
        if self.once_in(3) {
            text += &format!(".mask({})", self.condition(shape, depth));
        }
        Value::computed(ty.of(&text), ty, shape, shape[0] as u128)
    }

    /// One number of all of a tile.
    pub fn scalar(&mut self, ty: DType, depth: usize) -> Option<Value> {
        let shape = self.shape();
        let v = self.tile(ty, &shape, depth);
        let all: usize = shape.iter().product();
        match self.rng.u8(..4) {
            0 | 1 => Value::computed(format!("sum({})", v.text), ty, &[], v.top as u128 * all as u128),
            2 => Some(Value::new(format!("max({})", v.text), ty, &[], v.top)),
            _ => Some(Value::new(format!("min({})", v.text), ty, &[], v.top)),
        }
    }
}
