//! Text in SVG and HTML.

/// Text inside an element or an attribute of SVG and HTML.
pub fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            // XML has no control characters, but the name of a device or an error may.
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn special_characters_stay_text() {
        assert_eq!(escape("a<b>&\"c\"'\u{7}"), "a&lt;b&gt;&amp;&quot;c&quot;&#39; ");
    }
}
