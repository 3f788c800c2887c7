//! The output of the command. A line that cannot be written, as to a full disk, ends the command with a message and
//! status 1: `println!` would panic.

use std::fmt::Arguments;
use std::io::{self, Write};

/// `println!` for this command.
macro_rules! outln {
    () => { $crate::out::write(format_args!("\n")) };
    ($($text:tt)*) => { $crate::out::write(format_args!("{}\n", format_args!($($text)*))) };
}
pub(crate) use outln;

pub fn write(text: Arguments) {
    io::stdout().write_fmt(text).unwrap_or_else(|e| fail(&e));
}

/// To be called at the end: the last line may not have been written yet.
pub fn finish() {
    io::stdout().flush().unwrap_or_else(|e| fail(&e));
}

/// A message on stderr. If it cannot be written nobody can be told.
pub fn error(text: Arguments) {
    let _ = writeln!(io::stderr(), "error: {text}");
}

pub fn fail(e: &io::Error) -> ! {
    error(format_args!("the output cannot be written: {e}"));
    std::process::exit(1)
}
