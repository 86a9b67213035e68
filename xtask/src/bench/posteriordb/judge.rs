//! The summary of a run, as `exmc sample --json` prints it -> whether the posterior is solved, or
//! why not.

use serde_json::Value;

/// What the summary says of the parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Judged {
    /// Largest R-hat.
    pub(in crate::bench) rhat: f64,
    /// Least bulk ESS.
    pub(in crate::bench) ess_bulk: f64,
    /// Least tail ESS.
    pub(in crate::bench) ess_tail: f64,
    /// The parameter with the least of both, if any varies.
    pub(in crate::bench) worst: String,
    pub(in crate::bench) divergences: u64,
    pub(in crate::bench) depth_hits: u64,
    /// Kinds of the warnings, of any recorded quantity.
    pub(in crate::bench) warnings: Vec<String>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// Its draws are good and nothing is warned of.
    Solved,
    /// What is wrong with its draws, in one word each.
    Unsolved(Vec<String>),
    /// It took too long.
    Stopped,
    /// It did not run, in words.
    Failed(String),
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Solved => f.write_str("solved"),
            Self::Unsolved(why) => f.write_str(&why.join(", ")),
            Self::Stopped => f.write_str("time limit"),
            Self::Failed(why) => write!(f, "failed: {}", why.replace(['|', '\n'], " ")),
        }
    }
}

/// R-hat of good draws is below (Vehtari et al. 2021, section 4).
const RHAT: f64 = 1.01;
/// Effective draws of four chains are above (the same).
const ESS: f64 = 400.0;
/// Relative standard deviation of what varies by rounding only: a sum of some thousand terms.
const ROUNDING: f64 = 100.0 * f64::EPSILON;

impl Judged {
    /// What a peer's script printed.
    pub(super) fn of_peer(said: &Value) -> Self {
        let count = |key: &str| said.get(key).and_then(Value::as_u64).unwrap_or(0);
        let warnings = said.get("warnings").and_then(Value::as_array);
        let words = warnings.into_iter().flatten().filter_map(Value::as_str);
        Self {
            rhat: number(said, "rhat"),
            ess_bulk: number(said, "ess_bulk"),
            ess_tail: number(said, "ess_tail"),
            worst: said.get("worst").and_then(Value::as_str).unwrap_or("").to_owned(),
            divergences: count("divergences"),
            depth_hits: count("depth_hits"),
            warnings: words.map(str::to_owned).collect(),
        }
    }

    /// Whether the draws are good; what is not a number is not.
    fn holds(&self) -> bool {
        self.rhat < RHAT && self.ess_bulk > ESS && self.ess_tail > ESS
    }

    pub(super) fn outcome(&self) -> Outcome {
        match (self.holds(), self.warnings.is_empty()) {
            (true, true) => Outcome::Solved,
            (_, false) => Outcome::Unsolved(self.warnings.clone()),
            // At the thresholds themselves there may be no warning.
            (false, true) => Outcome::Unsolved(vec!["at a threshold".to_owned()]),
        }
    }
}

/// Judges the parameters that a block declares; what does not vary is left out.
pub(in crate::bench) fn judge(summary: &Value, names: &[String]) -> Judged {
    let entries = summary.get("parameters").and_then(Value::as_array);
    let run = summary.get("run").unwrap_or(&Value::Null);
    let count = |key: &str| run.get(key).and_then(Value::as_u64).unwrap_or(0);
    let kinds = summary.get("warnings").and_then(Value::as_array);
    let kinds = kinds.into_iter().flatten().filter_map(|w| w.get("kind")?.as_str());
    let mut judged = Judged {
        rhat: f64::NEG_INFINITY,
        ess_bulk: f64::INFINITY,
        ess_tail: f64::INFINITY,
        worst: String::new(),
        divergences: count("divergences"),
        depth_hits: count("depth_hits"),
        warnings: kinds.map(str::to_owned).collect(),
    };
    let mut least = f64::INFINITY;
    for entry in entries.into_iter().flatten() {
        let name = entry.get("name").and_then(Value::as_str).unwrap_or("");
        let base = name.split(['[', '.', ':']).next().unwrap_or(name);
        if !names.iter().any(|parameter| parameter == base) {
            continue;
        }
        if number(entry, "sd") <= ROUNDING * number(entry, "mean").abs() {
            continue;
        }
        let (bulk, tail) = (number(entry, "ess_bulk"), number(entry, "ess_tail"));
        judged.rhat = worse(judged.rhat, number(entry, "rhat"), f64::max);
        judged.ess_bulk = worse(judged.ess_bulk, bulk, f64::min);
        judged.ess_tail = worse(judged.ess_tail, tail, f64::min);
        let entry_ess = worse(bulk, tail, f64::min);
        if entry_ess.is_nan() || entry_ess < least {
            (least, judged.worst) =
                (if entry_ess.is_nan() { 0.0 } else { entry_ess }, name.to_owned());
        }
    }
    // Without draws, or without parameters, nothing is known.
    if judged.worst.is_empty() {
        (judged.rhat, judged.ess_bulk, judged.ess_tail) = (f64::NAN, f64::NAN, f64::NAN);
    }
    judged
}

