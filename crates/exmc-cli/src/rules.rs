//! Rules that end a run before it has all its draws: flags -> how many draws next, or enough.
//!
//! All chains make some draws, then the rules look at all of them. So where a run ends depends on
//! its draws alone, and those are the draws that it has without a rule.

use std::time::Duration;

use exmc_diagnose::Summary;
use exmc_draws::{StoredRun, Variable};

use crate::failure::{Exit, Failure};

/// Draws of a chain after which rules look for the first time.
const FIRST: u64 = 200;
/// The next look is after so many times as many draws as a rule seems to take, …
const SLACK: f64 = 1.05;
/// … but not before, and not after so many times as many as there are.
const LEAST_GROWTH: f64 = 1.25;
const MOST_GROWTH: f64 = 4.0;
/// Draws of a chain at most, where a rule is given and no number.
pub(crate) const MOST_DRAWS: u64 = 100_000;

/// One rule of `--until`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    text: String,
    what: What,
    /// The variable or the column that it is about; all where there is nothing.
    name: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    /// The smaller of bulk and tail effective sample size is as large.
    Ess(f64),
    /// The Monte Carlo standard error of the mean is as small.
    Mcse(f64),
}

/// All rules of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    pub(crate) until: Vec<Rule>,
    pub(crate) time: Option<Duration>,
}

/// How far a rule is from holding.
pub(crate) struct Look {
    /// Whether all rules hold.
    pub(crate) holds: bool,
    /// Draws of a chain to look at next.
    pub(crate) next: u64,
    /// The rule that is the farthest, in words.
    pub(crate) worst: String,
}

/// Reads `ess=400`, `mcse=0.01:mu`.
pub(crate) fn rule(text: &str) -> Result<Rule, String> {
    const FORM: &str = "expected `ess=NUMBER` or `mcse=NUMBER`, and perhaps `:NAME` behind it";
    let (rule, name) = match text.split_once(':') {
        Some((rule, name)) => (rule, Some(name.to_owned())),
        None => (text, None),
    };
    let (kind, number) = rule.split_once('=').ok_or(FORM)?;
    let number: f64 = number.parse().map_err(|_| FORM)?;
    if !(number > 0.0 && number.is_finite()) {
        return Err(format!("expected a positive number, found {number}"));
    }
    let what = match kind {
        "ess" => What::Ess(number),
        "mcse" => What::Mcse(number),
        _ => return Err(FORM.to_owned()),
    };
    Ok(Rule { text: text.to_owned(), what, name })
}

impl Rule {
    /// As it was given.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is about a column of a variable.
    fn is_about(&self, column: &str) -> bool {
        let Some(name) = &self.name else { return true };
        column == name
            || column.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('['))
    }

    /// How many times as many draws it takes for a column; nothing where a column does not vary or
    /// its draws are not numbers.
    fn ratio(&self, summary: &Summary) -> Option<f64> {
        let ratio = match self.what {
            What::Ess(least) => least / summary.ess_bulk.min(summary.ess_tail),
            What::Mcse(most) => (summary.mcse_mean / most).powi(2),
        };
        (summary.sd > 0.0 && !ratio.is_nan()).then_some(ratio)
    }

    fn value(&self, summary: &Summary) -> String {
        match self.what {
            What::Ess(_) => format!("ess {:.0}", summary.ess_bulk.min(summary.ess_tail)),
            What::Mcse(_) => format!("mcse {}", crate::display::significant(summary.mcse_mean, 3)),
        }
    }
}

impl Rules {
    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.until.is_empty() && self.time.is_none()
    }

    /// Refuses names that the model does not record.
    pub(crate) fn check(&self, variables: &[Variable]) -> Result<(), Failure> {
        for rule in &self.until {
            let is_known =
                |v: &Variable| v.column_names().iter().any(|column| rule.is_about(column));
            if !variables.iter().any(is_known) {
                let name = rule.name.as_deref().unwrap_or_default();
                let message = match name {
                    "" => "invalid value for `--until`: the model records nothing".to_owned(),
                    name => format!("invalid value for `--until`: the model records no `{name}`"),
                };
                let names: Vec<&str> = variables.iter().take(10).map(|v| v.name.as_str()).collect();
                let hint = format!("it records {}", names.join(", "));
                return Err(Failure::new(Exit::Usage, message).hint(hint));
            }
        }
        Ok(())
    }

    /// Draws of a chain after which to look first, of so many.
    pub(crate) fn first(&self, draws: u64) -> u64 {
        if self.is_empty() { draws } else { draws.min(FIRST) }
    }

    /// Looks at a run's draws, all chains of which have `n`.
    pub(crate) fn look(&self, run: &StoredRun, n: u64) -> Result<Look, Failure> {
        let grown = |factor: f64| (n as f64 * factor).min(1e18) as u64;
        let doubled = Look { holds: false, next: grown(2.0), worst: String::new() };
        if self.until.is_empty() {
            return Ok(doubled);
        }
        let summary = run.summary_of_first(n as usize)?;
        let mut worst: Option<(f64, String)> = None;
        let mut is_seen = true;
        for rule in &self.until {
            let about = summary.iter().filter(|(name, _)| rule.is_about(name));
            let ratios = about.filter_map(|(name, s)| Some((rule.ratio(s)?, name, s)));
            match ratios.max_by(|a, b| a.0.total_cmp(&b.0)) {
                None => is_seen = false,
                Some((ratio, name, s)) if worst.as_ref().is_none_or(|(most, _)| ratio > *most) => {
                    let words = format!("{} of `{name}`, for {}", rule.value(s), rule.text);
                    worst = Some((ratio, words));
                }
                Some(_) => {}
            }
        }
        Ok(match worst {
            Some((ratio, worst)) if is_seen => Look {
                holds: ratio <= 1.0,
                next: grown((SLACK * ratio).clamp(LEAST_GROWTH, MOST_GROWTH)),
                worst,
            },
            // Nothing varies yet.
            _ => doubled,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read() {
        let ess = rule("ess=400").unwrap();
        assert_eq!((ess.what, &ess.name), (What::Ess(400.0), &None));
        let mcse = rule("mcse=1e-2:theta[1,2]").unwrap();
        assert_eq!((mcse.what, mcse.name.as_deref()), (What::Mcse(0.01), Some("theta[1,2]")));
        for wrong in ["ess", "ess=", "ess=0", "ess=nan", "rhat=1.01", "mcse=-1", "=3"] {
            assert!(rule(wrong).is_err(), "{wrong}");
        }
        let theta = rule("ess=1:theta").unwrap();
        assert!(theta.is_about("theta") && theta.is_about("theta[3]"));
        assert!(!theta.is_about("theta2[3]") && !theta.is_about("mu"));
    }
}
