//! The commit of the checkout -> `EXMC_COMMIT` for the build, which checkpoints carry.
//!
//! The files of the repository are read directly, so a build needs no git. A value that the
//! environment gives goes first; a source without a repository has none, and the build says so.

use std::path::Path;

/// Digits of a commit that are kept.
const DIGITS: usize = 12;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=EXMC_COMMIT");
    // rustc sees the variable of the environment by itself.
    if std::env::var_os("EXMC_COMMIT").is_some() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if let Some(commit) = commit(&root) {
        println!("cargo:rustc-env=EXMC_COMMIT={}", &commit[..DIGITS]);
    }
}

/// The commit that is checked out below `root`; files that it is read from are watched.
fn commit(root: &Path) -> Option<String> {
    let mut git_folder = root.join(".git");
    if git_folder.is_file() {
        // A linked work tree: the file says where its folder is.
        let text = std::fs::read_to_string(&git_folder).ok()?;
        git_folder = root.join(text.strip_prefix("gitdir:")?.trim());
    }
    let shared = match std::fs::read_to_string(git_folder.join("commondir")) {
        Ok(path) => git_folder.join(path.trim()),
        Err(_) => git_folder.clone(),
    };
    let head = watched(&git_folder.join("HEAD"))?;
    let Some(name) = head.trim().strip_prefix("ref:").map(str::trim) else {
        return hash(&head);
    };
    if let Some(found) = watched(&shared.join(name)).and_then(|text| hash(&text)) {
        return Some(found);
    }
    let packed = watched(&shared.join("packed-refs"))?;
    let line = packed.lines().find(|line| line.split(' ').nth(1) == Some(name))?;
    hash(line)
}

/// The text of a file, which a change of makes the build run again.
fn watched(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    println!("cargo:rerun-if-changed={}", path.display());
    Some(text)
}

/// The hash with which a text begins.
fn hash(text: &str) -> Option<String> {
    let first = text.split_whitespace().next()?;
    let is_hash = first.len() >= 40 && first.bytes().all(|b| b.is_ascii_hexdigit());
    is_hash.then(|| first.to_owned())
}
