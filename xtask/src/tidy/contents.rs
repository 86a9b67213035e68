//! Pages of `docs/` -> those that no table of contents names.

use super::File;

/// Complains of pages that the book or the list of decisions does not lead to.
pub(super) fn check(files: &[File], complaints: &mut Vec<String>) {
    let text = |path: &str| files.iter().find(|file| file.path == path).map(|file| &*file.text);
    let lists = [
        ("docs/SUMMARY.md", "docs/", text("docs/SUMMARY.md")),
        ("DECISIONS.md", "", text("DECISIONS.md")),
    ];
    for file in files {
        let path = &*file.path;
        let is_page = path.starts_with("docs/") && path.ends_with(".md");
        if !is_page || path == "docs/SUMMARY.md" {
            continue;
        }
        for (list, folder, text) in &lists {
            let is_decision = path.starts_with("docs/decisions/");
            let wanted = *list != "DECISIONS.md" || is_decision;
            let link = format!("]({})", path.strip_prefix(folder).unwrap_or(path));
            if wanted && !text.is_some_and(|text| text.contains(&link)) {
                complaints.push(format!("{path} is not in {list}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<File> = files
            .iter()
            .map(|(path, text)| File { path: (*path).to_owned(), text: (*text).to_owned() })
            .collect();
        let mut found = Vec::new();
        check(&files, &mut found);
        found
    }

    #[test]
    fn a_page_must_be_in_the_lists() {
        let page = ("docs/a.md", "# A");
        let decision = ("docs/decisions/0001-b.md", "# 1. B");
        let book = ("docs/SUMMARY.md", "- [A](a.md)\n- [1. B](decisions/0001-b.md)");
        let list = ("DECISIONS.md", "| 1 | [B](docs/decisions/0001-b.md) |");
        assert!(complaints(&[page, decision, book, list]).is_empty());
        assert_eq!(
            complaints(&[page, decision, book]),
            ["docs/decisions/0001-b.md is not in DECISIONS.md"]
        );
        assert_eq!(complaints(&[page, decision, ("docs/SUMMARY.md", ""), list]).len(), 2);
    }
}
