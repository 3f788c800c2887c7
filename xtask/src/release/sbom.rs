//! The bill of materials of the programs, in the JSON form of CycloneDX 1.5. It has no time and no random number, so
//! that the same sources give the same bytes.

use serde_json::{Map, Value, json};

use crate::release::graph::{Crate, CrateId, Graph, Linked};

/// The bill of materials as text.
pub fn text(graph: &Graph) -> String {
    let whole = json!({
        "type": "application",
        "bom-ref": release_ref(graph),
        "name": "tilewright",
        "version": graph.version(),
        "purl": release_ref(graph),
        "licenses": licenses(&graph.crates[&graph.programs[0].root]),
    });
    let programs = graph.programs.iter().map(|p| component(graph, p.program.kind, p.program.name, &p.root));
    let is_no_program = |id: &&CrateId| !graph.programs.iter().any(|p| p.root == **id);
    let crates = graph.crates.keys().filter(is_no_program).map(|id| component(graph, "library", &id.0, id));
    let components: Vec<Value> = programs.chain(crates).chain([standard_library(graph)]).collect();
    let sbom = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": whole },
        "components": components,
        "dependencies": dependencies(graph),
    });
    format!("{sbom:#}\n")
}

fn component(graph: &Graph, kind: &str, name: &str, id: &CrateId) -> Value {
    let c = &graph.crates[id];
    let (mut out, purl) = (Map::new(), purl(graph, id));
    let version = c.version.as_str();
    for (key, value) in
        [("type", kind), ("bom-ref", purl.as_str()), ("name", name), ("version", version), ("purl", purl.as_str())]
    {
        out.insert(key.into(), value.into());
    }
    out.insert("licenses".into(), licenses(c));
    Value::Object(out)
}

fn licenses(c: &Crate) -> Value {
    match (&c.license, &c.license_file) {
        (Some(expression), _) => json!([{ "expression": expression }]),
        (None, Some(file)) => {
            let file = file.file_name().unwrap_or_default().to_string_lossy();
            json!([{ "license": { "name": format!("the file {file} of the package") } }])
        }
        (None, None) => json!([]),
    }
}

/// The package URL of a crate, by which the bill of materials refers to it. A crate of the workspace that is not
/// published has no registry.
fn purl(graph: &Graph, id: &CrateId) -> String {
    let (name, version) = id;
    let version = version.replace('+', "%2B");
    let program: Option<&Linked> = graph.programs.iter().find(|p| p.root == *id);
    match program {
        Some(p) => format!("pkg:{}@{version}", p.program.purl),
        None if graph.crates[id].is_published => format!("pkg:cargo/{name}@{version}"),
        None => format!("pkg:generic/{name}@{version}"),
    }
}

fn release_ref(graph: &Graph) -> String {
    format!("pkg:generic/tilewright@{}", graph.version())
}

/// Every program has Rust's standard library, which cargo does not know.
fn standard_library(graph: &Graph) -> Value {
    json!({
        "type": "library",
        "bom-ref": standard_library_ref(graph),
        "name": "std",
        "version": graph.rust.version,
        "purl": standard_library_ref(graph),
        "licenses": [{ "expression": "MIT OR Apache-2.0" }],
    })
}

fn standard_library_ref(graph: &Graph) -> String {
    format!("pkg:github/rust-lang/rust@{}", graph.rust.version)
}

