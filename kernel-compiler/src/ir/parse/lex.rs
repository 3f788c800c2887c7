//! The tokens of the IR's text form.

use std::fmt;

/// A place in a text; both count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The number of the line, from 1.
    pub line: usize,
    /// The number of the character in the line, from 1.
    pub column: usize,
}

/// Text that is no function of the IR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The place of the token that does not fit.
    pub at: Position,
    /// The reason, without the place.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.at.line, self.at.column, self.message)
    }
}

impl std::error::Error for ParseError {}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A keyword, an operation, a name, or a numbered value, variable or argument word.
    Word(String),
    /// Without a sign.
    Number(String),
    Text(String),
    Mark(&'static str),
    /// One for any number of line ends.
    LineEnd,
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Token::Word(t) | Token::Number(t) => write!(f, "`{t}`"),
            Token::Text(t) => write!(f, "{t:?}"),
            Token::Mark(t) => write!(f, "`{t}`"),
            Token::LineEnd => f.write_str("the end of the line"),
            Token::End => f.write_str("the end of the text"),
        }
    }
}

/// The longest first.
const MARKS: [&str; 19] =
    ["..=", "..", "==", "<=", "{", "}", "[", "]", "(", ")", ":", ";", ",", "=", "*", "/", "%", "|", "-"];

/// The tokens of a text, and where each begins. Comments are left out.
pub(super) fn lex(text: &str) -> Result<Vec<(Token, Position)>, ParseError> {
    let mut out: Vec<(Token, Position)> = vec![];
    for (i, line) in text.lines().enumerate() {
        let before = out.len();
        let mut rest = line;
        loop {
            rest = rest.trim_start();
            if rest.is_empty() || rest.starts_with("//") {
                break;
            }
            let at = Position { line: i + 1, column: line[..line.len() - rest.len()].chars().count() + 1 };
            let (token, length) = token(rest).map_err(|message| ParseError { at, message })?;
            out.push((token, at));
            rest = &rest[length..];
        }
        if out.len() > before {
            out.push((Token::LineEnd, Position { line: i + 1, column: line.chars().count() + 1 }));
        }
    }
    let at =
        Position { line: text.lines().count().max(1), column: text.lines().last().unwrap_or("").chars().count() + 1 };
    out.push((Token::End, at));
    Ok(out)
}

/// The token that a line begins with, and its length in bytes.
fn token(rest: &str) -> Result<(Token, usize), String> {
    let first = rest.chars().next().unwrap_or_default();
    if first.is_alphabetic() || first == '_' {
        let start = if rest.starts_with("r#") { 2 } else { 0 };
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let length = rest[start..].find(|c| !word(c)).map_or(rest.len(), |n| n + start);
        return Ok((Token::Word(rest[..length].to_string()), length));
    }
    if first.is_ascii_digit() {
        let length = number(rest);
        return Ok((Token::Number(rest[..length].to_string()), length));
    }
    if first == '"' {
        let mut escaped = false;
        let end = rest.char_indices().skip(1).find(|&(_, c)| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let Some((end, _)) = end else { return Err("this string does not end on its line".into()) };
        let literal: syn::LitStr =
            syn::parse_str(&rest[..=end]).map_err(|e| format!("this is no string literal of Rust: {e}"))?;
        return Ok((Token::Text(literal.value()), end + 1));
    }
    match MARKS.iter().find(|m| rest.starts_with(**m)) {
        Some(m) => Ok((Token::Mark(m), m.len())),
        None => Err(format!("`{first}` begins no token")),
    }
}

/// The length of a number: digits, then a fraction and an exponent where there are any.
fn number(text: &str) -> usize {
    let digits = |from: usize| text[from..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |n| from + n);
    let mut end = digits(0);
    if text[end..].starts_with('.') && digits(end + 1) > end + 1 {
        end = digits(end + 1);
    }
    if text[end..].starts_with('e') {
        let sign = usize::from(text[end + 1..].starts_with(['-', '+']));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}
