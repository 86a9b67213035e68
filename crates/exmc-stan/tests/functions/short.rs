//! Where the program falls short of the tables: `short.txt`, a line for each point at which a claim
//! does not hold, with by how much, below the reason.
//!
//! A claim that fails at any other point, or by more, fails the gate, and so does a line whose
//! claim holds: the list only becomes shorter, and its errors smaller. `EXMC_SHORT=FILE` appends
//! lines for all claims that fail now to a file, with the reasons that are known.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;

/// A claim that does not hold.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// `graph` or `host`.
    pub(crate) who: &'static str,
    /// The function, with what tells it from others of its name.
    pub(crate) name: String,
    pub(crate) point: Vec<f64>,
    /// The value, or the derivative by that argument.
    pub(crate) slope: Option<usize>,
    /// The relative error; infinite where no number was found or none wanted.
    pub(crate) error: f64,
    /// In words.
    pub(crate) text: String,
}

impl Failure {
    /// Which claim: `graph f 1 2.5 value` or `graph f 1 2.5 slope 0`.
    fn key(&self) -> String {
        let mut key = format!("{} {}", self.who, self.name);
        for x in &self.point {
            let _ = write!(key, " {x:?}");
        }
        match self.slope {
            None => key + " value",
            Some(k) => key + &format!(" slope {k}"),
        }
    }
}

/// The list: how far off a claim may be, and why.
pub(crate) struct Short {
    excused: BTreeMap<String, (f64, String)>,
    used: BTreeSet<String>,
    visited: BTreeSet<String>,
}

impl Short {
    /// Reads the list. Points stand below their reason, a line that begins with `#`.
    pub(crate) fn read() -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/functions/short.txt");
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"));
        let (mut excused, mut reason) = (BTreeMap::new(), String::new());
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(words) = line.strip_prefix('#') {
                words.trim().clone_into(&mut reason);
                continue;
            }
            assert!(!reason.is_empty(), "{line} has no reason");
            let (key, error) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{path}: {line}"));
            let error = error.parse().unwrap_or_else(|_| panic!("{path}: {line}: not an error"));
            let before = excused.insert(key.to_owned(), (error, reason.clone()));
            assert!(before.is_none(), "{key} is listed twice");
        }
        Self { excused, used: BTreeSet::new(), visited: BTreeSet::new() }
    }

    /// The failures of a function that the list does not excuse, in words.
    pub(crate) fn beyond(&mut self, who: &str, name: &str, failures: &[Failure]) -> Vec<String> {
        self.visited.insert(format!("{who} {name}"));
        let mut worst: BTreeMap<String, &Failure> = BTreeMap::new();
        for failure in failures {
            let entry = worst.entry(failure.key()).or_insert(failure);
            if failure.error > entry.error {
                *entry = failure;
            }
        }
        self.write(&worst);
        let mut lines = Vec::new();
        for (key, failure) in worst {
            let excuse = self.excused.get(&key).map(|(error, _)| *error);
            self.used.insert(key);
            match excuse {
                Some(error) if failure.error <= error => {}
                Some(error) => lines.push(format!(
                    "{} (off by {:.1e}, in short.txt: {error:e})",
                    failure.text, failure.error
                )),
                None => lines.push(format!("{} (off by {:.1e})", failure.text, failure.error)),
            }
        }
        lines
    }

    /// Lines of the list for what holds by now.
    pub(crate) fn idle(&self) -> Vec<String> {
        let function = |key: &str| key.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let idle = self.excused.keys().filter(|key| !self.used.contains(*key));
        let idle = idle.filter(|key| self.visited.contains(&function(key)));
        idle.map(|key| format!("{key} holds: take it off short.txt")).collect()
    }

    fn write(&self, worst: &BTreeMap<String, &Failure>) {
        let Some(path) = std::env::var_os("EXMC_SHORT") else { return };
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        let mut file = file.expect("the file can be written");
        for (key, failure) in worst {
            let reason = self.excused.get(key).map_or("?", |(_, reason)| reason.as_str());
            // Twice the error, in one digit.
            let line = format!("{reason}\t{key} {:.0e}\n", 2.0 * failure.error);
            file.write_all(line.as_bytes()).expect("the file can be written");
        }
    }
}
