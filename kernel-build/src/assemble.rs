//! From PTX to machine code, with the messages of `ptxas`.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use tilewright_core::bundle::Usage;

use crate::cache::{Cache, Key};
use crate::ptx::{self, EntryPtx};
use crate::ptxas::Ptxas;
use crate::target::Target;

/// The build products of one entry for one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltEntry {
    pub ptx: EntryPtx,
    /// None where there was no `ptxas`.
    pub assembled: Option<Assembled>,
}

/// An entry that `ptxas` has assembled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembled {
    pub usage: Usage,
    /// ptxas found no way to let products of warpgroups run on: each is waited for where it stands.
    pub serialized: bool,
    /// Machine code.
    pub code: Option<Vec<u8>>,
}

#[derive(Debug, thiserror::Error)]
pub enum AssembleError {
    #[error("ptxas: {0}")]
    Ptxas(String),
    #[error("cannot run ptxas: {0}")]
    Io(#[from] io::Error),
}

/// Whether this ptxas knows the target, and the version of PTX of this directive of its entries; if not, why.
pub fn supports(ptxas: &Ptxas, target: &Target, version: &str, dir: &Path) -> Result<(), AssembleError> {
    let text = format!("{version}\n.target {target}\n.address_size 64\n.visible .entry e() {{ ret; }}\n");
    run(ptxas, target, &text, &dir.join(format!("probe-{target}"))).map(drop)
}

/// [`assemble`], of the entry for one block on a multiprocessor where that spills less. Then the second value is its
/// PTX.
///
/// Without a number of blocks ptxas spills some entries while it leaves most registers unused. It gives others more
/// registers than they need as soon as it is told of one block, which costs them occupancy: these stay as they are.
pub fn with_fewest_spills(
    ptxas: &Ptxas,
    cache: &Cache,
    target: &Target,
    ptx: &str,
    stem: &Path,
) -> Result<(Assembled, Option<String>), AssembleError> {
    let cubin = assemble(ptxas, cache, target, ptx, stem)?;
    if cubin.usage.spill_bytes > 0
        && let Some(text) = ptx::for_one_block(ptx)
        && let Ok(other) = assemble(ptxas, cache, target, &text, stem)
        && other.usage.spill_bytes < cubin.usage.spill_bytes
    {
        return Ok((other, Some(text)));
    }
    Ok((cubin, None))
}

/// `stem` is a path for temporary files that no other job uses.
pub fn assemble(
    ptxas: &Ptxas,
    cache: &Cache,
    target: &Target,
    ptx: &str,
    stem: &Path,
) -> Result<Assembled, AssembleError> {
    let name = target.name();
    let key = Key::of([ptxas.version.as_bytes(), name.as_bytes(), ptx.as_bytes()]);
    if let Some(c) = cache.get("cubin", &key).and_then(|b| Assembled::from_bytes(&b)) {
        return Ok(c);
    }
    let c = run(ptxas, target, ptx, stem)?;
    // Code with a warning of ptxas is assembled again by every build, which repeats the warning. A cache that cannot be
    // written to only costs time.
    if let Some(bytes) = c.to_bytes().filter(|_| !c.serialized) {
        let _ = cache.put("cubin", &key, &bytes);
    }
    Ok(c)
}

fn run(ptxas: &Ptxas, target: &Target, ptx: &str, stem: &Path) -> Result<Assembled, AssembleError> {
    let (source, out) = (stem.with_extension("ptx"), stem.with_extension("cubin"));
    fs::write(&source, ptx)?;
    let done =
        Command::new(&ptxas.path).arg(format!("-arch={target}")).args(["-v", "-o"]).arg(&out).arg(&source).output()?;
    let said = String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout);
    if !done.status.success() {
        let error = said.lines().find(|l| l.contains("error") || l.contains("fatal")).or(said.lines().next());
        return Err(AssembleError::Ptxas(error.unwrap_or("failed without a message").trim().into()));
    }
    let code = fs::read(&out)?;
    if !is_code(&code) {
        return Err(AssembleError::Ptxas("it wrote no machine code".into()));
    }
    let _ = (fs::remove_file(source), fs::remove_file(out));
    Ok(Assembled { usage: usage(&said), serialized: serialized(&said), code: Some(code) })
}

/// "Potential Performance Loss: wgmma.mma_async instructions are serialized due to ..", for any reason.
fn serialized(said: &str) -> bool {
    said.lines().any(|l| l.contains("wgmma") && l.contains("serialized"))
}

