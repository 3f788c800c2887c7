//! The crate around random kernels: a test for each, which runs it on every backend.

use crate::source::{Array, Kind, Source, Special};
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tilewright_compiler::diag::Diagnostics;
use tilewright_compiler::{Libraries, module};

pub struct Kernel {
    pub name: String,
    pub text: String,
    source: Source,
}

/// The compiler's verdict on a kernel.
pub enum Said {
    Compiled,
    /// A message for the kernel's author.
    Refused(String),
    Panicked(String),
}

impl Kernel {
    pub fn new(name: &str, attribute: &str, source: Source) -> Kernel {
        Kernel { name: name.into(), text: source.function(name, attribute), source }
    }

    pub fn check(&self) -> Said {
        if let Err(e) = syn::parse_file(&self.text) {
            unreachable!("{}: no Rust was made: {e}\n{}", self.name, self.text);
        }
        let d = Diagnostics::default();
        let Some(found) = module::file(&self.text[..], &Libraries::default()).pop() else {
            return Said::Refused("the module of this kernel and its helpers has a mistake".into());
        };
        // Panics are told by us, with the kernel.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| ()));
        let made = catch_unwind(AssertUnwindSafe(|| {
            tilewright_compiler::units_of(found, tilewright_compiler::Configs::All, &d)
        }));
        std::panic::set_hook(hook);
        match made {
            Err(why) => Said::Panicked(
                why.downcast_ref::<String>()
                    .cloned()
                    .or(why.downcast_ref::<&str>().map(|s| s.to_string()))
                    .unwrap_or_default(),
            ),
            Ok(_) => match d.take().first() {
                // The same for all of whom it is said.
                Some(e) => Said::Refused(e.message.replace(&format!("`{}`", self.name), "this kernel")),
                None => Said::Compiled,
            },
        }
    }

    /// Runs the kernel with each of its sizes.
    pub fn test(&self) -> String {
        let (s, name) = (&self.source, &self.name);
        let names: Vec<&str> = s.sizes.iter().map(|(n, _)| n.as_str()).collect();
        let runs: Vec<String> = (0..s.sizes[0].1.len())
            .map(|i| format!("[{}]", s.sizes.iter().map(|(_, v)| v[i].to_string()).collect::<Vec<_>>().join(", ")))
            .collect();
        let special = match s.special {
            Special::Nothing => "[Special::Nothing]",
            Special::Nan => "[Special::Nothing, Special::Nan]",
            Special::All => "[Special::Nothing, Special::All]",
        };
        let mut t = format!(
            "#[test]\nfn run_{name}() {{\n    for (sizes, special) in runs([{}], {special}) {{\n        let [{}] = sizes;\n",
            runs.join(", "),
            names.join(", ")
        );
        let made =
            |a: &Array, i: usize| format!("numbers::<{}>({}, {i}, {}, special)", a.ty.name(), a.len.text(), a.top);
        for (i, a) in s.inputs.iter().enumerate().filter(|(_, a)| a.alias_of.is_none()) {
            writeln!(t, "        let {} = {};", a.name, made(a, i)).expect("text");
        }
        t += &format!(
            "        compare({name:?}, &format!(\"{} = {{sizes:?}}, {{special:?}}\"), {name}::DESCS[0].configs, |rt, options| {{\n",
            names.join(", ")
        );
        for a in s.inputs.iter().filter(|a| a.alias_of.is_none()) {
            writeln!(t, "            let {0} = rt.from_slice(&{0})?;", a.name).expect("text");
        }
        for (i, a) in s.outputs.iter().enumerate() {
            writeln!(t, "            let mut {} = rt.from_slice(&{})?;", a.name, made(a, i + 50)).expect("text");
        }
        let is_aliased = |a: &Array| s.inputs.iter().any(|x| x.alias_of.as_ref() == Some(&a.name));
        for a in s.outputs.iter().filter(|a| is_aliased(a)) {
            writeln!(t, "            let mut {}_arg = {};", a.name, argument(a, true)).expect("text");
        }
        let output = |a: &Array| if is_aliased(a) { format!("{}_arg", a.name) } else { argument(a, true) };
        let args: Vec<String> = s
            .inputs
            .iter()
            .map(|a| a.alias_of.as_ref().map_or_else(|| argument(a, false), |of| alias(a, of)))
            .chain(s.outputs.iter().map(output))
            .chain(names.iter().map(|n| n.to_string()))
            .collect();
        writeln!(
            t,
            "            #[allow(unused_unsafe)]\n            // SAFETY: the arrays have the lengths for which the kernel is written.\n            let call = unsafe {{ {name}({}) }};",
            args.join(", ")
        )
        .expect("text");
        let found: Vec<String> =
            s.outputs.iter().map(|a| format!("({:?}, Found::of(&{}.to_vec()?))", a.name, a.name)).collect();
        writeln!(t, "            rt.launch_with(rt.stream(), call, options)?;\n            Ok(vec![{}])\n        }});\n    }}\n}}\n", found.join(", ")).expect("text");
        t
    }
}

fn argument(a: &Array, mutable: bool) -> String {
    let name = &a.name;
    match (&a.kind, mutable) {
        (Kind::Slice, false) => format!("&{name}"),
        (Kind::Slice, true) => format!("(&mut {name}).as_slice_mut_arg()"),
        (Kind::Pointer, _) => format!("{name}.raw()"),
        (Kind::Address, _) => format!("{name}.addr()"),
        (Kind::View { dims, strides }, _) => {
            let slice =
                if mutable { format!("(&mut {name}).as_slice_mut_arg()") } else { format!("(&{name}).as_slice_arg()") };
            format!("{slice}.strided([{}], [{}]).expect(\"it fits\")", dims.join(", "), strides.join(", "))
        }
    }
}

/// The memory of the output `of`, to be read.
fn alias(a: &Array, of: &str) -> String {
    match a.kind {
        Kind::Slice => format!("SliceArg::from_raw({of}_arg.addr(), {of}_arg.len(), {of}_arg.device())"),
        Kind::Pointer => format!("{of}.raw()"),
        Kind::Address => format!("{of}.addr()"),
        Kind::View { .. } => format!("{of}_arg.aliased()"),
    }
}
