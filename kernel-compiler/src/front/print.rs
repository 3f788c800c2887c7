//! The syntax tree as text, in the language's own spelling: it shows how the parser has read a kernel.

use crate::dtype::DType;
use crate::front::ast::{
    Arch, ArmPattern, Block, Config, Expr, ExprKind, Generic, Kernel, ParamKind, Pattern, Said, Stmt,
};
use crate::front::operators::{BinaryOp, UnaryOp};
use proc_macro2::Ident;
use quote::ToTokens;
use std::fmt::Write;

/// How strongly an expression holds its operands together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Assignments and closures.
    Any,
    Range,
    Or,
    And,
    Compare,
    BitOr,
    BitXor,
    BitAnd,
    Shift,
    Sum,
    Product,
    Cast,
    Unary,
    /// The receiver of a method.
    Postfix,
}

impl Level {
    fn of(e: &Expr) -> Level {
        match &e.kind {
            ExprKind::Assign(..) | ExprKind::AssignOp(..) | ExprKind::Closure(_) => Level::Any,
            ExprKind::Range { .. } => Level::Range,
            ExprKind::Or(..) => Level::Or,
            ExprKind::And(..) => Level::And,
            ExprKind::Binary(op, ..) => match op {
                op if op.is_compare() => Level::Compare,
                BinaryOp::Or => Level::BitOr,
                BinaryOp::Xor => Level::BitXor,
                BinaryOp::And => Level::BitAnd,
                BinaryOp::Shl | BinaryOp::Shr => Level::Shift,
                BinaryOp::Add | BinaryOp::Sub => Level::Sum,
                _ => Level::Product,
            },
            ExprKind::Cast(..) | ExprKind::ToPointer(..) => Level::Cast,
            ExprKind::Unary(..) => Level::Unary,
            ExprKind::Int(n, _) if *n < 0 => Level::Unary,
            ExprKind::Float(x, _) if x.is_sign_negative() => Level::Unary,
            ExprKind::If { .. } | ExprKind::Match { .. } | ExprKind::Block(_) => Level::Any,
            ExprKind::For { .. } | ExprKind::While { .. } | ExprKind::Loop { .. } => Level::Any,
            _ => Level::Postfix,
        }
    }
}

