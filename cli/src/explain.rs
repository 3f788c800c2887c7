//! `tile explain CODE`

use crate::out::{self, outln};
use anyhow::Result;
use tilewright_compiler::explain;

#[derive(clap::Args)]
pub struct Args {
    /// The code of a message of the compiler, as T0501, t0501 or 501; without it all codes are listed
    code: Option<String>,
}

pub fn main(args: Args) -> Result<bool> {
    match args.code {
        Some(text) => {
            let code = explain::find(&text).map_err(anyhow::Error::msg)?;
            out::write(format_args!("{}", explain::page(code).text()));
        }
        None => list(),
    }
    Ok(true)
}

fn list() {
    for (i, group) in explain::groups().iter().enumerate() {
        if i > 0 {
            outln!();
        }
        outln!("{}", group.title);
        group.pages.iter().for_each(|page| outln!("  {}  {}", page.code, page.title));
    }
}
