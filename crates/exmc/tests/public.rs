//! The public items of the facade, as one list: a change to it is a change of the library's
//! promises, and is seen in review. `EXMC_BLESS=1` writes the new list.
//!
//! Read off the sources: what public modules declare or pass on, and the public functions of types
//! that are the facade's own.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Public modules and their files; the first is the root.
const MODULES: &[(&str, &str)] = &[
    ("exmc", "lib.rs"),
    ("exmc::advanced", "advanced.rs"),
    ("exmc::infer", "infer.rs"),
    ("exmc::json", "json.rs"),
    ("exmc::model", "model.rs"),
    ("exmc::runs", "runs.rs"),
    ("exmc::stan", "stan.rs"),
];

/// The names that `a::{b, c::{d, e as f}}` brings.
fn names(tree: &str, found: &mut Vec<String>) {
    let tree = tree.trim();
    if let Some(start) = tree.find('{') {
        let inside = tree[start + 1..].trim_end().strip_suffix('}').unwrap();
        let (mut depth, mut part) = (0, String::new());
        for c in inside.chars().chain([',']) {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    if !part.trim().is_empty() {
                        names(&part, found);
                    }
                    part.clear();
                    continue;
                }
                _ => {}
            }
            part.push(c);
        }
        return;
    }
    let last = tree.rsplit("::").next().unwrap();
    found.push(last.rsplit(" as ").next().unwrap().trim().to_owned());
}

/// What a module's text declares for everybody at its outermost level.
fn declared(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("pub use ") {
        let is_line = rest[..at].is_empty() || rest[..at].ends_with('\n');
        let (tree, after) = rest[at + 8..].split_once(';').unwrap();
        if is_line {
            names(tree, &mut found);
        }
        rest = after;
    }
    for line in text.lines() {
        for kind in ["mod", "fn", "struct", "enum", "trait", "type", "const"] {
            if let Some(item) = line.strip_prefix(&format!("pub {kind} ")) {
                let end = item.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap();
                found.push(item[..end].to_owned());
            }
        }
    }
    found
}

/// Public functions of types: `Type::function`.
fn methods(text: &str) -> Vec<String> {
    let (mut found, mut of) = (Vec::new(), None);
    for line in text.lines() {
        if line.starts_with('}') {
            of = None;
        } else if line.starts_with("impl") && !line.contains(" for ") {
            // `impl<D: LogDensity> Density<D> {` is of `Density`.
            let head = line.trim_end_matches([' ', '{']);
            let name = head.rsplit(' ').next().unwrap();
            of = Some(name.split('<').next().unwrap().to_owned());
        } else if let (Some(of), Some(rest)) = (&of, line.strip_prefix("    pub fn ")) {
            let end = rest.find(['(', '<']).unwrap();
            found.push(format!("{of}::{}", &rest[..end]));
        }
    }
    found
}

fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, all);
        } else {
            all.push(path);
        }
    }
}

#[test]
fn public_items_are_those_of_the_list() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = BTreeSet::new();
    for (module, file) in MODULES {
        let text = std::fs::read_to_string(root.join("src").join(file)).unwrap();
        all.extend(declared(&text).iter().map(|name| format!("{module}::{name}")));
    }
    let public: BTreeSet<String> =
        all.iter().map(|path| path.rsplit("::").next().unwrap().to_owned()).collect();
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        let own = methods(&text).into_iter();
        all.extend(own.filter(|name| public.contains(name.split("::").next().unwrap())));
    }
    let found: String = all.iter().map(|name| format!("{name}\n")).collect();
    let path = root.join("tests/expected/public_items.txt");
    if std::env::var_os("EXMC_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let changed: Vec<&str> = {
        let (a, b): (BTreeSet<&str>, BTreeSet<&str>) =
            (found.lines().collect(), expected.lines().collect());
        a.symmetric_difference(&b).copied().collect()
    };
    assert!(changed.is_empty(), "public items changed; EXMC_BLESS=1 accepts it: {changed:#?}");
}
