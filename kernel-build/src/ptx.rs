//! PTX as text: split into one module per entry, completed with launch bounds, checked for code that cannot run.

mod module;

use std::collections::{BTreeSet, HashMap};

pub use module::PtxError;
use module::{Item, Kind, Module};

/// Functions the driver provides.
const PROVIDED: [&str; 4] = ["vprintf", "__assertfail", "malloc", "free"];

/// Launch bounds and hidden parameters of one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub threads: u32,
    /// Programs to keep resident on a multiprocessor; zero for no wish.
    pub min_blocks: u32,
    /// Thread blocks of a program; more than one are a cluster.
    pub ctas: u32,
    /// Tensor maps that the code refers to as `<entry>_map_<i>`: parameters after the ones that rustc knows of.
    pub maps: u32,
}

/// A PTX module with one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPtx {
    pub text: String,
    /// Local memory that the entry, or a function it calls, declares.
    pub local_bytes: u64,
}

impl EntryPtx {
    /// The directive that names the version of the PTX.
    pub fn version(&self) -> &str {
        self.text.lines().find(|l| l.starts_with(".version ")).unwrap_or_default()
    }

    /// The same code with the directives of another target.
    pub fn with_directives(&self, [version, target]: &[String; 2]) -> EntryPtx {
        let mut text = String::with_capacity(self.text.len() + 8);
        for line in self.text.lines() {
            text.push_str(match line {
                l if l.starts_with(".version ") => version,
                l if l.starts_with(".target ") => target,
                l => l,
            });
            text.push('\n');
        }
        EntryPtx { text, ..*self }
    }
}

/// Takes a module apart. `bounds` has the expected entries and their launch bounds. The module of an entry leaves out
/// the items that it does not use, directly or through functions and initializers.
pub fn split(text: &str, bounds: &[(&str, Bounds)]) -> Result<Vec<EntryPtx>, PtxError> {
    let module = Module::parse(text)?;
    let by_name: HashMap<&str, usize> = module.items.iter().enumerate().map(|(i, it)| (it.name, i)).collect();
    let mut out = Vec::new();
    for (name, bounds) in bounds {
        let entry = by_name.get(name).copied().filter(|&i| module.items[i].kind == Kind::Entry);
        let entry = entry.ok_or_else(|| PtxError::NoEntry((*name).into()))?;
        let used = closure(&module.items, &by_name, entry);
        if let Some(f) = used
            .iter()
            .map(|&i| &module.items[i])
            .find(|it| it.kind == Kind::ExternFunction && !PROVIDED.contains(&it.name))
        {
            return Err(PtxError::Unresolved { entry: (*name).into(), function: f.name.into() });
        }
        let mut text = String::with_capacity(
            module.header.len() + used.iter().map(|&i| module.items[i].text.len() + 1).sum::<usize>() + 64,
        );
        text.push_str(module.header.trim_end());
        text.push('\n');
        for &i in &used {
            let item = &module.items[i];
            text.push('\n');
            match item.kind {
                Kind::Entry => text.push_str(&with_bounds(item, *bounds)?),
                _ => text.push_str(item.text),
            }
        }
        text.push('\n');
        out.push(EntryPtx { text, local_bytes: used.iter().map(|&i| local_bytes(module.items[i].text)).sum() });
    }
    Ok(out)
}

/// Indices of all items that the given one needs, itself included, in the order of the text.
fn closure(items: &[Item], by_name: &HashMap<&str, usize>, start: usize) -> BTreeSet<usize> {
    let mut used = BTreeSet::from([start]);
    let mut todo = vec![start];
    while let Some(i) = todo.pop() {
        for word in module::identifiers(items[i].text) {
            if let Some(&j) = by_name.get(word)
                && used.insert(j)
            {
                todo.push(j);
            }
        }
    }
    used
}

/// rustc has no attribute for launch bounds. They belong between the parameters and the body.
fn with_bounds(entry: &Item, b: Bounds) -> Result<String, PtxError> {
    let broken = || PtxError::Malformed(format!("entry `{}` has no parameter list", entry.name));
    let open = entry.text.find('(').ok_or_else(broken)?;
    let close = open + entry.text[open..].find(')').ok_or_else(broken)? + 1;
    let (head, tail) = entry.text.split_at(close);
    // A tensor map is read where it lies, in the parameters: rustc would copy an argument of that size.
    let maps = (0..b.maps).map(|i| format!(".param .align 64 .b8 {}_map_{i}[128]", entry.name));
    let known = entry.text[open + 1..close - 1].trim();
    let params: Vec<String> = (!known.is_empty()).then(|| known.to_string()).into_iter().chain(maps).collect();
    let head = match b.maps {
        0 => head.to_string(),
        _ => format!("{}(\n\t{}\n)", &entry.text[..open], params.join(",\n\t")),
    };
    let mut out = format!("{head}\n.reqntid {}, 1, 1", b.threads);
    if b.ctas > 1 {
        out.push_str(&format!("\n.reqnctapercluster {}, 1, 1", b.ctas));
    }
    if b.min_blocks > 0 {
        out.push_str(&format!("\n.minnctapersm {}", b.min_blocks));
    }
    Ok(out + tail)
}

/// The same entry for one block on a multiprocessor at least, if it says nothing of blocks: ptxas may give each thread
/// all registers that one block leaves.
pub fn for_one_block(text: &str) -> Option<String> {
    let bounds = text.find("\n.reqntid ")?;
    let body = bounds + text[bounds..].find("\n{")?;
    let says_nothing = !text[bounds..body].contains("\n.minnctapersm ");
    says_nothing.then(|| format!("{}\n.minnctapersm 1{}", &text[..body], &text[body..]))
}

/// Sums `.local .align 4 .b8 name[256];`.
fn local_bytes(text: &str) -> u64 {
    let sizes = text.lines().filter_map(|l| l.trim_start().strip_prefix(".local ")).filter_map(|l| {
        let (_, size) = l.split_once('[')?;
        size.split_once(']')?.0.trim().parse::<u64>().ok()
    });
    sizes.sum()
}

#[cfg(test)]
mod tests;
