//! The parts of a PTX module.

/// Why PTX from rustc is of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PtxError {
    #[error("PTX ends within `{0}`")]
    Unfinished(String),
    #[error("PTX is not understood: {0}")]
    Malformed(String),
    #[error("PTX has no entry `{0}`")]
    NoEntry(String),
    #[error("entry `{entry}` calls `{function}`, which does not exist on the device")]
    Unresolved { entry: String, function: String },
}

#[derive(Debug)]
pub struct Module<'a> {
    /// Version, target and address size.
    pub header: &'a str,
    pub items: Vec<Item<'a>>,
}

/// A declaration or definition at the top of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    pub kind: Kind,
    pub name: &'a str,
    pub text: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Entry,
    Function,
    /// A function that is declared only.
    ExternFunction,
    Variable,
}

impl<'a> Module<'a> {
    pub fn parse(text: &'a str) -> Result<Self, PtxError> {
        let size = text.find(".address_size").ok_or_else(|| PtxError::Malformed("no .address_size".into()))?;
        let end = text[size..].find('\n').map_or(text.len(), |n| size + n + 1);
        let (header, mut rest) = text.split_at(end);
        let mut items: Vec<Item> = Vec::new();
        loop {
            rest = skip_space(rest);
            if rest.is_empty() {
                return Ok(Module { header, items });
            }
            let len = item_len(rest).ok_or_else(|| PtxError::Unfinished(first_line(rest).into()))?;
            let (text, tail) = rest.split_at(len);
            let item = Item::of(text)?;
            // A function may be declared before it is defined.
            match items.iter_mut().find(|i| i.name == item.name) {
                Some(known) if known.kind == Kind::ExternFunction => *known = item,
                Some(_) => return Err(PtxError::Malformed(format!("`{}` is defined twice", item.name))),
                None => items.push(item),
            }
            rest = tail;
        }
    }
}

impl<'a> Item<'a> {
    fn of(text: &'a str) -> Result<Item<'a>, PtxError> {
        let malformed = || PtxError::Malformed(first_line(text).into());
        // The body, or the initializer, says nothing about the name.
        let head = text.split(['{', '=']).next().unwrap_or(text);
        let (kind, name) = if let Some((_, after)) = head.split_once(".entry") {
            (Kind::Entry, identifiers(after).next())
        } else if let Some((_, after)) = head.split_once(".func") {
            let after = after.trim_start();
            // The value returned comes before the name, in parentheses.
            let after = match after.strip_prefix('(') {
                Some(a) => a.split_once(')').ok_or_else(malformed)?.1,
                None => after,
            };
            let kind = if text.ends_with('}') { Kind::Function } else { Kind::ExternFunction };
            (kind, identifiers(after).next())
        } else {
            let declared = head.split('[').next().unwrap_or(head).trim_end().trim_end_matches(';');
            (Kind::Variable, identifiers(declared).last())
        };
        Ok(Item { kind, name: name.ok_or_else(malformed)?, text })
    }
}

/// All names in a text; directives such as `.param` are not names.
pub fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.');
    text.split(move |c| !part(c)).filter(|w| w.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$')))
}

/// Up to the closing brace of a function, or to the semicolon of anything else.
fn item_len(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let find = |from: usize, b: u8| bytes[from..].iter().position(|&c| c == b).map(|n| from + n);
    let (mut depth, mut at, mut has_body) = (0usize, 0, None);
    while at < bytes.len() {
        match bytes[at] {
            b'/' if bytes[at..].starts_with(b"//") => at = find(at, b'\n')?,
            b'"' => at = find(at + 1, b'"')?,
            b'{' => {
                depth += 1;
                // The brace of an initializer closes before the semicolon.
                has_body.get_or_insert_with(|| !bytes[..at].contains(&b'='));
            }
            b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 && has_body == Some(true) {
                    return Some(at + 1);
                }
            }
            b';' if depth == 0 => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}

fn skip_space(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        match text.strip_prefix("//") {
            Some(comment) => text = comment.split_once('\n').map_or("", |(_, t)| t),
            None => return text,
        }
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("")
}
