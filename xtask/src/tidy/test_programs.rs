//! Manifests and `tests/all.rs` -> complaints about files of tests that no program contains.
//!
//! A crate whose manifest says `autotests = false` names its test programs; a file in `tests/` that
//! neither the manifest nor `tests/all.rs` names would never run.

use super::File;

/// Complaints about files and folders with a `mod.rs` directly in `tests/` that are in no program.
pub(super) fn check_test_programs(files: &[File], complaints: &mut Vec<String>) {
    let text = |path: &str| files.iter().find(|file| file.path == path).map(|file| &*file.text);
    for manifest in files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        if !manifest.text.lines().any(|line| line == "autotests = false") {
            continue;
        }
        let folder = format!("{}/tests/", manifest.path.trim_end_matches("/Cargo.toml"));
        let all = text(&format!("{folder}all.rs")).unwrap_or_default();
        for file in files {
            let Some(rest) = file.path.strip_prefix(&folder) else { continue };
            let Some(name) = rest.strip_suffix("/mod.rs").or_else(|| rest.strip_suffix(".rs"))
            else {
                continue;
            };
            let in_all = all.lines().any(|line| line == format!("mod {name};"));
            let alone = manifest.text.lines().any(|line| line == format!("name = \"{name}\""));
            if !name.contains('/') && !in_all && !alone {
                complaints.push(format!(
                    "{}: neither `{folder}all.rs` nor the manifest names it, so it never runs",
                    file.path
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_no_program_names_is_found() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let mut files = vec![
            file(
                "crates/a/Cargo.toml",
                "autotests = false\n[[test]]\nname = \"all\"\nname = \"alone\"\n",
            ),
            file("crates/a/tests/all.rs", "mod one;\nmod folder;\n"),
            file("crates/a/tests/one.rs", ""),
            file("crates/a/tests/alone.rs", ""),
            file("crates/a/tests/folder/mod.rs", ""),
            file("crates/a/tests/folder/part.rs", ""),
            file("crates/b/Cargo.toml", ""),
            file("crates/b/tests/found_by_cargo.rs", ""),
        ];
        let mut complaints = Vec::new();
        check_test_programs(&files, &mut complaints);
        assert!(complaints.is_empty(), "{complaints:?}");
        files.push(file("crates/a/tests/forgotten.rs", ""));
        check_test_programs(&files, &mut complaints);
        assert_eq!(complaints.len(), 1);
    }
}
