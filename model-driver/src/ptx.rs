//! The signature of an entry in PTX: its parameters, and whether it waits for the launch in front.

/// The facts of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    /// Bytes of each parameter.
    pub params: Vec<usize>,
    /// Whether it has `griddepcontrol.wait`.
    pub waits: bool,
}

/// The bytes of a variable in global memory, as in `.visible .global .align 16 .b8 name[64];`.
pub(crate) fn variable(text: &str, name: &str) -> Option<usize> {
    let of = |line: &str| {
        let (head, rest) = line.strip_suffix(';')?.split_once('[')?;
        let is_it = head.contains(".global ") && head.contains(".b8 ") && head.rsplit(' ').next() == Some(name);
        is_it.then(|| rest.strip_suffix(']')?.parse().ok()).flatten()
    };
    text.lines().find_map(|l| of(l.trim()))
}

/// `None` where the text has no entry of this name.
pub(crate) fn signature(text: &str, entry: &str) -> Option<Signature> {
    let mut rest = text;
    loop {
        rest = &rest[rest.find(".entry")? + ".entry".len()..];
        let (name, after) = rest.split_at(rest.find('(')?);
        if name.trim() != entry {
            continue;
        }
        let (list, body) = after[1..].split_at(after[1..].find(')')?);
        let params = list.split(',').filter(|p| !p.trim().is_empty()).map(bytes).collect::<Option<_>>()?;
        let body = &body[..body.find(".entry").unwrap_or(body.len())];
        return Some(Signature { params, waits: body.contains("griddepcontrol.wait") });
    }
}

/// Bytes of one parameter, as in `.param .u64 x` and `.param .align 64 .b8 map[128]`.
fn bytes(param: &str) -> Option<usize> {
    let of_type = |word: &str| match word {
        ".u8" | ".s8" | ".b8" => Some(1),
        ".u16" | ".s16" | ".b16" | ".f16" => Some(2),
        ".u32" | ".s32" | ".b32" | ".f32" => Some(4),
        ".u64" | ".s64" | ".b64" | ".f64" => Some(8),
        _ => None,
    };
    let size = param.split_whitespace().find_map(of_type)?;
    let count = match param.split_once('[') {
        Some((_, count)) => count.split(']').next()?.trim().parse().ok()?,
        None => 1,
    };
    Some(size * count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found_by_their_names() {
        let text = "\t.visible .global .align 16 .b8 a_b[64];\n.extern .shared .align 8 .b8 b[];\n.global .u32 c;";
        assert_eq!(["a_b", "b", "c", "a"].map(|name| variable(text, name)), [Some(64), None, None, None]);
    }

    #[test]
    fn parameters_are_read_from_the_entry_that_is_asked_for() {
        let text = "
            .visible .entry other(.param .u32 n) { griddepcontrol.wait; ret; }
            .visible .entry mine(
                .param .u64 .ptr .global .align 1 mine_param_0,
                .param .u64 mine_param_1,
                .param .align 64 .b8 mine_param_2[128]
            ) .maxntid 128 { ret; }
            .entry none() { griddepcontrol.wait; }";
        let of = |entry| signature(text, entry);
        assert_eq!(of("mine"), Some(Signature { params: vec![8, 8, 128], waits: false }));
        assert_eq!(of("other"), Some(Signature { params: vec![4], waits: true }));
        assert_eq!(of("none"), Some(Signature { params: vec![], waits: true }));
        assert_eq!(of("min"), None);
    }
}
