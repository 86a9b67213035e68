//! Checks of the sources that no compiler makes: files -> complaints, one a line.
//!
//! Rules: module docs first; the table of crates in `ARCHITECTURE.md` is the workspace, in an order
//! that manifests keep to; paths, names of files and links in documents exist; `unsafe` has its
//! reason; every family, operation and pass is named in a test; every file of tests is part of a
//! program; every page of `docs/` is in its tables of contents; no circle of imports and no long
//! comment but those listed; no `own`, `of`, `there`, `at` or `whole` is a thing's only name;
//! nothing is left "to do". Long files are only reported.

mod contents;
mod imports;
mod lists;
mod test_programs;
mod vague_names;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::root;

/// Lines that a source file should not exceed.
const MAX_FILE_LINES: usize = 600;

/// Crates for development only: they may depend on any other.
const DEV_ONLY: [&str; 2] = ["exmc-testkit", "xtask"];

/// A text file of the repository.
struct File {
    /// Its path from the root, with `/` between parts.
    path: String,
    text: String,
}

/// Writes the lists of what may still break a rule.
///
/// # Errors
/// When a file cannot be read or written.
pub(crate) fn write_lists() -> Result<(), String> {
    lists::write_lists(&sources()?)
}

fn sources() -> Result<Vec<File>, String> {
    let mut files = Vec::new();
    read_folder(&root(), &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Checks everything.
///
/// # Errors
/// All complaints.
pub(crate) fn tidy() -> Result<(), String> {
    println!("$ tidy");
    let files = sources()?;
    let paths: Vec<&str> = files.iter().map(|file| &*file.path).collect();
    let mut complaints = Vec::new();
    for file in &files {
        if file.path.ends_with(".rs") {
            check_source(file, &mut complaints);
            vague_names::check(file, &mut complaints);
        } else if file.path.ends_with(".md") {
            check_document(file, &paths, &mut complaints);
        }
    }
    lists::check_lists(&files, &mut complaints);
    contents::check(&files, &mut complaints);
    check_crates(&files, &mut complaints);
    check_test_rows(&files, &mut complaints);
    test_programs::check_test_programs(&files, &mut complaints);
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n")) }
}

fn read_folder(folder: &Path, files: &mut Vec<File>) -> Result<(), String> {
    let fail = |e: std::io::Error| format!("{}: {e}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if path.is_dir() {
            // Builds and version control hold no sources of ours.
            if !matches!(&*name, "target" | ".git" | "shared") {
                read_folder(&path, files)?;
            }
        } else if [".rs", ".md", ".toml"].iter().any(|end| name.ends_with(end)) {
            let text =
                std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let relative = path.strip_prefix(root()).unwrap_or(&path);
            let parts: Vec<_> = relative.iter().map(|p| p.to_string_lossy()).collect();
            files.push(File { path: parts.join("/"), text });
        }
    }
    Ok(())
}

fn check_source(file: &File, complaints: &mut Vec<String>) {
    let path = &file.path;
    if !file.text.starts_with("//!") {
        complaints
            .push(format!("{path}:1: the file does not begin with `//!`, what it turns into what"));
    }
    let lines: Vec<&str> = file.text.lines().collect();
    if lines.len() > MAX_FILE_LINES {
        println!("long: {path} has {} lines", lines.len());
    }
    for (k, line) in lines.iter().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        let opens = ["unsafe {", "unsafe impl"].iter().any(|word| code.contains(word));
        let quoted = code.contains('"');
        let reason = lines[k.saturating_sub(8)..=k].iter().any(|l| l.contains("SAFETY:"));
        if opens && !quoted && !reason {
            complaints.push(format!("{path}:{}: `unsafe` without a `SAFETY:` comment", k + 1));
        }
        check_left_over(path, k, line, complaints);
    }
}

/// The words are put together here so that this file passes its own check.
fn check_left_over(path: &str, k: usize, line: &str, complaints: &mut Vec<String>) {
    for word in [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")] {
        let mut words = line.split(|c: char| !c.is_ascii_alphanumeric());
        if words.any(|w| w == word) {
            complaints.push(format!("{path}:{}: {word}", k + 1));
        }
    }
}

