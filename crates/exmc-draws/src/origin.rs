//! What a run was made from -> what it takes to go on with it, and an identity that two runs share
//! only if they have the same draws.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::checkpoint::Identity;
use crate::run_file::RunRecord;

/// What the draws of a run follow from, beside its settings. It stands in `run.json`.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Origin {
    /// The machine: architecture and operating system.
    pub target: String,
    /// The vector instructions in use; draws do not depend on them.
    pub level: String,
    /// SHA-256 of the model's text.
    pub model_sha256: String,
    /// SHA-256 of the data's text, where there are data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_sha256: Option<String>,
    /// SHA-256 of the initial values' text, where there are some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init_sha256: Option<String>,
    /// What was asked to evaluate the density, by its name on the command line.
    pub executor: String,
    /// Type of numbers in long arrays.
    pub precision: String,
    /// Parameters that are non-centred on request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub non_centre: Vec<String>,
    /// How far variables are centred, also those that are integrated out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub centring: Vec<Centring>,
    /// Variables that were integrated out of the density that was sampled; each draw has them from
    /// their distribution given the rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub integrated_out: Vec<String>,
    /// Whether chains run as tasks of their own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tasks: bool,
    /// Rules that end the run before it has all draws.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub until: Vec<String>,
}

/// How far a variable is centred, in [0, 1]: one number, or one an element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Centring {
    /// The variable.
    pub name: String,
    /// The shares.
    pub shares: Vec<f64>,
}

/// The SHA-256 of a text, in hexadecimal digits, as `sha256sum` has it.
///
/// ```
/// let empty = exmc_draws::sha256("");
/// assert_eq!(empty, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
/// ```
pub fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Origin {
    /// Of this machine, with vector instructions of that name.
    pub fn here(level: &str) -> Self {
        let target = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
        Self { target, level: level.to_owned(), ..Self::default() }
    }
}

impl RunRecord {
    /// Everything that the draws follow from, each by its name: two runs have the same draws if
    /// these are the same. Nothing for a run that was made without [`Origin`].
    pub(crate) fn ancestry(&self) -> Option<Vec<(String, String)>> {
        let origin = self.origin.as_ref()?;
        let text = |value: serde_json::Value| match value {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        let mut all = vec![
            ("version of the program".to_owned(), self.program.clone()),
            ("model (sha256)".to_owned(), origin.model_sha256.clone()),
        ];
        let or_none = |hash: &Option<String>| hash.clone().unwrap_or_else(|| "none".to_owned());
        all.push(("data (sha256)".to_owned(), or_none(&origin.data_sha256)));
        all.push(("initial values (sha256)".to_owned(), or_none(&origin.init_sha256)));
        let serde_json::Value::Object(settings) = self.settings_json() else { return None };
        for (name, value) in settings {
            // Draws do not depend on these.
            let other = ["draws", "threads", "threads_per_chain", "save_warmup"];
            if !other.contains(&name.as_str()) {
                all.push((format!("setting `{name}`"), text(value)));
            }
        }
        all.push(("executor".to_owned(), origin.executor.clone()));
        all.push(("precision".to_owned(), origin.precision.clone()));
        let json = |value: Result<serde_json::Value, _>| {
            value.ok().map(|v: serde_json::Value| v.to_string())
        };
        all.push((
            "non-centred parameters".to_owned(),
            json(serde_json::to_value(&origin.non_centre))?,
        ));
        all.push(("coordinates".to_owned(), json(serde_json::to_value(&origin.centring))?));
        all.push(("free variables".to_owned(), json(serde_json::to_value(&self.coordinates))?));
        Some(all)
    }

    /// A hash of all that the draws follow from.
    pub(crate) fn identity(&self) -> Option<Identity> {
        let mut hash = Sha256::new();
        for (name, value) in self.ancestry()? {
            hash.update((name.len() as u64).to_le_bytes());
            hash.update(name);
            hash.update((value.len() as u64).to_le_bytes());
            hash.update(value);
        }
        Some(hash.finalize().into())
    }

    /// What another run differs in, as `NAME: A here, B there`; nothing where it has the same
    /// draws.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let (Some(ancestry), Some(others)) = (self.ancestry(), other.ancestry()) else {
            return vec!["one of them was made by a version that stored no hashes".to_owned()];
        };
        let short = |text: &str| match text.char_indices().nth(60) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text.to_owned(),
        };
        let value = |all: &[(String, String)], name: &str| {
            all.iter()
                .find(|(other, _)| other == name)
                .map_or("none".to_owned(), |(_, v)| v.clone())
        };
        let mut names: Vec<&String> =
            ancestry.iter().chain(&others).map(|(name, _)| name).collect();
        let mut seen = Vec::new();
        names.retain(|name| {
            let is_new = !seen.contains(name);
            seen.push(*name);
            is_new
        });
        let different = names.into_iter().filter_map(|name| {
            let (a, b) = (value(&ancestry, name), value(&others, name));
            (a != b).then(|| format!("{name}: {} and {}", short(&a), short(&b)))
        });
        different.collect()
    }
}