fn dependencies(graph: &Graph) -> Vec<Value> {
    let entry = |from: String, mut on: Vec<String>| {
        on.sort();
        json!({ "ref": from, "dependsOn": on })
    };
    let programs = graph.programs.iter().map(|p| purl(graph, &p.root)).collect();
    let mut out = vec![entry(release_ref(graph), programs)];
    for id in graph.crates.keys() {
        let mut on: Vec<String> = graph.dependencies.get(id).into_iter().flatten().map(|d| purl(graph, d)).collect();
        if graph.programs.iter().any(|p| p.root == *id) {
            on.push(standard_library_ref(graph));
        }
        out.push(entry(purl(graph, id), on));
    }
    out.push(entry(standard_library_ref(graph), vec![]));
    out.sort_by_key(|d| d["ref"].to_string());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn refs(components: &[Value]) -> BTreeSet<&str> {
        components.iter().map(|c| c["bom-ref"].as_str().unwrap()).collect()
    }

    #[test]
    fn the_bill_of_materials_is_whole() {
        let graph = Graph::read().unwrap();
        let written = text(&graph);
        assert_eq!(written, text(&Graph::read().unwrap()));
        // Paths are those of one machine.
        assert!(!written.contains(crate::command::root().to_str().unwrap()));
        let sbom: Value = serde_json::from_str(&written).unwrap();
        assert_eq!((&sbom["bomFormat"], &sbom["specVersion"]), (&json!("CycloneDX"), &json!("1.5")));
        assert!(sbom.get("serialNumber").is_none() && sbom["metadata"].get("timestamp").is_none());

        let components = sbom["components"].as_array().unwrap();
        let whole = &sbom["metadata"]["component"];
        for c in components.iter().chain([whole]) {
            for field in ["type", "bom-ref", "name", "version", "purl"] {
                assert!(c[field].as_str().is_some_and(|v| !v.is_empty()), "{c} has no {field}");
            }
            assert!(c["purl"].as_str().unwrap().starts_with("pkg:"), "{c}");
            assert!(c["licenses"][0]["expression"].is_string(), "{c}");
        }
        let mut known = refs(components);
        assert_eq!(known.len(), components.len(), "a reference is there twice");
        assert!(known.insert(whole["bom-ref"].as_str().unwrap()));

        let dependencies = sbom["dependencies"].as_array().unwrap();
        let from: BTreeSet<&str> = dependencies.iter().map(|d| d["ref"].as_str().unwrap()).collect();
        assert!(from == known && from.len() == dependencies.len());
        let mut reached = BTreeSet::from([whole["bom-ref"].as_str().unwrap()]);
        let mut todo: Vec<&str> = reached.iter().copied().collect();
        while let Some(next) = todo.pop() {
            let d = dependencies.iter().find(|d| d["ref"] == next).unwrap();
            for on in d["dependsOn"].as_array().unwrap() {
                assert!(known.contains(on.as_str().unwrap()), "{next} depends on {on}, which is no component");
                if reached.insert(on.as_str().unwrap()) {
                    todo.push(on.as_str().unwrap());
                }
            }
        }
        assert_eq!(reached, known, "no program needs the others");
    }

    #[test]
    fn components_of_the_workspace_and_of_others() {
        let graph = Graph::read().unwrap();
        let sbom: Value = serde_json::from_str(&text(&graph)).unwrap();
        let components = sbom["components"].as_array().unwrap();
        let version = graph.version();
        let known = refs(components);
        for own in [
            "generic/libtile",
            "pypi/tilewright",
            "cargo/tilewright-cli",
            "cargo/tilewright-runtime",
            "generic/tilewright-challenges",
        ] {
            assert!(known.contains(format!("pkg:{own}@{version}").as_str()), "{own}");
        }
        let json = graph.crates.values().find(|c| c.name == "serde_json").unwrap();
        let purl = format!("pkg:cargo/serde_json@{}", json.version);
        let of_json = components.iter().find(|c| c["bom-ref"] == purl).unwrap();
        assert_eq!(of_json["licenses"][0]["expression"], json!("MIT OR Apache-2.0"));
        let dependencies = sbom["dependencies"].as_array().unwrap();
        let of_json = dependencies.iter().find(|d| d["ref"] == purl).unwrap()["dependsOn"].to_string();
        assert!(of_json.contains("pkg:cargo/itoa@") && !of_json.contains("serde_derive"), "{of_json}");
    }
}
