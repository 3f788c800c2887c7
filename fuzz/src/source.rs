//! The text of a kernel while it is made: lines, names, parameters and the scope.

use crate::value::{DType, Value, Whole};
use fastrand::Rng;

/// Elements of an input that no matrix lies in.
pub const INPUT: usize = 1999;

/// An array that a kernel takes.
#[derive(Clone, Debug)]
pub struct Array {
    pub name: String,
    pub ty: DType,
    pub kind: Kind,
    /// Before the launch it holds whole numbers up to this.
    pub top: u64,
    pub len: Len,
    /// The output whose memory it is.
    pub alias_of: Option<String>,
}

/// Elements that the caller allocates.
#[derive(Clone, Debug)]
pub enum Len {
    Number(usize),
    /// Rows, their stride and columns of a matrix, by the sizes of a run.
    Matrix([String; 3]),
}

impl Len {
    /// As Rust.
    pub fn text(&self) -> String {
        match self {
            Len::Number(n) => n.to_string(),
            Len::Matrix([rows, stride, columns]) => format!("extent({rows}, {stride}, {columns})"),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Slice,
    Pointer,
    /// A number that the kernel casts to a pointer.
    Address,
    /// Extents and strides, in elements; numbers or the names of sizes of a run.
    View {
        dims: Vec<String>,
        strides: Vec<String>,
    },
}

impl Array {
    /// A view of two or three dimensions, by the sizes of a run, its rows so many elements apart.
    pub fn view(name: &str, ty: DType, dims: &[&str], row: &str, top: u64) -> Array {
        let (strides, rows) = match dims {
            [rows, _] => (vec![row.to_string(), "1".into()], rows.to_string()),
            [batches, rows, _] => {
                (vec![format!("({rows}) * ({row})"), row.to_string(), "1".into()], format!("{batches} * {rows}"))
            }
            _ => unreachable!("{name}: {dims:?}"),
        };
        let len = Len::Matrix([rows, row.into(), dims[dims.len() - 1].into()]);
        Array {
            name: name.into(),
            ty,
            kind: Kind::View { dims: dims.iter().map(|d| d.to_string()).collect(), strides },
            top,
            len,
            alias_of: None,
        }
    }

    /// A slice of so many elements.
    pub fn slice(name: impl Into<String>, ty: DType, top: u64, len: usize) -> Array {
        Array { name: name.into(), ty, kind: Kind::Slice, top, len: Len::Number(len), alias_of: None }
    }

    fn declared(&self, mutable: bool) -> String {
        let Array { name, kind, .. } = self;
        let ty = self.ty.name();
        match (kind, mutable) {
            (Kind::Slice, false) => format!("{name}: &[{ty}]"),
            (Kind::Slice, true) => format!("{name}: &mut [{ty}]"),
            (Kind::Pointer, false) => format!("{name}: *const {ty}"),
            (Kind::Pointer, true) => format!("{name}: *mut {ty}"),
            (Kind::Address, _) => format!("{name}: u64"),
            (Kind::View { dims, .. }, false) => format!("{name}: View<{ty}, {}>", dims.len()),
            (Kind::View { dims, .. }, true) => format!("mut {name}: ViewMut<{ty}, {}>", dims.len()),
        }
    }
}

/// The special values of floats, beside whole numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Special {
    Nothing,
    Nan,
    /// NaN, infinities and the zero with a sign.
    All,
}

pub struct Source {
    pub rng: Rng,
    pub special: Special,
    /// Functions that the kernel calls.
    pub helpers: Vec<String>,
    body: String,
    depth: usize,
    names: usize,
    pub inputs: Vec<Array>,
    pub outputs: Vec<Array>,
    /// Scalars: a name and the values of each run.
    pub sizes: Vec<(String, Vec<usize>)>,
    /// Values that may be read, and are not assigned.
    pub seen: Vec<Value>,
    /// Variables that may be read and assigned.
    pub variables: Vec<Value>,
}

impl Source {
    pub fn new(seed: u64) -> Source {
        let mut rng = Rng::with_seed(seed);
        let special = match rng.u8(..6) {
            0 => Special::Nan,
            1 => Special::All,
            _ => Special::Nothing,
        };
        Source {
            rng,
            special,
            helpers: vec![],
            body: String::new(),
            depth: 1,
            names: 0,
            inputs: vec![],
            outputs: vec![],
            sizes: vec![],
            seen: vec![],
            variables: vec![],
        }
    }

    pub fn line(&mut self, text: impl AsRef<str>) {
        self.body += &"    ".repeat(self.depth);
        self.body += text.as_ref();
        self.body.push('\n');
    }

