use super::*;

fn sample() -> BundleData {
    let image = |target: &str, cubin: bool| ImageData {
        target: target.into(),
        ptx: format!("// {target}\n{}", "add.f32 %f1, %f2, %f3;\n".repeat(200)),
        cubin: cubin.then(|| (0..3000u32).map(|i| ((i * i) >> 3) as u8).collect()),
        usage: cubin.then_some(Usage { registers: 40, spill_bytes: 0, stack_bytes: 8 }),
    };
    let entry = |name: &str| EntryData {
        name: name.into(),
        threads: 128,
        shared_bytes: 4096,
        min_blocks: 2,
        ctas: 4,
        images: vec![image("sm_80", true), image("sm_90a", true), image("sm_75", false)],
    };
    BundleData { kernel: "gelu".into(), fingerprint: "0123abcd".into(), entries: vec![entry("a"), entry("b")] }
}

#[test]
fn round_trip() {
    let data = sample();
    let bytes = data.to_bytes(Compression::Small);
    assert!(bytes.len() < 20_000, "not compressed: {}", bytes.len());
    let b = Bundle::parse(&bytes).unwrap();
    assert_eq!((b.kernel(), b.fingerprint(), b.entries().len()), ("gelu", "0123abcd", 2));
    let e = b.entry("b").unwrap();
    assert_eq!((e.threads, e.shared_bytes, e.min_blocks, e.ctas), (128, 4096, 2, 4));
    assert_eq!(e.targets().collect::<Vec<_>>(), ["sm_80", "sm_90a", "sm_75"]);
    assert_eq!(e.usage("sm_80"), Some(Usage { registers: 40, spill_bytes: 0, stack_bytes: 8 }));
    assert_eq!(e.usage("sm_75"), None);
    for want in &data.entries[1].images {
        let got = b.image_of(e, &want.target).unwrap();
        assert_eq!(got.ptx().unwrap(), want.ptx);
        assert_eq!(got.cubin().unwrap(), want.cubin);
        assert_eq!(got.usage, want.usage);
    }
    assert!(b.image_of(e, "sm_100a").is_none());
    assert_eq!(b.entry("c").unwrap_err(), BundleError::NoEntry { kernel: "gelu".into(), entry: "c".into() });
}

#[test]
fn the_best_image_for_a_device() {
    let bytes = sample().to_bytes(Compression::Fast);
    let b = Bundle::parse(&bytes).unwrap();
    let e = b.entry("a").unwrap();
    // (device, target, whether machine code for it runs there)
    let cases = [
        ((7, 5), "sm_75", false),
        ((8, 0), "sm_80", true),
        ((8, 9), "sm_80", true),
        ((9, 0), "sm_90a", true),
        ((10, 0), "sm_80", false),
        ((12, 1), "sm_80", false),
    ];
    for (sm, target, cubin) in cases {
        let i = b.image_for(e, sm).unwrap();
        assert_eq!((i.target, i.cubin().unwrap().is_some()), (target, cubin), "{sm:?}");
    }
    let others = |sm| b.others_for(e, sm).map(|i| i.target).collect::<Vec<_>>();
    assert_eq!((others((9, 0)), others((8, 0)), others((7, 5))), (vec!["sm_80", "sm_75"], vec!["sm_75"], vec![]));
    let err = b.image_for(e, (7, 0)).unwrap_err();
    assert!(err.to_string().contains("TILE_TARGETS=sm_70"), "{err}");
}

#[test]
fn architectures() {
    for s in ["sm_75", "sm_80", "sm_90a", "sm_100f", "sm_120"] {
        assert_eq!(s.parse::<Arch>().unwrap().to_string(), s);
    }
    for s in ["", "sm_", "sm_9", "80", "sm_90b", "sm_9000", "sm_a", "sm_+80", "compute_80"] {
        assert!(s.parse::<Arch>().is_err(), "{s}");
    }
    let f: Arch = "sm_100f".parse().unwrap();
    assert!(f.ptx_runs_on((10, 3)) && !f.ptx_runs_on((11, 0)) && !f.ptx_runs_on((9, 0)));
}

#[test]
fn an_empty_bundle() {
    let bytes = BundleData::default().to_bytes(Compression::Fast);
    assert!(Bundle::parse(&bytes).unwrap().entries().is_empty());
}

/// A chunk without a byte.
#[test]
fn an_empty_image() {
    let image = ImageData { target: "sm_80".into(), ..ImageData::default() };
    let entry = EntryData { ctas: 1, images: vec![image], ..EntryData::default() };
    let bytes = BundleData { entries: vec![entry], ..BundleData::default() }.to_bytes(Compression::Fast);
    let b = Bundle::parse(&bytes).unwrap();
    assert_eq!(b.image_for(&b.entries()[0], (8, 0)).unwrap().ptx().unwrap(), "");
}

