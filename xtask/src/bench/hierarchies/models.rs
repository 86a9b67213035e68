//! A folder of `bench/hierarchies` -> a hierarchy's programs, its data, and the true moments of
//! what it records.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// How a program has its effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writing {
    Centred,
    NonCentred,
}

impl Writing {
    pub(super) const ALL: [Self; 2] = [Self::Centred, Self::NonCentred];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Centred => "centred",
            Self::NonCentred => "non-centred",
        }
    }

    fn file(self) -> &'static str {
        match self {
            Self::Centred => "centred.stan",
            Self::NonCentred => "noncentred.stan",
        }
    }
}

/// The moments of one scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Truth {
    pub(super) mean: f64,
    /// Its standard error; 0 where it is exact.
    pub(super) mean_error: f64,
    /// Nothing where no run of this length can estimate it.
    pub(super) sd: Option<f64>,
    pub(super) sd_error: f64,
}

/// A hierarchy with two programs of one posterior.
#[derive(Clone, Debug)]
pub(super) struct Hierarchy {
    pub(super) name: String,
    folder: PathBuf,
    /// Where the moments are from.
    pub(super) how: String,
    /// Variables with the moments of their elements.
    pub(super) truth: Vec<(String, Vec<Truth>)>,
}

impl Hierarchy {
    pub(super) fn program(&self, writing: Writing) -> PathBuf {
        self.folder.join(writing.file())
    }

    pub(super) fn data(&self) -> PathBuf {
        self.folder.join("data.json")
    }

    /// The variables whose draws are judged.
    pub(super) fn names(&self) -> Vec<String> {
        self.truth.iter().map(|(name, _)| name.clone()).collect()
    }
}

/// The hierarchies whose names are given, or all, in the order of their names.
///
/// # Errors
/// When a folder cannot be read or a truth is not as `generate.py` writes it, or a name is of none.
pub(super) fn read(place: &Path, names: &[String]) -> Result<Vec<Hierarchy>, String> {
    let fail = |e: std::io::Error| format!("{}: {e}", place.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(place).map_err(fail)? {
        let folder = entry.map_err(fail)?.path();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !folder.join("data.json").exists() || !(names.is_empty() || names.contains(&name)) {
            continue;
        }
        let path = folder.join("truth.json");
        let say = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        let text = std::fs::read_to_string(&path).map_err(|e| say(&e))?;
        let document: Value = serde_json::from_str(&text).map_err(|e| say(&e))?;
        let (how, truth) = truth_of(&document).map_err(|e| say(&e))?;
        found.push(Hierarchy { name, folder, how, truth });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    match names.iter().find(|name| !found.iter().any(|hierarchy| hierarchy.name == **name)) {
        Some(name) => Err(format!("there is no hierarchy `{name}` in {}", place.display())),
        None => Ok(found),
    }
}

type Moments = (String, Vec<(String, Vec<Truth>)>);

fn truth_of(document: &Value) -> Result<Moments, String> {
    let how = document.get("how").and_then(Value::as_str).ok_or("it does not say `how`")?;
    let all = document.get("quantities").and_then(Value::as_object).ok_or("no `quantities`")?;
    let mut truth = Vec::new();
    for (name, quantity) in all {
        let array = |key: &str| quantity.get(key).and_then(Value::as_array);
        let means = array("mean").ok_or_else(|| format!("`{name}` has no `mean`"))?;
        let number_at = |key: &str, k: usize| array(key).and_then(|all| all.get(k)?.as_f64());
        let element = |k: usize| {
            let mean =
                number_at("mean", k).ok_or_else(|| format!("`{name}` has a mean that is none"))?;
            let error = |key: &str| number_at(key, k).unwrap_or(0.0);
            let (mean_error, sd_error) = (error("mean_error"), error("sd_error"));
            Ok(Truth { mean, mean_error, sd: number_at("sd", k), sd_error })
        };
        let elements: Result<Vec<Truth>, String> = (0..means.len()).map(element).collect();
        truth.push((name.clone(), elements?));
    }
    Ok((how.to_owned(), truth))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn exact_moments_have_no_errors_and_some_no_sd() {
        let document = json!({ "how": "closed form", "quantities": {
            "y": { "mean": [0.5], "sd": [3.0], "mean_error": [0.01], "sd_error": [0.02] },
            "x": { "mean": [0.0, 1.0], "sd": [null, 2.0] },
        } });
        let (how, truth) = truth_of(&document).expect("it is as it should be");
        assert_eq!(how, "closed form");
        let exact = |mean: f64, sd: Option<f64>| Truth { mean, mean_error: 0.0, sd, sd_error: 0.0 };
        let truth_named = |name: &str| {
            truth.iter().find(|(candidate, _)| candidate == name).expect(name).1.clone()
        };
        assert_eq!(truth_named("x"), [exact(0.0, None), exact(1.0, Some(2.0))]);
        let expected = Truth { mean: 0.5, mean_error: 0.01, sd: Some(3.0), sd_error: 0.02 };
        assert_eq!(truth_named("y"), [expected]);
        assert!(truth_of(&json!({ "how": "?" })).is_err_and(|e| e == "no `quantities`"));
    }

    #[test]
    fn every_hierarchy_here_has_its_truth() {
        let place = crate::root().join("bench/hierarchies");
        let all = read(&place, &[]).expect("they are read");
        assert_eq!(all.len(), 10);
        for hierarchy in &all {
            assert!(Writing::ALL.iter().all(|writing| hierarchy.program(*writing).exists()));
            assert!(hierarchy.truth.iter().flat_map(|(_, t)| t).all(|t| t.mean.is_finite()));
        }
        let error = read(&place, &["no-such".to_owned()]).expect_err("there is none");
        assert!(error.starts_with("there is no hierarchy `no-such`"), "{error}");
    }
}