/// An attribute with the kernel under it.
pub fn kernel(k: &Kernel) -> String {
    // A backward kernel is derived from the text of the forward kernel.
    let (k, is_backward) = k.adjoint.as_ref().map_or((k, false), |a| (&a.forward, true));
    let mut out = String::from("#[tile_kernel(\n");
    let mut line = |text: String| writeln!(out, "    {text},").expect("a string");
    let function = &k.item.sig.ident;
    let given = given(k);
    if k.name != *function || !given.is_empty() {
        line(format!("kernel({})", [&[k.name.to_string()][..], &given].concat().join(", ")));
    }
    if !k.type_params.is_empty() {
        let list = |types: &[DType]| types.iter().map(|t| t.name()).collect::<Vec<_>>().join(", ");
        let each = k.type_params.iter().map(|p| format!("{} = [{}]", p.name, list(&p.types)));
        line(format!("types({})", each.collect::<Vec<_>>().join(", ")));
    }
    k.configs.iter().for_each(|c| line(format!("tune({})", config(c))));
    line(format!("grid = [{}]", list(&k.grid, 1)));
    if !k.requires.is_empty() {
        line(format!("requires = [{}]", list(&k.requires, 1)));
    }
    if let Some(names) = &k.pdl {
        line(format!("pdl = [{}]", names.iter().map(|n| n.to_string()).collect::<Vec<_>>().join(", ")));
    }
    k.aliases.iter().for_each(|[x, y]| line(format!("alias({x}, {y})")));
    if k.deterministic {
        line("deterministic".into());
    }
    if is_backward {
        line("backward".into());
    }
    if k.emulate_all {
        line("emulate = all".into());
    }
    let facade = path(&k.facade);
    if facade != "::tilewright" {
        line(format!("crate = {facade}"));
    }
    let generic = |p: &syn::GenericParam| match p {
        syn::GenericParam::Const(c) => {
            let default = k.consts.iter().find(|p| p.name == c.ident).and_then(|p| p.default.as_ref());
            let default = default.map(|v| format!(" = {}", constant(&v.expr(k.name.span().into()))));
            format!("const {}: {}{}", c.ident, c.ty.to_token_stream(), default.unwrap_or_default())
        }
        syn::GenericParam::Type(t) => t.ident.to_string(),
        syn::GenericParam::Lifetime(l) => l.to_token_stream().to_string(),
    };
    let generics = k.item.sig.generics.params.iter().map(generic).collect::<Vec<_>>().join(", ");
    let generics = if generics.is_empty() { generics } else { format!("<{generics}>") };
    let params = k.params.iter().map(|p| {
        let (name, elem) = (&p.name, &p.elem.name);
        let ty = match p.kind {
            ParamKind::Slice { mutable: false } => format!("&[{elem}]"),
            ParamKind::Slice { mutable: true } => format!("&mut [{elem}]"),
            ParamKind::View { rank, mutable: false } => format!("View<{elem}, {rank}>"),
            ParamKind::View { rank, mutable: true } => format!("ViewMut<{elem}, {rank}>"),
            ParamKind::Ptr { mutable: false } => format!("*const {elem}"),
            ParamKind::Ptr { mutable: true } => format!("*mut {elem}"),
            ParamKind::Scalar => elem.clone(),
        };
        match (p.kind, p.is_optional) {
            (_, true) => format!("{name}: Option<{ty}>"),
            (ParamKind::View { mutable: true, .. }, false) => format!("mut {name}: {ty}"),
            (_, false) => format!("{name}: {ty}"),
        }
    });
    let params = params.collect::<Vec<_>>().join(", ");
    let safety = if k.is_unsafe { "unsafe " } else { "" };
    writeln!(out, ")]\n{safety}fn {function}{generics}({params}) {}", block(&k.body, 0)).expect("a string");
    out
}

/// The parameters of the function that `kernel(..)` gives, by their names.
fn given(k: &Kernel) -> Vec<String> {
    let mut out = vec![];
    for p in &k.item.sig.generics.params {
        match p {
            syn::GenericParam::Type(t) if !k.type_params.iter().any(|p| p.name == t.ident) => {
                out.extend(k.given.types.iter().find(|(n, _)| t.ident == n).map(|(n, to)| format!("{n} = {}", to.name)))
            }
            syn::GenericParam::Const(c) if !k.consts.iter().any(|p| p.name == c.ident) => {
                let value = k.given.consts.iter().find(|(n, _)| c.ident == n);
                out.extend(value.map(|(n, v)| format!("{n} = {}", constant(&v.expr(k.name.span().into())))));
            }
            _ => {}
        }
    }
    out
}

/// A constant as an attribute has it, without the suffix of its type.
fn constant(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Int(n, _) => n.to_string(),
        _ => expr(e, Level::Any, 0),
    }
}

fn config(c: &Config) -> String {
    let consts = c.consts.iter().map(|(n, v)| format!("{n} = [{v}]"));
    let warps = if c.arch == Arch::Cpu { 0 } else { c.warps };
    let settings = [("warps", warps, 0), ("blocks_per_sm", c.blocks_per_sm, 0), ("stages", c.stages, 0)];
    let settings = settings.into_iter().chain([("ctas", c.ctas, 1)]);
    let settings = settings.filter(|(_, n, unset)| n != unset).map(|(name, n, _)| format!("{name} = [{n}]"));
    let arch = c.arch.name().map(|arch| format!("arch = [{arch}]"));
    consts.chain(settings).chain(arch).collect::<Vec<_>>().join(", ")
}

fn path(p: &syn::Path) -> String {
    let segments = p.segments.iter().map(|s| s.ident.to_string()).collect::<Vec<_>>().join("::");
    format!("{}{segments}", if p.leading_colon.is_some() { "::" } else { "" })
}

/// A longer value of a block is on a line of its own.
const MAX_VALUE: usize = 40;

