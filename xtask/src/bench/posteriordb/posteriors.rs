//! A checkout of posteriordb -> its posteriors: names, programs, data.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A posterior of the collection.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Posterior {
    pub(super) name: String,
    /// The Stan program.
    pub(super) program: PathBuf,
    /// Its data, zipped.
    archive: PathBuf,
}

impl Posterior {
    /// The text of its data.
    ///
    /// # Errors
    /// When there is no such archive (large ones may be left out of a copy), or it cannot be read.
    pub(super) fn data(&self) -> Result<String, String> {
        let name = self.archive.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let wrong = |what: &dyn std::fmt::Display| format!("data `{name}`: {what}");
        let file = std::fs::File::open(&self.archive).map_err(|e| wrong(&e))?;
        let mut archive = zip::ZipArchive::new(file).map_err(|e| wrong(&e))?;
        let mut text = String::new();
        let mut first = archive.by_index(0).map_err(|e| wrong(&e))?;
        first.read_to_string(&mut text).map_err(|e| wrong(&e))?;
        Ok(text)
    }
}

/// The posteriors of a checkout by name, or those whose names hold one of `parts`.
///
/// # Errors
/// When the folder has none, or one of `parts` is in no name.
pub(super) fn posteriors(dir: &Path, parts: &[String]) -> Result<Vec<Posterior>, String> {
    let root = dir.join("posterior_database");
    let folder = root.join("posteriors");
    let none = |why: &dyn std::fmt::Display| {
        format!("no posteriors under {}: {why} (--dir is a checkout of posteriordb)", dir.display())
    };
    let mut all = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(|e| none(&e))? {
        let path = entry.map_err(|e| none(&e))?.path();
        if path.extension().is_some_and(|e| e == "json") {
            let text = std::fs::read_to_string(&path).map_err(|e| none(&e))?;
            let entry = serde_json::from_str(&text);
            let entry: Value = entry.map_err(|e| format!("{}: {e}", path.display()))?;
            all.push(posterior(&root, &entry).ok_or_else(|| {
                format!("{}: it has no name, model_name and data_name", path.display())
            })?);
        }
    }
    if all.is_empty() {
        return Err(none(&"the folder has no JSON file"));
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(part) = parts.iter().find(|part| !all.iter().any(|p| p.name.contains(*part))) {
        return Err(format!("no posterior's name holds `{part}`"));
    }
    all.retain(|p| parts.is_empty() || parts.iter().any(|part| p.name.contains(part)));
    Ok(all)
}

fn posterior(root: &Path, entry: &Value) -> Option<Posterior> {
    let text = |key: &str| entry.get(key)?.as_str();
    Some(Posterior {
        name: text("name")?.to_owned(),
        program: root.join(format!("models/stan/{}.stan", text("model_name")?)),
        archive: root.join(format!("data/data/{}.json.zip", text("data_name")?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posteriors_are_chosen_by_parts_of_names() {
        let dir = std::env::temp_dir().join(format!("exmc-posteriors-{}", std::process::id()));
        let folder = dir.join("posterior_database/posteriors");
        std::fs::create_dir_all(&folder).expect("a folder");
        assert!(posteriors(&dir, &[]).is_err_and(|e| e.contains("no posteriors under")));
        for (name, model) in [("wells-dist", "dist"), ("arma-arma11", "arma11")] {
            let entry = format!(
                r#"{{"name": "{name}", "model_name": "{model}", "data_name": "wells", "x": 1}}"#
            );
            std::fs::write(folder.join(format!("{name}.json")), entry).expect("a file");
        }
        let names = |parts: &[&str]| {
            let parts: Vec<String> = parts.iter().map(|p| (*p).to_owned()).collect();
            let found = posteriors(&dir, &parts)?;
            Ok::<_, String>(found.into_iter().map(|p| p.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]), Ok(vec!["arma-arma11".to_owned(), "wells-dist".to_owned()]));
        assert_eq!(names(&["wells"]), Ok(vec!["wells-dist".to_owned()]));
        assert_eq!(names(&["wels"]), Err("no posterior's name holds `wels`".to_owned()));
        let found = posteriors(&dir, &["arma".to_owned()]).expect("there is one");
        assert!(found[0].program.ends_with("posterior_database/models/stan/arma11.stan"));
        assert!(found[0].data().is_err_and(|e| e.starts_with("data `wells.json.zip`")));
        std::fs::remove_dir_all(&dir).expect("the folder goes");
        assert!(posteriors(&dir, &[]).is_err());
    }
}