/// Functions that an entry calls are listed too: registers are the entry's, the rest adds up.
fn usage(said: &str) -> Usage {
    let mut u = Usage::default();
    for line in said.lines() {
        let number_before = |what: &str| {
            let at = line.find(what)?;
            line[..at].trim_end().rsplit(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok()
        };
        u.registers = u.registers.max(number_before(" registers").unwrap_or(0));
        u.stack_bytes += number_before(" bytes stack frame").unwrap_or(0);
        u.spill_bytes +=
            number_before(" bytes spill stores").unwrap_or(0) + number_before(" bytes spill loads").unwrap_or(0);
    }
    u
}

/// Whether bytes begin as machine code does. The driver is given no length of it.
pub fn is_code(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF")
}

impl Assembled {
    /// For the cache; none without machine code.
    fn to_bytes(&self) -> Option<Vec<u8>> {
        let (u, code) = (self.usage, self.code.as_ref()?);
        let mut out = Vec::with_capacity(code.len() + 12);
        for n in [u.registers, u.spill_bytes, u.stack_bytes] {
            out.extend(n.to_le_bytes());
        }
        out.extend(code);
        Some(out)
    }

    fn from_bytes(b: &[u8]) -> Option<Assembled> {
        let (head, code) = b.split_at_checked(12)?;
        let n = |i: usize| u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]);
        let usage = Usage { registers: n(0), spill_bytes: n(4), stack_bytes: n(8) };
        is_code(code).then(|| Assembled { usage, serialized: false, code: Some(code.to_vec()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ptxas_says() {
        let said = "ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function 'k' for 'sm_80'\n\
            ptxas info    : Function properties for k\n    \
            16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n\
            ptxas info    : Used 24 registers, used 0 barriers, 16 bytes cumulative stack size, 368 bytes cmem[0]\n";
        assert_eq!(usage(said), Usage { registers: 24, spill_bytes: 12, stack_bytes: 16 });
        assert!(!serialized(said));
        let loss = "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to \
            non wgmma instructions defining accumulator registers of a wgmma between start and end of the pipeline stage in the function 'k'\n";
        assert!(serialized(&(said.to_owned() + loss)));
    }

    /// A folder with a `ptxas` that runs a script, called with `-arch=.. -v -o OUT IN`.
    #[cfg(unix)]
    fn stand_in(name: &str, script: &str) -> (std::path::PathBuf, Ptxas, Cache, Target) {
        use std::os::unix::fs::PermissionsExt;
        let dir = std::env::temp_dir().join(format!("tile-assemble-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join("ptxas");
        fs::write(&path, format!("#!/bin/sh\nprintf '\\177ELF' > $4\n{script}\nexit 0\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let cache = Cache::at(dir.join("cache"));
        (dir, Ptxas { path, version: "1".into() }, cache, Target::parse("sm_90a").unwrap())
    }

    #[cfg(unix)]
    #[test]
    fn an_entry_that_spills_is_assembled_for_one_block() {
        // One block helps `better`, and no other entry.
        let says = |bytes| format!("echo '0 bytes stack frame, {bytes} bytes spill stores, 0 bytes spill loads' >&2");
        let (spills, fits) = (says(8), says(0));
        let script = format!(
            "if grep -q minnctapersm $5 && grep -q better $5 || grep -q fits $5; then {fits}; else {spills}; fi"
        );
        let (dir, ptxas, cache, target) = stand_in("spills", &script);
        let entry =
            |name: &str, more: &str| format!(".visible .entry {name}()\n.reqntid 32, 1, 1{more}\n{{\n\tret;\n}}\n");
        let assembled = |text: &str| with_fewest_spills(&ptxas, &cache, &target, text, &dir.join("a")).unwrap();
        let (cubin, text) = assembled(&entry("better", ""));
        assert_eq!((cubin.usage.spill_bytes, text), (0, Some(entry("better", "\n.minnctapersm 1"))));
        for (name, more, spilled) in [("fits", "", 0), ("spills", "", 8), ("spills", "\n.minnctapersm 2", 8)] {
            let (cubin, text) = assembled(&entry(name, more));
            assert_eq!((cubin.usage.spill_bytes, text), (spilled, None), "{name}{more}");
        }
        fs::remove_dir_all(dir).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn serialized_products_are_not_forgotten() {
        let says = "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register resources";
        let (dir, ptxas, cache, target) = stand_in("serialized", &format!("grep -q wgmma $5 && echo '{says}' >&2"));
        // The second time would come from the cache.
        for _ in 0..2 {
            assert!(!assemble(&ptxas, &cache, &target, "ret;", &dir.join("a")).unwrap().serialized);
            assert!(assemble(&ptxas, &cache, &target, "wgmma.mma_async;", &dir.join("b")).unwrap().serialized);
        }
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn cached_form() {
        let c = Assembled {
            usage: Usage { registers: 1, spill_bytes: 2, stack_bytes: 3 },
            serialized: false,
            code: Some(b"\x7fELF...".to_vec()),
        };
        assert_eq!(Assembled::from_bytes(&c.to_bytes().unwrap()), Some(c));
        assert_eq!(Assembled::from_bytes(b"short"), None);
        assert_eq!(Assembled::from_bytes(&[0; 40]), None);
    }
}
