//! Sources of a crate -> which modules import each other in a circle.
//!
//! Modules are files. An import is a path in code that begins with `crate`, `super`, `self` or a
//! child's name; a name that a module only passes on is followed to the module that has it. A
//! module and those inside of it count as one direction: what a folder's `mod.rs` declares, its
//! children may use.

use std::collections::{BTreeMap, BTreeSet};

use super::File;

/// A module's path inside of its crate.
type Module = Vec<String>;

/// Modules that import each other, by crate: each set is one circle, its members in order.
pub(super) fn circles(files: &[File]) -> BTreeMap<String, Vec<Vec<String>>> {
    let mut crates: BTreeMap<String, BTreeMap<Module, &str>> = BTreeMap::new();
    for file in files {
        let Some((name, path)) = split(&file.path) else { continue };
        crates.entry(name.to_owned()).or_default().insert(module_of(path), &file.text);
    }
    let mut found = BTreeMap::new();
    for (name, modules) in crates {
        let circles = circles_of(&modules);
        if !circles.is_empty() {
            found.insert(name, circles);
        }
    }
    found
}

/// `crates/exmc-graph/src/op.rs` -> the crate, and the path inside of its `src`.
fn split(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix("crates/").unwrap_or(path);
    let (name, inside) = rest.split_once("/src/")?;
    let plain = !name.contains('/') && inside.ends_with(".rs") && !inside.starts_with("bin/");
    plain.then_some((name, inside))
}

fn module_of(path: &str) -> Module {
    let path = path.trim_end_matches(".rs");
    let mut parts: Module = path.split('/').map(str::to_owned).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}

fn circles_of(modules: &BTreeMap<Module, &str>) -> Vec<Vec<String>> {
    let imports: BTreeMap<&Module, BTreeSet<Module>> =
        modules.iter().map(|(module, text)| (module, imports_of(module, text, modules))).collect();
    let mut edges: BTreeMap<&Module, BTreeSet<&Module>> = BTreeMap::new();
    for (module, paths) in &imports {
        for path in paths {
            let Some(target) = follow(path, modules, &imports, 0) else { continue };
            let one_line = target.starts_with(module) || module.starts_with(target);
            if !one_line {
                edges.entry(module).or_default().insert(target);
            }
        }
    }
    components(modules.keys().collect(), &edges)
}

/// The module that holds the item of a path; one that only passes the name on is followed.
fn follow<'a>(
    path: &[String],
    modules: &'a BTreeMap<Module, &str>,
    imports: &BTreeMap<&Module, BTreeSet<Module>>,
    depth: usize,
) -> Option<&'a Module> {
    let len = (0..=path.len()).rev().find(|&len| modules.contains_key(&path[..len]))?;
    let (module, _) = modules.get_key_value(&path[..len])?;
    if depth < 4
        && let Some(name) = path.get(len)
    {
        let passes = |other: &&Module| other.last() == Some(name) && other.starts_with(module);
        let passed = imports.get(module)?.iter().find(passes);
        if let Some(passed) = passed.filter(|other| other.len() > len + 1) {
            return follow(passed, modules, imports, depth + 1);
        }
    }
    Some(module)
}

/// Absolute paths of everything that a module's code names by a path.
fn imports_of(module: &[String], text: &str, modules: &BTreeMap<Module, &str>) -> BTreeSet<Module> {
    let code = without_comments(text);
    // Tests at the end of a file may look at whatever they like.
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut paths = BTreeSet::new();
    for statement in uses(code) {
        for path in leaves(&statement) {
            paths.extend(absolute(&path, module, modules));
        }
    }
    for word in ["crate::", "super::"] {
        for (place, _) in code.match_indices(word) {
            let plain = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            let before = code[..place].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let path = code[place..].split(|c| !plain(c)).next().unwrap_or_default();
            let path: Module = path.trim_end_matches(':').split("::").map(str::to_owned).collect();
            paths.extend(absolute(&path, module, modules));
        }
    }
    paths
}

/// A path from the crate's root; nothing for one that leads out of the crate.
fn absolute(
    path: &[String],
    module: &[String],
    modules: &BTreeMap<Module, &str>,
) -> Option<Module> {
    let first = path.first()?;
    match first.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([module, &path[1..]].concat()),
        "super" => {
            let up = path.iter().take_while(|part| *part == "super").count();
            let base = module.len().checked_sub(up)?;
            Some([&module[..base], &path[up..]].concat())
        }
        child => {
            let inner: Module = [module, &[child.to_owned()]].concat();
            modules.contains_key(&inner).then(|| [module, path].concat())
        }
    }
}

