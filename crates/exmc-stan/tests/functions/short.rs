//! Where the program falls short of the tables: `short.txt`, a line for each function with how many claims do not hold and why.
//!
//! More than these fail the gate. What is `not yet` there fails it too as soon as it works, so that it is taken off.

use std::collections::BTreeMap;

/// How many claims may not hold, and whether some must not, by `graph` or `host` and the function's name.
pub(crate) struct Short(BTreeMap<(String, String), (usize, bool)>);

impl Short {
    /// The list. A reason is part of every line.
    pub(crate) fn read() -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/functions/short.txt");
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"));
        let mut all = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let words: Vec<&str> = line.splitn(4, ' ').collect();
            let &[who, name, count, reason] = words.as_slice() else { panic!("{path}: {line}") };
            assert!(!reason.trim().is_empty(), "{name} has no reason");
            let excused = (count.parse().expect("a count"), reason.starts_with("not yet"));
            let before = all.insert((who.to_owned(), name.to_owned()), excused);
            assert!(before.is_none(), "{who} {name} is listed twice");
        }
        Self(all)
    }

    /// The lines of a function that the list does not excuse.
    pub(crate) fn beyond(&self, who: &str, name: &str, mut lines: Vec<String>) -> Vec<String> {
        let key = (who.to_owned(), name.to_owned());
        let Some((excused, must_fail)) = self.0.get(&key).copied() else {
            if !lines.is_empty() {
                lines.push(format!("{who} {name} {} (not in short.txt)", lines.len()));
            }
            return lines;
        };
        if lines.len() <= excused && (!must_fail || !lines.is_empty()) {
            return Vec::new();
        }
        lines.push(format!("{who} {name} {} (in short.txt: {excused})", lines.len()));
        lines
    }
}