fn check_document(file: &File, paths: &[&str], complaints: &mut Vec<String>) {
    let path = &file.path;
    let folder = root().join(path).parent().map(Path::to_owned).unwrap_or_default();
    let mut fenced = false;
    // Tables of names that were given up, and records of what was.
    let mut is_history = path.starts_with("bench/") || path == "CHANGELOG.md";
    for (k, line) in file.text.lines().enumerate() {
        check_left_over(path, k, line, complaints);
        is_history |= line.starts_with("## Earlier names");
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        for link in between(line, "](", ")") {
            let link = link.split('#').next().unwrap_or_default();
            let local = !link.is_empty() && !link.contains("://") && !link.starts_with("mailto:");
            if local && !folder.join(link).exists() {
                complaints.push(format!("{path}:{}: the link `{link}` leads nowhere", k + 1));
            }
        }
        if line.contains("`, a new file") {
            continue;
        }
        // Inside code marks; a path from the root, from `crates/`, or from the document.
        for (place, code) in line.split('`').enumerate() {
            let places = [root().join(code), root().join("crates").join(code), folder.join(code)];
            if place % 2 == 1 && is_path(code) && !places.iter().any(|p| p.exists()) {
                complaints.push(format!("{path}:{}: there is no `{code}`", k + 1));
            } else if place % 2 == 1
                && !is_history
                && is_part_of_path(code)
                && !has_end(paths, code)
            {
                complaints.push(format!("{path}:{}: no path ends in `{code}`", k + 1));
            }
        }
    }
}

fn between<'a>(line: &'a str, open: &'a str, close: &'a str) -> impl Iterator<Item = &'a str> {
    line.split(open).skip(1).filter_map(move |rest| rest.split(close).next())
}

/// Whether code in a document is meant as a path of this repository.
fn is_path(code: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let first = code.split('/').next().unwrap_or_default();
    let ours = matches!(first, "crates" | "docs" | "bench" | "xtask" | ".ci" | "reference")
        || (first.starts_with("exmc-") || first == "exmc") && code.contains(".rs");
    code.contains('/') && code.chars().all(plain) && ours
}

/// Whether code in a document is meant as the end of a source's path: a file's name, or a folder
/// and what is in it.
fn is_part_of_path(code: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let rooted = is_path(code) || code.starts_with(['/', '.', '-']);
    let named = code.len() > 3 && code.ends_with(".rs");
    code.chars().all(plain) && !rooted && (named || code.contains('/') && code.ends_with('/'))
}

/// Whether the path of some source ends so, or has the folder in it.
fn has_end(paths: &[&str], code: &str) -> bool {
    let inner = format!("/{code}");
    paths.iter().any(|path| {
        *path == code
            || path.ends_with(&inner)
            || code.ends_with('/') && path.contains(&inner)
            || path.starts_with(code) && code.ends_with('/')
    })
}

/// Crates in the order of `ARCHITECTURE.md`: the workspace's, each depending on earlier ones only.
fn check_crates(files: &[File], complaints: &mut Vec<String>) {
    let manifest = |name: &str| {
        let path = if name == "xtask" {
            "xtask/Cargo.toml".into()
        } else {
            format!("crates/{name}/Cargo.toml")
        };
        files.iter().find(|f| f.path == path)
    };
    let table = files.iter().find(|f| f.path == "ARCHITECTURE.md");
    let rows = table.map_or("", |f| &f.text).lines().filter_map(|line| {
        let name = line.strip_prefix("| `")?.split('`').next()?;
        manifest(name)
            .map(|_| name.to_owned())
            .or_else(|| name.starts_with("exmc").then(|| name.to_owned()))
    });
    let listed: Vec<String> = rows.collect();
    let in_tree = |f: &File| {
        // Fuzz targets are built by cargo-fuzz alone, and `nn/` is a workspace of its own.
        let is_member = |name: &&str| *name != "fuzz" && *name != "nn" && !name.starts_with("nn/");
        let name = f.path.strip_suffix("/Cargo.toml").filter(is_member)?;
        Some(name.strip_prefix("crates/").unwrap_or(name).to_owned())
    };
    let members: BTreeSet<String> = files.iter().filter_map(in_tree).collect();
    let named: BTreeSet<String> = listed.iter().cloned().collect();
    for name in members.symmetric_difference(&named) {
        let where_found = if named.contains(name) { "ARCHITECTURE.md" } else { "the workspace" };
        complaints.push(format!("crate `{name}` is in {where_found} only"));
    }
    for (place, name) in listed.iter().enumerate() {
        let Some(file) = manifest(name) else { continue };
        if DEV_ONLY.contains(&name.as_str()) {
            continue;
        }
        for needed in dependencies(&file.text) {
            if !listed[..place].contains(&needed) {
                complaints.push(format!(
                    "{}: `{name}` depends on `{needed}`, which does not lie above it in ARCHITECTURE.md",
                    file.path
                ));
            }
        }
    }
}

/// Our own crates among a manifest's ordinary dependencies.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut names = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line.trim();
        }
        let name: String =
            line.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect();
        if section == "[dependencies]" && (name == "exmc" || name.starts_with("exmc-")) {
            names.push(name);
        }
    }
    names
}