    /// `head { .. }`, whose declarations end with it.
    pub fn block(&mut self, head: &str, of: impl FnOnce(&mut Source)) {
        self.line(format!("{head} {{"));
        let (seen, variables) = (self.seen.len(), self.variables.len());
        self.depth += 1;
        of(self);
        self.depth -= 1;
        self.seen.truncate(seen);
        self.variables.truncate(variables);
        self.line("}");
    }

    pub fn name(&mut self, of: &str) -> String {
        self.names += 1;
        format!("{of}{}", self.names)
    }

    /// `let x = value;`
    pub fn hold(&mut self, v: &Value) -> Value {
        let name = self.name("v");
        self.line(format!("let {name} = {};", v.text));
        let v = Value { text: name, ..v.clone() };
        self.seen.push(v.clone());
        v
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.rng.usize(..of.len())]
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.rng.usize(..n) == 0
    }

    /// A slice to read of a type: one of them, or one more.
    pub fn input(&mut self, ty: DType) -> Array {
        // A program must not read memory that another program writes.
        let found = self.inputs.iter().find(|a| a.ty == ty && a.kind == Kind::Slice && a.alias_of.is_none());
        if let Some(a) = found {
            return a.clone();
        }
        let a = Array::slice(self.name("x"), ty, ty.input(), INPUT);
        self.inputs.push(a.clone());
        a
    }

    /// A view to read of a type and a rank: one of them, or one more.
    pub fn input_view(&mut self, ty: DType, rank: usize) -> Array {
        let is_one = |a: &&Array| a.ty == ty && matches!(&a.kind, Kind::View { dims, .. } if dims.len() == rank);
        if let Some(a) = self.inputs.iter().find(is_one) {
            return a.clone();
        }
        let dims: Vec<usize> = (0..rank).map(|_| *self.pick(&[1, 8, 16, 31, 40, 64])).collect();
        let kind = self.contiguous(&dims);
        let name = self.name("w");
        let a = Array { kind, ..Array::slice(name, ty, ty.input(), 2 * (64 * 64 * 64 + 64 * 64)) };
        self.inputs.push(a.clone());
        a
    }

    /// A view of such extents, row-major, its rows now and then further apart than they are long.
    pub fn contiguous(&mut self, dims: &[usize]) -> Kind {
        let mut stride = 1;
        let mut strides = vec![];
        for (i, d) in dims.iter().enumerate().rev() {
            strides.insert(0, stride.to_string());
            stride *= d;
            if i + 1 == dims.len() && self.once_in(3) {
                stride += *self.pick(&[8, 16, 3]);
            }
        }
        Kind::View { dims: dims.iter().map(|d| d.to_string()).collect(), strides }
    }

    pub fn size(&mut self, name: &str, values: &[usize]) {
        self.sizes.push((name.into(), values.into()));
    }

    /// The value as an expression of another type. If the type has no NaN or infinity, a float that may be one of these
    /// becomes a number first, within the bound of its numbers.
    pub fn convert(&self, v: &Value, ty: DType) -> String {
        let has_all = ty.is_float() && !ty.is_float8();
        if self.special != Special::Nothing && v.ty.is_float() && !v.ty.is_float8() && !has_all {
            let top = v.top as i64;
            return ty.of(&format!("clamp({}, {}, {})", v.text, v.ty.literal(-top), v.ty.literal(top)));
        }
        ty.of(&v.text)
    }

    /// The function under its attribute; with helpers in a module.
    pub fn function(&self, name: &str, attribute: &str) -> String {
        let arrays = self.inputs.iter().map(|a| a.declared(false)).chain(self.outputs.iter().map(|a| a.declared(true)));
        let params: Vec<String> = arrays.chain(self.sizes.iter().map(|(n, _)| format!("{n}: usize"))).collect();
        let is_unsafe =
            self.inputs.iter().chain(&self.outputs).any(|a| matches!(a.kind, Kind::Pointer | Kind::Address));
        let is_unsafe = is_unsafe || self.body.contains("asm(");
        let head = if is_unsafe { "unsafe fn" } else { "fn" };
        let kernel =
            format!("#[tile_kernel({attribute})]\npub {head} {name}({}) {{\n{}}}\n", params.join(", "), self.body);
        match self.helpers.is_empty() {
            true => kernel,
            false => format!(
                "#[tile_module]\npub mod of_{name} {{\n{}\n{kernel}}}\nuse of_{name}::{name};\n",
                self.helpers.join("\n")
            ),
        }
    }
}