/// A block, whose lines are `depth + 1` steps in.
pub fn block(b: &Block, depth: usize) -> String {
    if b.stmts.is_empty() && b.value.is_none() {
        return "{}".into();
    }
    if let ([], Some(v)) = (&b.stmts[..], &b.value) {
        let value = expr(v, Level::Any, depth);
        if value.len() <= MAX_VALUE && !value.contains('\n') {
            return format!("{{ {value} }}");
        }
    }
    let mut out = String::from("{\n");
    let mut line = |text: String| writeln!(out, "{}{text}", "    ".repeat(depth + 1)).expect("a string");
    for s in &b.stmts {
        line(stmt(s, depth + 1));
    }
    if let Some(v) = &b.value {
        line(expr(v, Level::Any, depth + 1));
    }
    out + &"    ".repeat(depth) + "}"
}

fn stmt(s: &Stmt, depth: usize) -> String {
    match s {
        Stmt::Let { pattern: p, ty, init, .. } => {
            let init = init.as_ref().map(|e| format!(" = {}", expr(e, Level::Any, depth))).unwrap_or_default();
            format!("let {}{}{init};", pattern(p), annotation(ty))
        }
        Stmt::Const { name, ty, value } => {
            format!("const {name}{} = {};", annotation(ty), expr(value, Level::Any, depth))
        }
        Stmt::Expr(e) => {
            let ends_itself = matches!(
                e.kind,
                ExprKind::If { .. }
                    | ExprKind::Match { .. }
                    | ExprKind::Block(_)
                    | ExprKind::For { .. }
                    | ExprKind::While { .. }
                    | ExprKind::Loop { .. }
            );
            format!("{}{}", expr(e, Level::Any, depth), if ends_itself { "" } else { ";" })
        }
        Stmt::Watch { names, .. } => format!("// breakpoint: {}", names.join(", ")),
    }
}

fn annotation(ty: &Said) -> String {
    match ty {
        Said::Nothing => String::new(),
        ty => format!(": {}", said(ty)),
    }
}

fn said(ty: &Said) -> String {
    match ty {
        Said::Nothing => "_".into(),
        Said::Elem(t) => t.name.clone(),
        Said::Tuple(list) => tuple(list.iter().map(said).collect()),
        Said::Option(of) => format!("Option<{}>", said(of)),
        Said::Array(of) => format!("[{}; _]", said(of)),
    }
}

fn tuple(list: Vec<String>) -> String {
    let comma = if list.len() == 1 { "," } else { "" };
    format!("({}{comma})", list.join(", "))
}

fn pattern(p: &Pattern) -> String {
    match p {
        Pattern::Name { name, mutable } => format!("{}{name}", if *mutable { "mut " } else { "" }),
        Pattern::Tuple(list) => tuple(list.iter().map(pattern).collect()),
        Pattern::Struct { name, fields, is_open } => {
            let fields = fields.iter().map(|(name, p)| match pattern(p) {
                p if name == &p => p,
                p if p == format!("mut {name}") => p,
                p => format!("{name}: {p}"),
            });
            let fields = fields.chain(is_open.then(|| "..".into())).collect::<Vec<_>>().join(", ");
            format!("{} {{ {fields} }}", name.name)
        }
        Pattern::Ignore => "_".into(),
    }
}

fn list(all: &[Expr], depth: usize) -> String {
    all.iter().map(|e| expr(e, Level::Any, depth)).collect::<Vec<_>>().join(", ")
}

fn suffix(t: Option<DType>) -> &'static str {
    t.map_or("", |t| t.name())
}

/// Whether an expression that is no operand of another one ends in the name of a type.
fn ends_in_type(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Cast(..) | ExprKind::ToPointer(..) => true,
        ExprKind::Binary(_, _, last) | ExprKind::And(_, last) | ExprKind::Or(_, last) => ends_in_type(last),
        _ => false,
    }
}

