//! Names: which are allowed, which are taken, and what a misspelt one may have meant.

use super::environment::{Checker, is_proportional};
use super::higher_order;
use super::signatures;
use crate::syntax::tree::Name;

/// Words that are no identifiers though the grammar has no use for them (yet).
const RESERVED: [&str; 15] = [
    "generated",
    "quantities",
    "transformed",
    "repeat",
    "until",
    "then",
    "true",
    "false",
    "typedef",
    "struct",
    "var",
    "export",
    "extern",
    "static",
    "auto",
];

/// Suffixes whose calls need a bar after the first argument.
pub(super) const CONDITIONED: [&str; 7] =
    ["_lpdf", "_lupdf", "_lupmf", "_lpmf", "_cdf", "_lcdf", "_lccdf"];

impl Checker {
    /// Reports a reserved word, or a name that ends as only the compiler's own may.
    pub(super) fn check_identifier(&mut self, name: &Name) -> Option<()> {
        if name.text.ends_with("__") {
            self.error(name.span, format!("`{}` ends in `__`, which is reserved", name.text))
                .help = Some("names must not end in two underscores".into());
            return None;
        }
        if RESERVED.contains(&&*name.text) {
            self.error(name.span, format!("`{}` is a reserved word", name.text)).help =
                Some("choose another name".into());
            return None;
        }
        Some(())
    }

    /// Reports a variable's name that is taken.
    pub(super) fn check_fresh(&mut self, name: &Name) -> Option<()> {
        if is_proportional(&name.text) {
            self.error(name.span, format!("`{}` must not end in `_lupdf` or `_lupmf`", name.text));
            return None;
        }
        if let Some(earlier) = self.binding(&name.text).map(|binding| binding.span) {
            self.error(name.span, format!("`{}` is already declared", name.text))
                .labels
                .push((earlier, "declared here first".into()));
            return None;
        }
        Some(())
    }

    /// The name that was probably meant: the closest by edits among variables, functions and the
    /// library.
    pub(super) fn nearest(&self, name: &str) -> Option<String> {
        let mut best: Option<(usize, String)> = None;
        let mut consider = |candidate: &str| {
            let stem = match candidate.rsplit_once('_') {
                Some((stem, "lpdf" | "lpmf" | "rng" | "lp")) => stem.len(),
                _ => candidate.len(),
            };
            let limit = (stem / 2).min(name.len() / 2).min(3);
            let distance = edits(name, candidate, limit);
            if distance <= limit && best.as_ref().is_none_or(|(least, _)| distance < *least) {
                best = Some((distance, candidate.to_owned()));
            }
        };
        for scope in self.scopes.iter().rev() {
            scope.keys().for_each(|key| consider(key));
        }
        self.functions.keys().for_each(|key| consider(key));
        signatures::names().iter().for_each(|key| consider(key));
        higher_order::names().for_each(&mut consider);
        if let Some((_, name)) = best {
            return Some(name);
        }
        let endings = ["_lpdf", "_lpmf", "_rng", "_cdf", "_lcdf", "_lccdf"];
        let mut with_suffix = endings.iter().map(|suffix| format!("{name}{suffix}"));
        with_suffix
            .find(|name| self.functions.contains_key(name.as_str()) || signatures::exists(name))
    }
}

/// The number of letters to insert, delete, change or swap with their neighbour to get from one
/// word to the other; more than `limit` is returned as `limit + 1`.
fn edits(from: &str, to: &str, limit: usize) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    if from.len().abs_diff(to.len()) > limit {
        return limit + 1;
    }
    let mut before = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let change = last[j] + usize::from(a != b);
            let mut least = change.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[to.len()].min(limit + 1)
}

#[cfg(test)]
mod tests {
    use super::edits;

    #[test]
    fn distances_count_edits_and_swaps() {
        for (from, to, distance) in [
            ("normal", "normal", 0),
            ("nromal", "normal", 1),
            ("sgima", "sigma", 1),
            ("mu", "tau", 2),
        ] {
            assert_eq!(edits(from, to, 5), distance, "{from} to {to}");
        }
        assert_eq!(edits("a", "abcdef", 2), 3);
    }
}
