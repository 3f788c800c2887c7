//! The `use` edges between the files of a crate form no cycle. An edge goes to the file that defines the name: neither
//! a re-export nor a parent module on the way is an end of it. Paths in code count like `use` items. `use super::*`,
//! which hides the used names, stands in tests alone.

mod sources;

use sources::Sources;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Edges = BTreeMap<PathBuf, BTreeMap<PathBuf, String>>;

/// The folders of the workspace's packages that have sources of their own. The others are tests alone, or take another
/// package's sources.
fn crates() -> Vec<String> {
    let manifest = fs::read_to_string(workspace().join("Cargo.toml")).expect("the workspace's manifest");
    let members = manifest.split_once("\nmembers = [").expect("the members").1.split_once(']').expect("the end").0;
    let names = members.split(',').map(|m| m.trim().trim_matches('"').to_string()).filter(|m| !m.is_empty());
    names.filter(|m| workspace().join(m).join("src").is_dir()).collect()
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

/// Files of a crate that use each other in circles, and the reason.
struct Circle {
    of: &'static str,
    files: &'static [&'static str],
    reason: &'static str,
}

/// The circles that are still to be opened. Without a group of files here, the test fails for an edge between two of
/// them. It fails for a file here that is in no circle.
const CIRCLES: &[Circle] = &[
    Circle {
        of: "kernel-core",
        files: &["cpu/launch.rs", "desc.rs"],
        reason: "The CPU code of a descriptor is a function of a program, and a launch of programs takes that code.",
    },
    Circle {
        of: "kernel-core",
        files: &[
            "device/atomics.rs",
            "device/debug.rs",
            "device/hw/host.rs",
            "device/hw/mod.rs",
            "device/mem.rs",
            "device/mod.rs",
        ],
        reason: "The emulated layer of hardware steps takes types of the device library above it.",
    },
    Circle {
        of: "kernel-core",
        files: &[
            "emulator/access.rs",
            "emulator/cluster.rs",
            "emulator/groups.rs",
            "emulator/in_flight.rs",
            "emulator/vector_clock.rs",
            "emulator/machine.rs",
            "emulator/mbarrier.rs",
            "emulator/memory.rs",
            "emulator/mod.rs",
            "emulator/named_barrier.rs",
            "emulator/order.rs",
            "emulator/registers.rs",
            "emulator/shadow.rs",
            "emulator/state.rs",
            "emulator/tensor.rs",
            "emulator/wgmma.rs",
        ],
        reason: "The parts of the emulated machine reach each other through the machine.",
    },
    Circle {
        of: "kernel-core",
        files: &["scalar/cast.rs", "scalar/float8.rs", "scalar/mod.rs"],
        reason: "A scalar type implements its conversions to the others.",
    },
    Circle {
        of: "kernel-build",
        files: &["bundle.rs", "compile.rs"],
        reason: "The build writes bundles, whose functions take the build.",
    },
    Circle {
        of: "model-driver",
        files: &[
            "capture.rs",
            "devices.rs",
            "launch.rs",
            "lib.rs",
            "memory.rs",
            "process.rs",
            "report.rs",
            "state.rs",
            "tensor_map.rs",
            "thread.rs",
        ],
        reason: "The model of the driver is one state, which its parts reach through the root.",
    },
];

/// The files that can be reached from a file along edges.
fn reached<'e>(edges: &'e Edges, from: &'e Path) -> BTreeSet<&'e Path> {
    let (mut out, mut todo) = (BTreeSet::new(), vec![from]);
    while let Some(at) = todo.pop() {
        for to in edges.get(at).into_iter().flat_map(|to| to.keys()) {
            if out.insert(to.as_path()) {
                todo.push(to);
            }
        }
    }
    out
}

/// The edges that are part of a cycle, with a name that one file uses of the other.
fn in_cycles(edges: &Edges) -> Vec<(&Path, &Path, &str)> {
    let reach: BTreeMap<&Path, BTreeSet<&Path>> = edges.keys().map(|f| (f.as_path(), reached(edges, f))).collect();
    let all =
        edges.iter().flat_map(|(from, to)| to.iter().map(move |(to, name)| (from.as_path(), to.as_path(), &**name)));
    all.filter(|(from, to, _)| reach.get(to).is_some_and(|r| r.contains(from))).collect()
}

fn edges_of(name: &str) -> Edges {
    Sources::read(&workspace().join(name)).edges()
}

#[test]
fn files_of_a_crate_use_each_other_in_no_cycle() {
    let (mut wrong, mut uses, crates) = (vec![], 0, crates());
    assert!(crates.len() > 20, "the workspace has {crates:?}");
    for name in &crates {
        let edges = edges_of(name);
        uses += edges.values().map(BTreeMap::len).sum::<usize>();
        let cycles = in_cycles(&edges);
        let known: Vec<&Circle> = CIRCLES.iter().filter(|c| c.of == name).collect();
        let within = |c: &Circle, file: &Path| c.files.iter().any(|f| Path::new(f) == file);
        for (from, to, used) in &cycles {
            if !known.iter().any(|c| within(c, from) && within(c, to)) {
                wrong.push(format!("{name}: {} uses `{used}` of {}", from.display(), to.display()));
            }
        }
        for c in known {
            let in_circle = |file: &&&str| {
                cycles.iter().any(|(from, to, _)| *from == Path::new(file) && within(c, from) && within(c, to))
            };
            let open = c.files.iter().filter(|file| !in_circle(file));
            wrong
                .extend(open.map(|file| format!("{name}: {file} is in no circle, take it off the list: {}", c.reason)));
        }
    }
    assert!(uses > 1000, "{uses} uses were found");
    assert!(wrong.is_empty(), "files use each other in a circle:\n  {}", wrong.join("\n  "));
}

/// A module outside of tests names the items that it takes of its parent.
#[test]
fn modules_do_not_take_all_of_their_parent() {
    let all = crates();
    let found = all.iter().flat_map(|name| {
        let files = Sources::read(&workspace().join(name)).with_all_of_parent();
        files.into_iter().map(move |file| format!("{name}/src/{}", file.display()))
    });
    let found: Vec<String> = found.collect();
    assert!(found.is_empty(), "`use super::*` stands in\n  {}", found.join("\n  "));
}

/// The search finds a circle of three files, and no edge that only leads to it.
#[test]
fn a_circle_is_found() {
    let edge = |from: &str, to: &str| (from.into(), BTreeMap::from([(to.into(), "name".to_string())]));
    let edges = Edges::from([edge("a", "b"), edge("b", "c"), edge("c", "a"), edge("d", "a")]);
    let found: Vec<_> = in_cycles(&edges).into_iter().map(|(from, _, _)| from.to_path_buf()).collect();
    assert_eq!(found, ["a", "b", "c"].map(PathBuf::from));
}

#[test]
fn an_edge_goes_to_the_file_that_defines_the_name() {
    let edges = edges_of("kernel-compiler");
    let to = |from: &str, to: &str| edges[Path::new(from)].contains_key(Path::new(to));
    // By a `use`, by a path in code, and behind a re-export of the parent module.
    assert!(to("codegen/dot.rs", "codegen/context.rs"));
    assert!(to("front/infer/mod.rs", "front/parse/types.rs"));
    assert!(to("codegen/elementwise.rs", "layout/linear/layout.rs"));
    assert!(!to("codegen/elementwise.rs", "layout/linear/mod.rs"));
}