/// An expression, as an operand of one of a level; the lines of blocks in it are `depth + 1` steps in.
pub fn expr(e: &Expr, outer: Level, depth: usize) -> String {
    let level = Level::of(e);
    // A right operand of the same level is in parentheses: `a - (b - c)`. Comparisons have no order.
    let next = |l: Level| match l {
        Level::Sum => Level::Product,
        Level::Product => Level::Cast,
        Level::Shift => Level::Sum,
        Level::BitAnd => Level::Shift,
        Level::BitXor => Level::BitAnd,
        Level::BitOr => Level::BitXor,
        Level::Compare => Level::BitOr,
        l => l,
    };
    let sides = |a: &Expr, op: &str, b: &Expr| {
        let left = if level == Level::Compare { next(level) } else { level };
        // `a as T < b` would begin the generic arguments of `T`.
        let left = if op.starts_with('<') && ends_in_type(a) { Level::Postfix } else { left };
        format!("{} {op} {}", expr(a, left, depth), expr(b, next(level), depth))
    };
    let any = |e: &Expr| expr(e, Level::Any, depth);
    let written = match &e.kind {
        ExprKind::Int(n, t) => format!("{n}{}", suffix(*t)),
        ExprKind::Float(x, t) => format!("{x:?}{}", suffix(*t)),
        ExprKind::Bool(b) => b.to_string(),
        ExprKind::Str(s) => format!("{s:?}"),
        ExprKind::Name(n) => n.clone(),
        ExprKind::Assoc(of, name) => format!("{}::{name}", of.name),
        ExprKind::Unary(op, x) => {
            format!("{}{}", if *op == UnaryOp::Neg { "-" } else { "!" }, expr(x, Level::Unary, depth))
        }
        ExprKind::Binary(op, a, b) => sides(a, op.symbol(), b),
        ExprKind::And(a, b) => sides(a, "&&", b),
        ExprKind::Or(a, b) => sides(a, "||", b),
        ExprKind::ToPointer(x, to) => {
            let qualifier = if to.mutable { "mut" } else { "const" };
            format!("{} as *{qualifier} {}", expr(x, Level::Cast, depth), to.elem.name)
        }
        ExprKind::Cast(x, t) => format!("{} as {}", expr(x, Level::Cast, depth), t.name),
        ExprKind::Call { name, generics, args, method } => {
            let generics: Vec<String> = generics.iter().map(|g| generic(g, depth)).collect();
            let generics = if generics.is_empty() { String::new() } else { format!("::<{}>", generics.join(", ")) };
            let mark = if is_macro(&name.to_string()) { "!" } else { "" };
            match &args[..] {
                [receiver, args @ ..] if *method => {
                    format!("{}.{name}{generics}({})", expr(receiver, Level::Postfix, depth), list(args, depth))
                }
                args => format!("{name}{mark}{generics}({})", list(args, depth)),
            }
        }
        ExprKind::Tuple(all) => tuple(all.iter().map(any).collect()),
        ExprKind::Field(x, i) => format!("{}.{i}", expr(x, Level::Postfix, depth)),
        ExprKind::Member(x, name) => format!("{}.{name}", expr(x, Level::Postfix, depth)),
        ExprKind::Index(x, i) => format!("{}[{}]", expr(x, Level::Postfix, depth), any(i)),
        ExprKind::Struct { name, fields } => {
            let fields = fields.iter().map(|(name, value)| match &value.kind {
                ExprKind::Name(n) if name == n => n.clone(),
                _ => format!("{name}: {}", any(value)),
            });
            format!("{} {{ {} }}", name.name, fields.collect::<Vec<_>>().join(", "))
        }
        ExprKind::Array(all) => format!("[{}]", list(all, depth)),
        ExprKind::Repeat(x, n) => format!("[{}; {}]", any(x), any(n)),
        ExprKind::Range { lo, hi, is_closed } => {
            let dots = if *is_closed { "..=" } else { ".." };
            format!("{}{dots}{}", expr(lo, Level::Or, depth), expr(hi, Level::Or, depth))
        }
        ExprKind::Closure(c) => {
            let params = c.params.iter().map(|p| format!("{}{}", pattern(&p.pattern), annotation(&p.ty)));
            let params = params.collect::<Vec<_>>().join(", ");
            match &c.returns {
                Said::Nothing => format!("|{params}| {}", any(&c.body)),
                ty => format!("|{params}| -> {} {}", said(ty), any(&c.body)),
            }
        }
        ExprKind::Block(b) => block(b, depth),
        ExprKind::If { cond, then, other } => {
            let other = other.as_ref().map(|e| format!(" else {}", any(e))).unwrap_or_default();
            format!("if {} {}{other}", any(cond), block(then, depth))
        }
        ExprKind::Match { value, arms } => {
            let mut out = format!("match {} {{\n", any(value));
            for arm in arms {
                let of = match &arm.pattern {
                    ArmPattern::Any => "_".into(),
                    ArmPattern::Constants(list) => list.iter().map(any).collect::<Vec<_>>().join(" | "),
                    ArmPattern::Some(p) => format!("Some({})", pattern(p)),
                    ArmPattern::None => "None".into(),
                };
                let body = expr(&arm.body, Level::Any, depth + 1);
                let rest = arm.rest.as_ref().map(|b| format!(" then {}", block(b, depth + 1))).unwrap_or_default();
                writeln!(out, "{}{of} => {body}{rest},", "    ".repeat(depth + 1)).expect("a string");
            }
            out + &"    ".repeat(depth) + "}"
        }
        ExprKind::For { label, pattern: p, over, body } => {
            format!("{}for {} in {} {}", labeled(label), pattern(p), any(over), block(body, depth))
        }
        ExprKind::While { label, cond, body } => {
            format!("{}while {} {}", labeled(label), any(cond), block(body, depth))
        }
        ExprKind::Loop { label, body } => format!("{}loop {}", labeled(label), block(body, depth)),
        ExprKind::Assign(to, x) => format!("{} = {}", any(to), any(x)),
        ExprKind::AssignOp(op, to, x) => format!("{} {}= {}", any(to), op.symbol(), any(x)),
        ExprKind::Break(label) => format!("break{}", leaving(label)),
        ExprKind::Continue(label) => format!("continue{}", leaving(label)),
        ExprKind::Return(None) => "return".into(),
        ExprKind::Return(Some(value)) => format!("return {}", any(value)),
        ExprKind::Typed(x, _) => any(x),
        ExprKind::Error => "/* a mistake */".into(),
    };
    if level < outer { format!("({written})") } else { written }
}

