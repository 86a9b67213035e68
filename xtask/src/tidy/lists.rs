//! What may still break a rule, as lists beside this file: sources and lists -> complaints about
//! what is new.
//!
//! `cargo xtask tidy --write` writes the lists anew. They may only become shorter: what is mended
//! must be written off, so that it cannot come back.

use std::collections::{BTreeMap, BTreeSet};

use super::{File, imports};
use crate::root;

/// Longest line with a comment, in characters.
const MAX_COMMENT_WIDTH: usize = 100;

const CIRCLES: &str = "xtask/src/tidy/circles.txt";
const LONG_COMMENTS: &str = "xtask/src/tidy/long_comments.txt";

/// Complaints about circles of imports and long comments that are in no list, and about lists that
/// are too long.
pub(super) fn check_lists(files: &[File], complaints: &mut Vec<String>) {
    let circles = imports::circles(files);
    let count: usize = circles.values().map(Vec::len).sum();
    let members: usize = circles.values().flatten().map(Vec::len).sum();
    println!("circles of imports between modules: {count}, with {members} modules");
    compare(CIRCLES, &circle_lines(&circles), "modules import each other", complaints);
    compare(LONG_COMMENTS, &comment_lines(files), "comments are too long", complaints);
}

/// Writes the lists as things are.
///
/// # Errors
/// When a file cannot be written.
pub(super) fn write_lists(files: &[File]) -> Result<(), String> {
    for (path, lines) in
        [(CIRCLES, circle_lines(&imports::circles(files))), (LONG_COMMENTS, comment_lines(files))]
    {
        let mut text = lines.into_iter().collect::<Vec<_>>().join("\n");
        if !text.is_empty() {
            text.push('\n');
        }
        std::fs::write(root().join(path), text).map_err(|e| format!("{path}: {e}"))?;
    }
    Ok(())
}

/// A line for each circle: its crate and its modules.
fn circle_lines(circles: &BTreeMap<String, Vec<Vec<String>>>) -> BTreeSet<String> {
    let lines = circles.iter().flat_map(|(name, circles)| {
        circles.iter().map(move |circle| format!("{name}: {}", circle.join(" ")))
    });
    lines.collect()
}

/// A line for each file with lines that are too long because of a comment: its path, and how many
/// they are.
fn comment_lines(files: &[File]) -> BTreeSet<String> {
    let too_long = |line: &&str| {
        // What cannot be broken: links and tables.
        let fixed =
            line.contains("://") || line.trim_start_matches(['/', '!', ' ']).starts_with('|');
        line.chars().count() > MAX_COMMENT_WIDTH && line.contains("//") && !fixed
    };
    let lines = files.iter().filter(|f| f.path.ends_with(".rs")).filter_map(|file| {
        let count = file.text.lines().filter(too_long).count();
        (count > 0).then(|| format!("{} {count}", file.path))
    });
    lines.collect()
}

fn compare(path: &str, found: &BTreeSet<String>, what: &str, complaints: &mut Vec<String>) {
    let text = std::fs::read_to_string(root().join(path)).unwrap_or_default();
    let listed: BTreeSet<String> = text.lines().map(str::to_owned).collect();
    for line in found.difference(&listed) {
        complaints.push(format!("{what}, and {path} does not allow it: {line}"));
    }
    for line in listed.difference(found) {
        complaints.push(format!(
            "{path} allows what is no longer so (run `cargo xtask tidy --write`): {line}"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_comments_are_counted_and_tables_are_not() {
        let long = "x".repeat(MAX_COMMENT_WIDTH);
        let text = format!("// {long}\n//! | {long} |\n// short\nlet url = \"https://{long}\";\n");
        let files = [File { path: "crates/exmc-a/src/a.rs".to_owned(), text }];
        assert_eq!(
            comment_lines(&files).into_iter().collect::<Vec<_>>(),
            ["crates/exmc-a/src/a.rs 1"]
        );
    }
}
