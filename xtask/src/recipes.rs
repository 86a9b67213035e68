//! The recipes of `docs/recipes.md` -> each followed in a scratch copy of the sources: files
//! counted, tests run.
//!
//! A recipe is a section. A fenced block goes into the file that the last line above it names as
//! "in `FILE`, before `LINE`" or "in `FILE`, a new file"; a block of kind `text` is what a script
//! writes, and its file does not count. Longer tables are named: "in `FILE`, before `LINE`, those
//! of `TABLE`". "Files by hand: at most N" is the limit; "Run `cargo ...`" is a command.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{ci, root};

const DOCUMENT: &str = "docs/recipes.md";

/// Lines to write before the first line that begins with an anchor; a new file, if that is empty.
#[derive(Debug, PartialEq)]
struct Insertion {
    file: String,
    anchor: String,
    lines: String,
    by_script: bool,
}

#[derive(Debug, Default, PartialEq)]
struct Recipe {
    name: String,
    /// Files that a person edits, at most.
    limit: usize,
    insertions: Vec<Insertion>,
    commands: Vec<String>,
}

/// Follows the recipes whose names hold one of `names`, or all.
///
/// # Errors
/// When a name is no recipe's; when a recipe cannot be followed, takes more files than it says, or
/// a command fails.
pub(crate) fn recipes(names: &[&str]) -> Result<(), String> {
    let path = root().join(DOCUMENT);
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{DOCUMENT}: {e}"))?;
    let scratch = ci::target_folder().join("recipes");
    let mut all = parse(&text)?;
    if let Some(name) = names.iter().find(|name| !all.iter().any(|r| r.name.contains(**name))) {
        let known: Vec<&str> = all.iter().map(|recipe| recipe.name.as_str()).collect();
        return Err(format!("no recipe for `{name}`; there are {}", known.join(", ")));
    }
    all.retain(|recipe| names.is_empty() || names.iter().any(|name| recipe.name.contains(name)));
    for recipe in all {
        println!("recipe: {}, {} files by hand", recipe.name, recipe.files_by_hand());
        let fail = |why: String| format!("the recipe for {}: {why}", recipe.name);
        let sources = scratch.join("sources");
        copy_sources(&sources)?;
        for insertion in &recipe.insertions {
            let file = sources.join(&insertion.file);
            let text = if insertion.anchor.is_empty() {
                insertion.lines.clone()
            } else {
                let text = std::fs::read_to_string(&file)
                    .map_err(|e| fail(format!("{}: {e}", insertion.file)))?;
                insertion.apply(&text).map_err(&fail)?
            };
            std::fs::write(&file, text).map_err(|e| fail(format!("{}: {e}", insertion.file)))?;
        }
        for line in &recipe.commands {
            println!("$ {line}");
            let mut command = Command::new(ci::program());
            command.current_dir(&sources).args(line.split(' ').skip(1));
            command.env("CARGO_TARGET_DIR", scratch.join("target"));
            let status = command.status().map_err(|e| fail(format!("{line}: {e}")))?;
            if !status.success() {
                return Err(fail(format!("`{line}` fails")));
            }
        }
    }
    Ok(())
}

impl Recipe {
    fn files_by_hand(&self) -> usize {
        let by_hand = self.insertions.iter().filter(|insertion| !insertion.by_script);
        by_hand.map(|insertion| &insertion.file).collect::<BTreeSet<_>>().len()
    }

    fn check(&self) -> Result<(), String> {
        let (name, count) = (&self.name, self.files_by_hand());
        if self.insertions.is_empty() || self.commands.is_empty() {
            return Err(format!("the recipe for {name} has no example or no command"));
        }
        if count > self.limit {
            return Err(format!(
                "the recipe for {name} takes {count} files, more than {}",
                self.limit
            ));
        }
        Ok(())
    }
}

impl Insertion {
    fn apply(&self, text: &str) -> Result<String, String> {
        let mut place = 0;
        for line in text.split_inclusive('\n') {
            if line.trim_start().starts_with(&self.anchor) {
                return Ok([&text[..place], &self.lines, &text[place..]].concat());
            }
            place += line.len();
        }
        Err(format!("no line of {} begins with `{}`", self.file, self.anchor))
    }
}

