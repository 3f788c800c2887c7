//! A hash of the lowered code of every entry in the repository. A move or a rename inside the compiler changes none of
//! them. `cargo xtask bless` writes the new hashes, and the commit says which entries changed and why.

use crate::common::{bless, for_each_source};
use siphasher::sip::SipHasher13;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use tilewright_compiler::{Libraries, Source, device_units};

/// `kernel-and-configuration hash` of each entry of a file. The name of an entry is not part of its hash.
fn hashes_of(source: Source, libraries: &Libraries) -> Vec<(String, String)> {
    let units = device_units(source, libraries, Default::default());
    let of_unit = |unit: &tilewright_compiler::DeviceUnit| {
        let bodies: Vec<&str> = unit.source.split("\n#[unsafe(no_mangle)]\n").skip(1).collect();
        assert_eq!(bodies.len(), unit.entries.len(), "one function an entry");
        let hash = |body: &str| format!("{:016x}", SipHasher13::new().hash(body.as_bytes()));
        let entries = unit.entries.iter().zip(bodies);
        entries
            .map(|(e, body)| {
                let facts = format!("{} {} {} {} {}", e.threads, e.shared_bytes, e.min_blocks, e.ctas, e.maps);
                (e.name.clone(), hash(&(body.replace(&e.name, "entry") + &facts)))
            })
            .collect::<Vec<_>>()
    };
    units.iter().flat_map(of_unit).collect()
}

fn hashes() -> BTreeMap<String, String> {
    let all = Mutex::new(BTreeMap::new());
    for_each_source(|folder, source, libraries| {
        for (entry, hash) in hashes_of(source, libraries) {
            let old = all.lock().expect("no panic").insert(format!("{folder} {entry}"), hash.clone());
            assert!(old.is_none_or(|old| old == hash), "two kernels are called {entry}");
        }
    });
    all.into_inner().expect("no panic")
}

#[test]
fn lowered_code_is_as_recorded() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lowered_code.txt");
    let now = hashes();
    assert!(now.len() > 1500, "{} entries were found", now.len());
    let line = |(entry, hash): (&String, &String)| format!("{entry} {hash}\n");
    if bless() {
        fs::write(&path, now.iter().map(line).collect::<String>()).expect("a writable file");
        return;
    }
    let recorded = fs::read_to_string(&path).expect("the recorded hashes");
    let recorded: BTreeMap<String, String> = recorded
        .lines()
        .filter_map(|l| l.rsplit_once(' '))
        .map(|(entry, hash)| (entry.to_string(), hash.to_string()))
        .collect();
    let changed = |(entry, hash): (&String, &String)| (recorded.get(entry) != Some(hash)).then(|| entry.clone());
    let changed: Vec<String> = now.iter().filter_map(changed).collect();
    let gone: Vec<&String> = recorded.keys().filter(|e| !now.contains_key(*e)).collect();
    assert!(
        changed.is_empty() && gone.is_empty(),
        "{} of {} entries have other code and {} are gone; `cargo xtask bless` records that:\n  {}",
        changed.len(),
        now.len(),
        gone.len(),
        changed.iter().chain(gone).take(20).cloned().collect::<Vec<_>>().join("\n  ")
    );
}
