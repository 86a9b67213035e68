//! The library's functions: a name -> the argument lists that it takes and what each returns.
//!
//! Signatures follow rules and are written as rules (`pattern` explains the notation); they are
//! expanded when a program calls the function. Functions that take functions are in
//! [`super::higher_order`].

mod containers;
mod elementwise;
mod families;
mod linear_algebra;
mod pattern;
mod removed;

use std::collections::BTreeMap;
use std::sync::LazyLock;

pub(super) use pattern::expand;
pub(super) use removed::replacement;

pub use crate::families::{Family, Functions, Slot, families, family};
use crate::scalar_functions::{self, Shapes};
use crate::typed::Type;

/// What one slot of a signature takes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parameter {
    /// Whether it must not depend on parameters.
    pub data_only: bool,
    /// Its type.
    pub ty: Type,
}

/// One list of arguments with the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// What it takes, in order.
    pub arguments: Vec<Parameter>,
    /// What it returns.
    pub returns: Type,
}

/// Names of functions (several with spaces between them) and their patterns.
type Rule = (&'static str, &'static str);

/// Patterns by name; densities are not in it, [`families`] answers for them.
static RULES: LazyLock<BTreeMap<&'static str, Vec<&'static str>>> = LazyLock::new(|| {
    let mut rules: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in scalar_functions::all() {
        rules.entry(row.name).or_default().extend(row.shapes.map(Shapes::pattern));
    }
    rules.retain(|_, patterns| !patterns.is_empty());
    let tables = [elementwise::RULES, containers::RULES, linear_algebra::RULES, families::RULES];
    for (names, pattern) in tables.into_iter().flatten() {
        for name in names.split_whitespace() {
            rules.entry(name).or_default().push(pattern);
        }
    }
    rules
});

/// All signatures of a library function by its name (`normal_lpdf`, not `normal_lupdf`); empty if
/// there is none of that name.
pub fn signatures(name: &str) -> Vec<Signature> {
    let mut text = families::pattern(name).unwrap_or_default();
    for pattern in RULES.get(name).into_iter().flatten() {
        text.push(';');
        text.push_str(pattern);
    }
    pattern::expand(&text)
}

/// Whether the library has a function of this name (functions that take functions apart).
pub fn exists(name: &str) -> bool {
    RULES.contains_key(name) || families::pattern(name).is_some()
}

/// All names, sorted.
pub fn names() -> &'static [String] {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let mut names: Vec<String> = RULES.keys().map(|name| (*name).to_owned()).collect();
        names.extend(families::names());
        names.sort_unstable();
        names.dedup();
        names
    });
    &NAMES
}