/// A label in front of a loop.
fn labeled(label: &Option<Ident>) -> String {
    label.as_ref().map(|l| format!("'{l}: ")).unwrap_or_default()
}

/// A label behind `break`.
fn leaving(label: &Option<Ident>) -> String {
    label.as_ref().map(|l| format!(" '{l}")).unwrap_or_default()
}

fn generic(g: &Generic, depth: usize) -> String {
    match g {
        Generic::Type(t) => t.name.clone(),
        Generic::Const(e) if matches!(e.kind, ExprKind::Int(..) | ExprKind::Bool(_)) => expr(e, Level::Any, depth),
        Generic::Const(e) if matches!(e.kind, ExprKind::Block(_)) => expr(e, Level::Any, depth),
        Generic::Const(e) => format!("{{ {} }}", expr(e, Level::Any, depth)),
    }
}

fn is_macro(name: &str) -> bool {
    matches!(name, "static_assert" | "device_assert" | "device_print")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Diagnostics;
    use crate::front::library::Libraries;
    use crate::front::module;
    use crate::front::source::Source;

    fn parsed(text: &str) -> Kernel {
        let d = Diagnostics::default();
        let found = module::file(text, &Libraries::default()).into_iter().next().expect("a kernel");
        let mut kernels = found.parse(&d).unwrap_or_else(|_| panic!("{:#?}", d.take()));
        kernels.remove(0).ast
    }

    /// A condition of a kernel, parsed and written again.
    #[test]
    fn a_text_has_the_parentheses_that_it_needs() {
        for condition in [
            "x.len() >= a * b + 1",
            "x.len() == a * (b + c)",
            "a - b - c == a - (b - c)",
            "a / (b / c) > cdiv(a, b + c)",
            "(a < b || c < d) && e == f",
            "a < b || c < d && e == f",
            "!(a < b) && !ON",
            "(a < b) == (c < d)",
            "(a as i32) < b && a as i32 > b",
            "(a + b as i32) << c == d",
            "a & (b | c) ^ d << 1 + e",
            "(a + b) as i32 as f32 * -c",
            "(-1).abs() == (a + b).to::<i32>()",
            "(0..a).step_by(b)",
            "(if a { b } else { c }) + d",
        ] {
            let text = format!("#[tile_kernel(requires = [{condition}], grid = [1])] fn k(x: &[f32]) {{}}");
            let k = parsed(&text);
            assert_eq!(expr(&k.requires[0], Level::Any, 0), condition);
        }
    }

    const KERNEL: &str = r#"#[tile_kernel(
    types(T = [f32, f16]),
    tune(BLOCK = [256], ON = [true], warps = [8], stages = [2]),
    tune(BLOCK = [512], ON = [false], warps = [4], arch = [90]),
    grid = [cdiv(x.len(), BLOCK), if ON { 1 } else { 2 }],
    requires = [n > 0],
    pdl = [x],
    alias(p, q),
    emulate = all,
    crate = ::facade,
)]
unsafe fn k<T, const BLOCK: usize, const ON: bool>(x: &[T], mut v: ViewMut<f16, 2>, p: *const f32, q: *mut f32, n: i32) {
    let (mut a, _): (f32, _) = (-1.5, (0.0,));
    const STEP: usize = if ON { 2 } else { BLOCK };
    let f = |t: f32, i| -> f32 { t * 2.0f32 + i };
    for i in range(0, 8, STEP).stages(3) {
        a += load(x, (i + 1) as usize).mask(i < n && !ON);
        if a > 0.0 {
            break;
        }
    }
    match ON {
        true | false => store(v, [0, 0], f(a, 1i32)),
        _ => {
            static_assert!(BLOCK > 1, "a block");
            return
        },
    }
    while n > 0 {
        (a, n) = (f32::INFINITY, [1; 2].0);
        loop {}
    }
}
"#;

    #[test]
    fn a_kernel_is_written_as_it_was() {
        assert_eq!(kernel(&parsed(KERNEL)), KERNEL);
        let given = "#[tile_kernel(kernel(k16, ON = true, T = f16), grid = [1])] fn k<T, const ON: bool>(x: &[T]) {}";
        let written = kernel(&parsed(given));
        assert!(written.contains("    kernel(k16, T = f16, ON = true),\n    tune(warps = [4]),\n"), "{written}");
        assert!(written.ends_with("fn k<T, const ON: bool>(x: &[T]) {}\n"), "{written}");
    }

    /// The printed text parses again to the same tree.
    #[test]
    fn every_body_of_the_kernels_parses_again() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../device-kernels/src");
        let (mut files, mut libraries) = (vec![], Libraries::default());
        for entry in std::fs::read_dir(folder).expect("the kernels") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|e| e == "rs") {
                let file = std::path::Path::new("src").join(path.file_name().expect("a file"));
                files.push((file, std::fs::read_to_string(path).expect("a source")));
            }
        }
        let sources: Vec<Source> = files.iter().map(|(file, text)| Source { file, text }).collect();
        sources.iter().for_each(|s| libraries.add(*s));
        let mut seen = 0;
        let d = Diagnostics::default();
        let all = sources.iter().flat_map(|s| module::file(*s, &libraries));
        for k in all.filter_map(|found| found.parse(&d).ok()).flatten() {
            let written = block(&k.ast.body, 0);
            let again = parsed(&format!("#[tile_kernel(grid = [1])] fn k(x: &[f32]) {written}"));
            assert_eq!(block(&again.body, 0), written, "{}", k.name);
            seen += 1;
        }
        assert!(seen > 40, "{seen} kernels");
    }
}
