//! The `use` edges between the files of a crate form no cycle. An edge goes to the file that defines the name: neither
//! a re-export nor a parent module on the way is an end of it. Paths in code count like `use` items.

mod sources;

use sources::Sources;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

type Edges = BTreeMap<PathBuf, BTreeMap<PathBuf, String>>;

/// The crates that are read.
const CRATES: [&str; 10] = [
    "kernel-compiler",
    "kernel-core",
    "kernel-build",
    "host",
    "ops",
    "conformance",
    "cli",
    "capi",
    "cache-dir",
    "model-driver",
];

/// Files of a crate that use each other in circles, and the reason.
struct Circle {
    of: &'static str,
    files: &'static [&'static str],
    reason: &'static str,
}

/// The circles that are still to be opened. Without a group of files here, the test fails for an edge between two of
/// them.
const CIRCLES: &[Circle] = &[
    Circle {
        of: "kernel-core",
        files: &["args.rs", "call.rs", "cpu/launch.rs", "desc.rs"],
        reason: "A descriptor holds the functions that take a call, and a call names its descriptor.",
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
        of: "host",
        files: &[
            "buffer.rs",
            "cuda/api.rs",
            "cuda/context.rs",
            "cuda/memory.rs",
            "cuda/module.rs",
            "event.rs",
            "plan.rs",
            "runtime.rs",
            "scratch.rs",
            "stream.rs",
            "tuner/defaults.rs",
            "tuner/key.rs",
            "tuner/mod.rs",
            "variant.rs",
        ],
        reason: "The runtime owns the parts that take it as an argument.",
    },
    Circle {
        of: "model-driver",
        files: &[
            "capture.rs",
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
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    Sources::read(&workspace.join(name)).edges()
}

#[test]
fn files_of_a_crate_use_each_other_in_no_cycle() {
    let mut wrong = vec![];
    for name in CRATES {
        let edges = edges_of(name);
        assert!(edges.values().any(|to| !to.is_empty()), "no file of {name} uses another");
        let cycles = in_cycles(&edges);
        let known: Vec<&Circle> = CIRCLES.iter().filter(|c| c.of == name).collect();
        let within = |c: &Circle, file: &Path| c.files.iter().any(|f| Path::new(f) == file);
        for (from, to, used) in &cycles {
            if !known.iter().any(|c| within(c, from) && within(c, to)) {
                wrong.push(format!("{name}: {} uses `{used}` of {}", from.display(), to.display()));
            }
        }
        for c in known {
            if !cycles.iter().any(|(from, to, _)| within(c, from) && within(c, to)) {
                wrong.push(format!("{name}: a circle is open, take it off the list: {}", c.reason));
            }
        }
    }
    assert!(wrong.is_empty(), "files use each other in a circle:\n  {}", wrong.join("\n  "));
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