/// The recipes of a document, each checked against its limit.
fn parse(text: &str) -> Result<Vec<Recipe>, String> {
    let mut recipes: Vec<Recipe> = Vec::new();
    let mut goal: Option<(String, String)> = None;
    let mut block: Option<(bool, String)> = None;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            recipes.push(Recipe { name: name.to_owned(), ..Recipe::default() });
            continue;
        }
        let Some(recipe) = recipes.last_mut() else { continue };
        if let Some((by_script, lines)) = &mut block {
            if line != "```" {
                lines.push_str(line);
                lines.push('\n');
                continue;
            }
            let (file, anchor) =
                goal.take().ok_or_else(|| format!("{}: a block without a place", recipe.name))?;
            let (by_script, lines) = (*by_script, std::mem::take(lines));
            recipe.insertions.push(Insertion { file, anchor, lines, by_script });
            block = None;
        } else if let Some(kind) = line.strip_prefix("```") {
            block = Some((kind == "text", String::new()));
        } else if let Some(rest) = line.strip_prefix("Files by hand: at most ") {
            let number = rest.split('.').next().unwrap_or_default();
            recipe.limit = number.parse().map_err(|e| format!("{}: {e}", recipe.name))?;
        } else if let Some(command) = line.strip_prefix("Run `") {
            recipe.commands.push(command.trim_end_matches('.').trim_end_matches('`').to_owned());
        } else if let Some((file, anchor, table)) = place(line) {
            let Some(table) = table else {
                goal = Some((file, anchor));
                continue;
            };
            let path = root().join(&table);
            let lines = std::fs::read_to_string(path).map_err(|e| format!("{table}: {e}"))?;
            recipe.insertions.push(Insertion { file, anchor, lines, by_script: true });
        }
    }
    recipes.iter().try_for_each(Recipe::check)?;
    Ok(recipes)
}

/// The file, the anchor (empty for a new file) and the table that a line of a recipe names.
fn place(line: &str) -> Option<(String, String, Option<String>)> {
    let (_, rest) = line.split_once("n `")?;
    if let Some((file, _)) = rest.split_once("`, a new file") {
        return Some((file.to_owned(), String::new(), None));
    }
    let (file, rest) = rest.split_once("`, before ")?;
    // An anchor with code marks of its own stands between two of them on either side.
    let marks = if rest.starts_with("``") { "``" } else { "`" };
    let (anchor, rest) = rest.strip_prefix(marks)?.split_once(marks)?;
    let table = rest.split_once("those of `").and_then(|(_, rest)| rest.split_once('`'));
    Some((file.to_owned(), anchor.to_owned(), table.map(|(table, _)| table.to_owned())))
}

/// Copies what version control knows of the sources, where it differs.
fn copy_sources(to: &Path) -> Result<(), String> {
    let listed = Command::new("git").current_dir(root()).arg("ls-files").output();
    let listed = listed.map_err(|e| format!("git: {e}"))?;
    let ours = |name: &&str| !name.starts_with("nn/") && !name.starts_with("bench/");
    for name in String::from_utf8_lossy(&listed.stdout).lines().filter(ours) {
        let (from, to): (PathBuf, PathBuf) = (root().join(name), to.join(name));
        let fail = |e: std::io::Error| format!("{name}: {e}");
        let Ok(text) = std::fs::read(&from) else { continue };
        // An unchanged file keeps its time, so that nothing is built twice.
        if std::fs::read(&to).is_ok_and(|old| old == text) {
            continue;
        }
        if let Some(folder) = to.parent() {
            std::fs::create_dir_all(folder).map_err(fail)?;
        }
        std::fs::write(&to, text).map_err(fail)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = "# Head\n## A thing\nFiles by hand: at most 1. Tables do not count.\n\
        In `crates/a.rs`, before `b`:\n```rust\n  new\n```\n\
        Rows, in `crates/a.csv`, before `c`:\n```text\nrow\n```\nRun `cargo test -p a`.\n";

    #[test]
    fn a_recipe_is_read_and_applied() {
        let recipe = parse(EXAMPLE).unwrap().remove(0);
        assert_eq!((recipe.limit, recipe.files_by_hand()), (1, 1));
        assert_eq!(recipe.commands, ["cargo test -p a"]);
        assert_eq!(recipe.insertions[0].apply("a\n  b\n").unwrap(), "a\n  new\n  b\n");
        assert!(recipe.insertions[1].by_script && recipe.insertions[1].apply("a\n").is_err());
        let text = EXAMPLE.replace("before `b`", "a new file");
        assert!(parse(&text).unwrap()[0].insertions[0].anchor.is_empty());
    }

    #[test]
    fn a_recipe_that_takes_more_files_than_it_says_is_refused() {
        assert!(parse(&EXAMPLE.replace("most 1", "most 0")).is_err());
        assert!(parse(&EXAMPLE.replace("Run", "Then")).is_err());
    }

    /// What adding costs: the numbers may only become smaller.
    #[test]
    fn adding_costs_no_more_files_than_promised() {
        let text = std::fs::read_to_string(root().join(DOCUMENT)).unwrap();
        let recipes = parse(&text).unwrap();
        let most = |name: &str| recipes.iter().find(|r| r.name == name).map(|r| r.limit);
        assert_eq!(most("A Stan function of numbers"), Some(3));
        assert_eq!(most("A family of distributions for Stan programs"), Some(3));
        assert_eq!(most("An elementwise operation of graphs"), Some(6));
        assert_eq!(most("A model of the calibration campaign"), Some(1));
        assert_eq!(most("A family of distributions"), Some(3));
        let all = recipes.iter().flat_map(|recipe| &recipe.insertions);
        for insertion in all.filter(|insertion| !insertion.anchor.is_empty()) {
            let text = std::fs::read_to_string(root().join(&insertion.file)).unwrap();
            insertion.apply(&text).unwrap();
        }
    }
}