/// Every family, operation and pass must be named in a test.
fn check_test_rows(files: &[File], complaints: &mut Vec<String>) {
    let sources = |folder: &str| {
        let folder = folder.to_owned();
        files.iter().filter(move |f| f.path.starts_with(&folder) && f.path.ends_with(".rs"))
    };
    let tests_of = |name: &str| {
        let folder = root().join("crates").join(name).join("tests");
        let mut text = String::new();
        read_tests(&folder, &mut text);
        text
    };
    let model = tests_of("exmc-model");
    let kit = tests_of("exmc-testkit");
    for file in sources("crates/exmc-model/src/distribution/") {
        let Some(name) = file.path.rsplit('/').next().and_then(|n| n.strip_suffix(".rs")) else {
            continue;
        };
        if file.text.contains("impl Distribution for") && !has_word(&model, name) {
            complaints.push(format!("{}: no test of exmc-model names `{name}`", file.path));
        }
    }
    for file in sources("crates/exmc-model/src/rewrite/mod.rs") {
        let names =
            file.text.lines().filter_map(|l| l.trim().strip_prefix("name: \"")?.split('"').next());
        for name in names.filter(|n| !model.contains(*n) && !kit.contains(*n)) {
            complaints.push(format!("{}: no test names the pass `{name}`", file.path));
        }
    }
    let graph = tests_of("exmc-graph");
    for file in sources("crates/exmc-graph/src/op.rs") {
        let body =
            file.text.split("pub enum Op {").nth(1).and_then(|rest| rest.split("\n}").next());
        let variants = body.unwrap_or_default().lines().filter_map(|line| {
            let name = line.strip_prefix("    ")?;
            name.starts_with(char::is_uppercase)
                .then(|| name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default())
        });
        for variant in variants.filter(|v| !matches!(*v, "Constant" | "Input")) {
            // As a variant, or by the name of the call that makes it.
            let named = [format!("Op::{variant}"), snake_case(variant)];
            if !named.iter().any(|name| has_word(&graph, name)) {
                complaints
                    .push(format!("{}: no test of exmc-graph names `Op::{variant}`", file.path));
            }
        }
    }
}

/// `LogAbsDet` -> `log_abs_det`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

/// Whether `word` occurs with no letter, digit or underscore on either side.
fn has_word(text: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + word.len()..].chars().next();
        !before.is_some_and(inside) && !after.is_some_and(inside)
    })
}

/// All tests and their tables, in one string.
fn read_tests(folder: &PathBuf, text: &mut String) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            read_tests(&path, text);
        } else if path.extension().is_some_and(|e| e == "rs" || e == "csv" || e == "json")
            && let Ok(content) = std::fs::read_to_string(&path)
        {
            text.push_str(&content);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints_of(path: &str, text: &str) -> Vec<String> {
        let file = File { path: path.to_owned(), text: text.to_owned() };
        let mut complaints = Vec::new();
        if path.ends_with(".rs") {
            check_source(&file, &mut complaints);
        } else {
            check_document(&file, &["xtask/src/tidy.rs"], &mut complaints);
        }
        complaints
    }

    #[test]
    fn each_rule_about_one_file_bites() {
        assert!(complaints_of("a.rs", "//! Docs.\nfn f() {}\n").is_empty());
        assert_eq!(complaints_of("a.rs", "fn f() {}\n").len(), 1);
        let open = concat!("unsafe", " { g() }");
        assert_eq!(complaints_of("a.rs", &format!("//! Docs.\n{open}\n")).len(), 1);
        assert!(complaints_of("a.rs", &format!("//! Docs.\n// SAFETY: ok.\n{open}\n")).is_empty());
        assert_eq!(complaints_of("a.md", concat!("TO", "DO: more")).len(), 1);
        assert_eq!(complaints_of("a.md", "[gone](gone.md)").len(), 1);
        assert_eq!(complaints_of("a.md", "see `xtask/src/gone.rs`").len(), 1);
        assert_eq!(complaints_of("a.md", "see `gone.rs`, `src/gone/`").len(), 2);
        assert!(complaints_of("a.md", "see `tidy.rs`, `src/`, `a / b`").is_empty());
        assert!(complaints_of("a.md", "## Earlier names\n| `gone.rs` |").is_empty());
        assert!(
            complaints_of("a.md", "see `xtask/src/tidy.rs` and [it](xtask/src/tidy.rs)").is_empty()
        );
    }

    #[test]
    fn dependencies_are_read_from_their_section_only() {
        let manifest = "[dependencies]\nexmc-math = { workspace = true }\nexmc-graph.workspace = true\nlibm = \"1\"\n\
                        [dev-dependencies]\nexmc-model = { workspace = true }\n";
        assert_eq!(dependencies(manifest), ["exmc-math", "exmc-graph"]);
    }

    #[test]
    fn words_are_whole() {
        assert!(has_word("find(\"beta\")", "beta") && !has_word("beta_inc half_beta", "beta"));
    }
}