/// Code of more than one chunk, and of one that is larger than a chunk.
#[test]
fn several_chunks() {
    let text = |seed: usize, n: usize| (0..n).map(|i| char::from(b' ' + ((i * i + seed * i) % 90) as u8)).collect();
    let image = |ptx: String| ImageData { target: "sm_80".into(), ptx, ..ImageData::default() };
    let of = |(i, n): (usize, usize)| EntryData {
        name: format!("e{i}"),
        ctas: 1,
        images: vec![image(text(i, n))],
        ..EntryData::default()
    };
    let lengths = [CHUNK / 2, CHUNK / 2, 1, 0, CHUNK + 1, 7];
    let data = BundleData { entries: lengths.into_iter().enumerate().map(of).collect(), ..BundleData::default() };
    let bytes = data.to_bytes(Compression::Fast);
    let b = Bundle::parse(&bytes).unwrap();
    for (e, want) in b.entries().iter().zip(&data.entries) {
        assert_eq!(b.image_for(e, (8, 0)).unwrap().ptx().unwrap(), want.images[0].ptx, "{}", e.name);
    }
}

/// Everything that can be asked of a bundle; an error or the original answers, never a panic.
fn read_all(bytes: &[u8]) -> Result<Vec<(String, Option<Vec<u8>>)>, BundleError> {
    let b = Bundle::parse(bytes)?;
    let mut out = Vec::new();
    for e in b.entries() {
        for t in e.targets() {
            let i = b.image_of(e, t).expect("a target it names");
            out.push((i.ptx()?, i.cubin()?));
        }
    }
    Ok(out)
}

#[test]
fn truncated() {
    let bytes = sample().to_bytes(Compression::Fast);
    for n in 0..bytes.len() {
        assert!(read_all(&bytes[..n]).is_err(), "cut to {n} of {}", bytes.len());
    }
}

#[test]
fn flipped_bits() {
    let bytes = sample().to_bytes(Compression::Fast);
    let whole = read_all(&bytes).unwrap();
    for at in 0..bytes.len() {
        let mut b = bytes.clone();
        b[at] ^= 1 << (at % 8);
        // A few bits of a stream's header carry no meaning.
        if let Ok(got) = read_all(&b) {
            assert_eq!(got, whole, "bit {} of byte {at}", at % 8);
        }
    }
}

/// A wrong table with a right checksum, as a hostile or buggy writer could make it.
#[test]
fn lies_in_the_table() {
    let bytes = sample().to_bytes(Compression::Fast);
    let table_len = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    for at in 0..table_len {
        for v in [0, 1, 0x7f, 0xff] {
            let mut b = bytes.clone();
            b[HEADER + at] = v;
            let sum = checksum(&b[HEADER..HEADER + table_len]);
            b[16..20].copy_from_slice(&sum.to_le_bytes());
            let _ = read_all(&b);
        }
    }
}

/// Reading any bytes gives values or errors. The checksum is put right in half of the cases: else nothing behind it
/// would be reached.
#[test]
fn hostile_bundles_are_values_or_errors() {
    let read = |bytes: &[u8]| {
        let Ok(bundle) = Bundle::parse(bytes) else { return };
        let _ = (bundle.kernel().len(), bundle.fingerprint().len(), bundle.entry("a").is_ok());
        for e in bundle.entries() {
            let targets: Vec<&str> = e.targets().collect();
            for target in targets {
                let image = bundle.image_of(e, target).expect("a target it names");
                let _ = (e.usage(target), image.ptx().is_ok(), image.cubin().is_ok());
            }
            for sm in [(7, 5), (8, 0), (9, 0), (u32::MAX, u32::MAX)] {
                let _ = bundle.image_for(e, sm).is_ok();
            }
        }
    };
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/bundle");
    tilewright_hostile_inputs::attack(std::path::Path::new(corpus), |bytes| {
        read(bytes);
        let mut right = bytes.to_vec();
        if let Some(length) = right.get(12..16).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)
            && let Some(table) = right.get(HEADER..).and_then(|rest| rest.get(..length))
        {
            let sum = checksum(table).to_le_bytes();
            right[16..20].copy_from_slice(&sum);
            read(&right);
        }
    });
}

/// Writes the corpus anew, after a change of the format.
#[test]
#[ignore = "writes files of the repository"]
fn write_the_corpus() {
    let corpus = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/bundle"));
    std::fs::create_dir_all(corpus).unwrap();
    std::fs::write(corpus.join("two-entries"), sample().to_bytes(Compression::Fast)).unwrap();
    let mut small = sample();
    small.entries.truncate(1);
    small.entries[0].images.truncate(1);
    small.entries[0].images[0].ptx = "ret;".into();
    std::fs::write(corpus.join("one-image"), small.to_bytes(Compression::Fast)).unwrap();
    std::fs::write(corpus.join("no-entry"), BundleData { entries: vec![], ..sample() }.to_bytes(Compression::Fast))
        .unwrap();
}