/// The trees of all `use` declarations, without `use` and `;`.
fn uses(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (place, _) in code.match_indices("use ") {
        let line = code[..place].rsplit('\n').next().unwrap_or_default().trim();
        let begins = line.is_empty() || line.starts_with("pub") && !line.contains('=');
        if begins && let Some(tree) = code[place + 4..].split(';').next() {
            found.push(tree.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    found
}

/// `a::{b::c, d as e}` -> the paths `a::b::c` and `a::d`.
fn leaves(tree: &str) -> Vec<Module> {
    fn walk(tree: &str, prefix: &[String], found: &mut Vec<Module>) {
        let tree = tree.trim();
        let parts = |text: &str| -> Module {
            let parts = text.trim().trim_end_matches("::").split("::");
            parts.map(|p| p.split(" as ").next().unwrap_or_default().trim().to_owned()).collect()
        };
        match tree.split_once('{') {
            None if tree.is_empty() => {}
            None => {
                let mut path = [prefix, &parts(tree)].concat();
                if matches!(path.last().map(String::as_str), Some("*" | "self")) {
                    path.pop();
                }
                found.push(path);
            }
            Some((head, rest)) => {
                let head: Module = if head.trim().is_empty() { Vec::new() } else { parts(head) };
                let prefix = [prefix, &head].concat();
                let rest = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
                let (mut depth, mut begin) = (0, 0);
                for (place, c) in rest.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        ',' if depth == 0 => {
                            walk(&rest[begin..place], &prefix, found);
                            begin = place + 1;
                        }
                        _ => {}
                    }
                }
                walk(&rest[begin..], &prefix, found);
            }
        }
    }
    let mut found = Vec::new();
    walk(tree, &[], &mut found);
    found
}

fn without_comments(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Sets of modules that reach each other, by Tarjan's algorithm; only those of more than one.
fn components(
    modules: Vec<&Module>,
    edges: &BTreeMap<&Module, BTreeSet<&Module>>,
) -> Vec<Vec<String>> {
    struct Search<'a, 'e> {
        edges: &'e BTreeMap<&'a Module, BTreeSet<&'a Module>>,
        numbers: BTreeMap<&'a Module, usize>,
        lowest: BTreeMap<&'a Module, usize>,
        open: Vec<&'a Module>,
        found: Vec<Vec<String>>,
    }
    impl<'a> Search<'a, '_> {
        fn visit(&mut self, module: &'a Module) {
            let number = self.numbers.len();
            self.numbers.insert(module, number);
            self.lowest.insert(module, number);
            self.open.push(module);
            for &next in self.edges.get(module).into_iter().flatten() {
                if !self.numbers.contains_key(next) {
                    self.visit(next);
                    let reached = self.lowest[next];
                    let lowest = self.lowest.entry(module).or_insert(number);
                    *lowest = reached.min(*lowest);
                } else if self.open.contains(&next) {
                    let reached = self.numbers[next];
                    let lowest = self.lowest.entry(module).or_insert(number);
                    *lowest = reached.min(*lowest);
                }
            }
            if self.lowest[module] == number {
                let begin = self.open.iter().position(|open| *open == module).unwrap_or_default();
                let mut members: Vec<String> =
                    self.open.drain(begin..).map(|member| member.join("::")).collect();
                if members.len() > 1 {
                    members.sort();
                    self.found.push(members);
                }
            }
        }
    }
    let mut search = Search {
        edges,
        numbers: BTreeMap::new(),
        lowest: BTreeMap::new(),
        open: Vec::new(),
        found: Vec::new(),
    };
    for module in modules {
        if !search.numbers.contains_key(module) {
            search.visit(module);
        }
    }
    search.found.sort();
    search.found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sources: &[(&str, &str)]) -> Vec<Vec<String>> {
        let files: Vec<File> = sources
            .iter()
            .map(|(path, text)| File {
                path: format!("crates/exmc-a/src/{path}"),
                text: (*text).to_owned(),
            })
            .collect();
        circles(&files).remove("exmc-a").unwrap_or_default()
    }

    #[test]
    fn circles_are_found_through_groups_and_names_that_are_passed_on() {
        let lib = ("lib.rs", "mod a; mod b;\npub use b::Thing;\n");
        let one_way = [lib, ("a.rs", "use crate::b::Thing;"), ("b.rs", "struct Thing;")];
        assert!(found(&one_way).is_empty());
        let both = [lib, ("a.rs", "use crate::{b::{Thing}};"), ("b.rs", "use super::a::f;")];
        assert_eq!(found(&both), [["a", "b"]]);
        // By the crate's root, which passes the name on.
        let passed = [lib, ("a.rs", "use crate::Thing;"), ("b.rs", "fn f() { crate::a::g() }")];
        assert_eq!(found(&passed), [["a", "b"]]);
    }

    #[test]
    fn a_folder_and_what_is_in_it_are_no_circle() {
        let sources = [
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod c;\nuse c::f;\nstruct A;"),
            ("a/c.rs", "use super::A;"),
        ];
        assert!(found(&sources).is_empty());
    }
}