/// The worse of two numbers; one that is unknown is worst.
fn worse(a: f64, b: f64, pick: impl Fn(f64, f64) -> f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { pick(a, b) }
}

/// A number of a document that has infinities and NaN as texts; NaN if it is not there.
fn number(entry: &Value, key: &str) -> f64 {
    match entry.get(key) {
        Some(Value::String(text)) => text.parse().unwrap_or(f64::NAN),
        Some(value) => value.as_f64().unwrap_or(f64::NAN),
        None => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(name: &str, (mean, sd): (f64, f64), [bulk, tail, rhat]: [f64; 3]) -> Value {
        let number = |x: f64| if x.is_nan() { json!("NaN") } else { json!(x) };
        json!({
            "name": name, "mean": mean, "sd": sd, "ess_bulk": number(bulk), "ess_tail": number(tail), "rhat": number(rhat),
        })
    }

    fn summary(parameters: &[Value], warnings: &[&str]) -> Value {
        let warnings: Vec<Value> = warnings.iter().map(|kind| json!({ "kind": kind })).collect();
        json!({
            "parameters": parameters, "warnings": warnings,
            "run": { "status": "completed", "divergences": 3, "depth_hits": 1 },
        })
    }

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|name| (*name).to_owned()).collect()
    }

    const GOOD: [f64; 3] = [900.0, 800.0, 1.002];

    #[test]
    fn only_parameters_that_vary_count() {
        let all = [
            entry("mu", (0.0, 1.0), GOOD),
            entry("L[0,0]", (1.0, 0.0), [f64::NAN; 3]),
            entry("L[1,1]", (1.0, 1e-15), [3.0, 3.0, 2.0]),
            entry("theta[0]", (0.0, 1.0), [500.0, 450.0, 1.004]),
            entry("mu_rep", (0.0, 1.0), [10.0, 10.0, 1.8]),
        ];
        let found = judge(&summary(&all, &[]), &names(&["mu", "theta", "L"]));
        assert_eq!((found.rhat, found.ess_bulk, found.ess_tail), (1.004, 500.0, 450.0));
        assert_eq!((found.divergences, found.depth_hits), (3, 1));
        assert_eq!(found.worst, "theta[0]");
        assert_eq!(found.outcome(), Outcome::Solved);
    }

    #[test]
    fn each_bound_and_any_warning_keeps_a_posterior_from_being_solved() {
        let threshold = Outcome::Unsolved(vec!["at a threshold".to_owned()]);
        for bad in [[400.0, 800.0, 1.0], [800.0, 400.0, 1.0], [800.0, 800.0, 1.01]] {
            let found = judge(&summary(&[entry("mu", (0.0, 1.0), bad)], &[]), &names(&["mu"]));
            assert_eq!(found.outcome(), threshold, "{bad:?}");
        }
        let warned = summary(&[entry("mu", (0.0, 1.0), GOOD)], &["divergences", "ebfmi"]);
        let found = judge(&warned, &names(&["mu"])).outcome();
        assert_eq!(found, Outcome::Unsolved(names(&["divergences", "ebfmi"])));
        assert_eq!(found.to_string(), "divergences, ebfmi");
    }

    #[test]
    fn unknown_numbers_are_the_worst() {
        let all = [
            entry("a", (0.0, 1.0), GOOD),
            entry("b", (0.0, 1.0), [f64::NAN; 3]),
            entry("c", (0.0, 1.0), GOOD),
        ];
        let found = judge(&summary(&all, &[]), &names(&["a", "b", "c"]));
        assert!(found.rhat.is_nan() && found.ess_bulk.is_nan() && found.ess_tail.is_nan());
        assert_eq!(found.worst, "b");
        assert!(matches!(found.outcome(), Outcome::Unsolved(_)));
    }

    #[test]
    fn nothing_is_known_without_draws() {
        let found = judge(&summary(&[], &[]), &names(&["mu"]));
        assert!(found.rhat.is_nan() && found.ess_bulk.is_nan() && found.ess_tail.is_nan());
        assert!(matches!(found.outcome(), Outcome::Unsolved(_)));
    }

    #[test]
    fn a_peers_record_is_judged_by_the_same_bounds() {
        let said = json!({
            "rhat": 1.003, "ess_bulk": 401, "ess_tail": 402.5, "worst": "mu", "divergences": 0, "depth_hits": 0, "warnings": [],
        });
        assert_eq!(Judged::of_peer(&said).outcome(), Outcome::Solved);
        let said = json!({ "rhat": "NaN", "ess_bulk": 401, "ess_tail": 402.5 });
        assert!(matches!(Judged::of_peer(&said).outcome(), Outcome::Unsolved(_)));
    }
}
