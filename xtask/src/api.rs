//! The facade's public items, from rustdoc's JSON -> the list in `docs/api.txt`, written or
//! compared.
//!
//! What a user of the crate `exmc` can name is a promise: a change shows up as lines of that file
//! in review. Items of other crates that the facade re-exports are one line each.

use std::collections::BTreeSet;
use std::path::Path;

use public_api::{Builder, MINIMUM_NIGHTLY_RUST_VERSION};

use crate::ci::{cargo, target_folder};
use crate::root;

const LIST: &str = "docs/api.txt";

/// The version of rustdoc's JSON that the library in use reads.
const FORMAT: u64 = 57;

/// Compares the facade's public items with the list, or writes it. Another toolchain than the one
/// whose JSON is read is no failure: it is said and nothing compared.
///
/// # Errors
/// When items came or went, or rustdoc fails.
pub(crate) fn api(write: bool) -> Result<(), String> {
    let json = ["--", "-Z", "unstable-options", "--output-format", "json", "--cap-lints", "allow"];
    let command = ["rustdoc", "-p", "exmc", "--lib"];
    // The JSON is not stable; its version is looked at below.
    cargo(&[&command[..], &json[..]].concat(), &[("RUSTC_BOOTSTRAP", "1")])?;
    let path = target_folder().join("doc/exmc.json");
    let found = format_version(&path)?;
    if found != FORMAT {
        println!(
            "skipped: the list of public items, for rustdoc's JSON has version {found} here and \
             {FORMAT} is read (toolchains as of {MINIMUM_NIGHTLY_RUST_VERSION})"
        );
        return Ok(());
    }
    let items = Builder::from_rustdoc_json(&path)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let now: String = items.items().map(|item| format!("{item}\n")).collect();
    let list = root().join(LIST);
    if write {
        return std::fs::write(&list, now).map_err(|error| format!("{LIST}: {error}"));
    }
    let listed = std::fs::read_to_string(&list).map_err(|error| format!("{LIST}: {error}"))?;
    compare(&listed, &now)
}

fn format_version(path: &Path) -> Result<u64, String> {
    let wrong = |error: String| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let json: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    json["format_version"].as_u64().ok_or_else(|| wrong("it has no format_version".to_owned()))
}

/// Which lines came and went, as a mistake.
fn compare(listed: &str, now: &str) -> Result<(), String> {
    let (before, after): (BTreeSet<&str>, BTreeSet<&str>) =
        (listed.lines().collect(), now.lines().collect());
    let gone = before.difference(&after).map(|line| format!("- {line}\n"));
    let new = after.difference(&before).map(|line| format!("+ {line}\n"));
    let changes: String = gone.chain(new).collect();
    if changes.is_empty() {
        return Ok(());
    }
    Err(format!(
        "the facade's public items changed:\n{changes}`cargo xtask api --write` writes {LIST}, if \
         this is meant; what users call is in the CHANGELOG then"
    ))
}

#[cfg(test)]
mod tests {
    use super::compare;

    #[test]
    fn items_that_come_and_go_are_named() {
        let before = "pub fn exmc::a()\npub fn exmc::b()\n";
        assert_eq!(compare(before, before), Ok(()));
        let changes = compare(before, "pub fn exmc::a()\npub fn exmc::b(x: f64)\n").unwrap_err();
        assert!(changes.contains("- pub fn exmc::b()\n+ pub fn exmc::b(x: f64)\n"), "{changes}");
    }
}
