use super::*;

/// The PTX of rustc for five entries, among them an entry that prints and asserts, one that calls functions, and one
/// with a local array.
const UNIT: &str = include_str!("fixtures/unit.ptx");
const HEADER: &str = ".version 7.4\n.target sm_80\n.address_size 64\n";

fn bounds(threads: u32, min_blocks: u32) -> Bounds {
    Bounds { threads, min_blocks, ctas: 1, maps: 0 }
}

fn one(name: &str) -> EntryPtx {
    split(UNIT, &[(name, bounds(128, 0))]).unwrap().remove(0)
}

fn items(text: &str) -> Vec<&str> {
    Module::parse(text).unwrap().items.iter().map(|i| i.name).collect()
}

#[test]
fn every_kind_of_item_is_understood() {
    let module = Module::parse(UNIT).unwrap();
    let of = |k: Kind| module.items.iter().filter(|i| i.kind == k).map(|i| i.name).collect::<Vec<_>>();
    assert_eq!(of(Kind::Entry), ["calls", "local_array", "nothing", "plain", "shared_and_print"]);
    assert_eq!(of(Kind::Function), ["_RNvC4unit4slow", "_RNvC4unit6slower"]);
    assert_eq!(of(Kind::ExternFunction), ["vprintf", "__assertfail"]);
    let variables = of(Kind::Variable);
    assert_eq!((variables.len(), variables[0], variables[4]), (8, "tile_shared", "_RNvC4unit5TABLE"));
}

#[test]
fn an_entry_takes_what_it_needs() {
    assert_eq!(items(&one("plain").text), ["plain"]);
    assert_eq!(items(&one("nothing").text), ["nothing"]);
    assert_eq!(items(&one("calls").text), ["_RNvC4unit5TABLE", "_RNvC4unit4slow", "_RNvC4unit6slower", "calls"]);
    // Two of the strings are reached through the initializer of a third variable.
    let printing = one("shared_and_print").text;
    assert_eq!(items(&printing).len(), 10);
    assert!(printing.starts_with("//\n// Generated") && printing.contains(HEADER));
    for needed in [".extern .shared .align 1024 .b8 tile_shared[];", ".noreturn;", "generic(anon_$_3ca3_$_0)"] {
        assert!(printing.contains(needed), "{needed}");
    }
}

#[test]
fn launch_bounds_follow_the_parameters() {
    let with = split(UNIT, &[("plain", bounds(384, 2)), ("nothing", bounds(32, 0))]).unwrap();
    assert!(with[0].text.contains("plain_param_1\n)\n.reqntid 384, 1, 1\n.minnctapersm 2\n{"), "{}", with[0].text);
    assert!(with[1].text.contains(".visible .entry nothing()\n.reqntid 32, 1, 1\n{"), "{}", with[1].text);
}

#[test]
fn local_memory_is_seen() {
    assert_eq!(one("plain").local_bytes, 0);
    assert_eq!(one("local_array").local_bytes, 256);
    assert_eq!(one("shared_and_print").local_bytes, 16);
}

#[test]
fn what_cannot_run_is_an_error() {
    assert_eq!(split(UNIT, &[("absent", bounds(32, 0))]), Err(PtxError::NoEntry("absent".into())));
    // A name alone is not an entry.
    assert_eq!(split(UNIT, &[("vprintf", bounds(32, 0))]), Err(PtxError::NoEntry("vprintf".into())));
    let calls =
        format!("{HEADER}.extern .func fmodf(.param .b32 a);\n.visible .entry k()\n{{\n\tcall.uni fmodf, (x);\n}}\n");
    let unresolved = PtxError::Unresolved { entry: "k".into(), function: "fmodf".into() };
    assert_eq!(split(&calls, &[("k", bounds(32, 0))]), Err(unresolved));
    // Declared, but not called.
    let declared = calls.replace("call.uni fmodf, (x);", "ret;");
    assert_eq!(items(&split(&declared, &[("k", bounds(32, 0))]).unwrap()[0].text), ["k"]);
}

#[test]
fn a_declaration_before_its_definition() {
    let text = format!(
        "{HEADER}.func (.param .b32 r) f(.param .b32 a);\n.visible .entry k() {{ call f; ret; }}\n.func (.param .b32 r) f(.param .b32 a) {{ ret; }}"
    );
    let k = &split(&text, &[("k", bounds(32, 0))]).unwrap()[0].text;
    assert_eq!(items(k), ["f", "k"]);
    assert!(k.contains("f(.param .b32 a) { ret; }"), "{k}");
}

#[test]
fn comments_and_strings_hide_braces() {
    let text = format!(
        "{HEADER}// }} ; {{\n.visible .entry k() {{ // }}\n.pragma \"}}\"; ret; }} // ü }}\n.global .b8 ü_[2] = {{1, 2}};\n"
    );
    assert_eq!(items(&split(&text, &[("k", bounds(32, 0))]).unwrap()[0].text), ["k"]);
}

#[test]
fn broken_text_is_an_error() {
    for n in 0..UNIT.len() {
        let _ = split(&UNIT[..n], &[("calls", bounds(32, 0))]);
    }
    assert!(matches!(split("", &[]), Err(PtxError::Malformed(_))));
    assert!(matches!(split(&format!("{HEADER}.visible .entry k() {{"), &[]), Err(PtxError::Unfinished(_))));
}
