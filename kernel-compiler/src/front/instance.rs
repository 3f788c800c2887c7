//! A kernel with its instances: types × optional parameters × configurations.

use crate::front::ast::{self, Choice, Config};
use proc_macro2::{Span, TokenStream, TokenTree};
use std::fmt;

/// A parsed kernel and its identity.
#[derive(Debug)]
pub struct Kernel {
    pub(crate) ast: ast::Kernel,
    /// The name of its typed function and of its results.
    pub name: String,
    /// Of the source tokens: names the bundle, and ties tuning results to a kernel.
    pub fingerprint: String,
    /// Of the lines that its tokens are in: equal kernels in different places have host code with different lines.
    pub lines: String,
}

/// One choice of types, of arguments that are there, and of constants.
pub struct Instance<'a> {
    /// The types, and the optional parameters that have an argument.
    pub choice: Choice,
    /// The constants and the resources.
    pub config: &'a Config,
}

impl Kernel {
    /// The choices that have a descriptor: the choices of type arguments, in the order of their lists, and for each of
    /// them every choice of optional parameters. Bit `i` of a choice's number among these says whether parameter `i` is
    /// there.
    pub(crate) fn choices(&self) -> Vec<Choice> {
        let mut out = vec![Choice::default()];
        for p in &self.ast.type_params {
            let with = |of: Choice, t| Choice { types: [of.types, vec![(p.name.to_string(), t)]].concat(), ..of };
            out = out.into_iter().flat_map(|c| p.types.iter().map(move |&t| with(c.clone(), t))).collect();
        }
        let optional: Vec<String> = self.ast.optional().map(|p| p.name.to_string()).collect();
        let present = |bits: usize| {
            optional.iter().enumerate().map(|(i, name)| (name.clone(), bits >> i & 1 == 1)).collect::<Vec<_>>()
        };
        let of_types = |c: Choice| (0..1 << optional.len()).map(move |bits| (c.clone(), bits));
        out.into_iter().flat_map(of_types).map(|(c, bits)| Choice { present: present(bits), ..c }).collect()
    }

    /// Every choice with every configuration; choices come first.
    pub fn instances(&self) -> Vec<Instance<'_>> {
        self.choices()
            .into_iter()
            .flat_map(|choice| self.ast.configs.iter().map(move |config| Instance { choice: choice.clone(), config }))
            .collect()
    }
}

/// Equal for equal tokens, independent of their layout and spans: the macro and the build script compute the same.
pub(crate) fn fingerprint(streams: &[&TokenStream]) -> String {
    let mut hash = Hash::default();
    streams.iter().for_each(|s| tokens((*s).clone(), &mut |text, _| hash.feed(text.as_bytes())));
    hash.to_string()
}

/// Equal for tokens whose names are in the same lines of their files.
pub(crate) fn lines(streams: &[&TokenStream]) -> String {
    let mut hash = Hash::default();
    let mut feed = |_: &str, name: Option<Span>| {
        if let Some(span) = name {
            hash.feed(&span.start().line.to_le_bytes());
        }
    };
    streams.iter().for_each(|s| tokens((*s).clone(), &mut feed));
    hash.to_string()
}

/// FNV-1a, 64 bits, twice with different starts.
struct Hash([u64; 2]);

impl Default for Hash {
    fn default() -> Self {
        Hash([0xcbf2_9ce4_8422_2325, 0x6c62_272e_07bb_0142])
    }
}

impl Hash {
    fn feed(&mut self, bytes: &[u8]) {
        for &b in bytes.iter().chain(&[0]) {
            for (i, h) in self.0.iter_mut().enumerate() {
                *h = (*h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3).rotate_left(i as u32);
            }
        }
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.0[0], self.0[1])
    }
}

/// The text of each token, and the span of a name. Without doc comments: the macro and the build script see them
/// escaped differently.
fn tokens(s: TokenStream, feed: &mut impl FnMut(&str, Option<Span>)) {
    let mut tokens_left = s.into_iter().peekable();
    while let Some(t) = tokens_left.next() {
        match t {
            TokenTree::Punct(p)
                if p.as_char() == '#' && matches!(tokens_left.peek(), Some(TokenTree::Group(g)) if is_doc(g)) =>
            {
                tokens_left.next();
            }
            TokenTree::Group(g) => {
                feed(&format!("{:?}", g.delimiter()), None);
                tokens(g.stream(), feed);
                feed("end", None);
            }
            TokenTree::Ident(i) => feed(&i.to_string(), Some(i.span())),
            TokenTree::Punct(p) => feed(&p.as_char().to_string(), None),
            TokenTree::Literal(l) => feed(&l.to_string(), None),
        }
    }
}

fn is_doc(g: &proc_macro2::Group) -> bool {
    matches!(g.stream().into_iter().next(), Some(TokenTree::Ident(i)) if i == "doc")
}
