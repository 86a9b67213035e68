//! Records of runs of exmc and its peers -> tables in Markdown.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::{duration, number, ratio, text};

/// One peer on one model, with exmc's run just after it.
pub(super) struct Pair {
    pub(super) system: String,
    pub(super) peer: Value,
    pub(super) exmc: Value,
}

/// The least of a field over a record's runs.
fn least(record: &Value, field: &str) -> Option<f64> {
    let runs = record.get("runs")?.as_array()?;
    runs.iter().filter_map(|run| number(run, field)).reduce(f64::min)
}

/// The peer that is best by a field, and its factor behind exmc in the adjacent run.
fn best<'a>(pairs: &'a [Pair], field: &str, more_is_better: bool) -> Option<(&'a Pair, f64, f64)> {
    let rated = |pair: &'a Pair| {
        let (peer, exmc) = (number(&pair.peer, field)?, number(&pair.exmc, field)?);
        Some((pair, peer, if more_is_better { exmc / peer } else { peer / exmc }))
    };
    // The least favourable ratio, not the best number: machines drift between runs.
    pairs.iter().filter_map(rated).min_by(|a, b| a.2.total_cmp(&b.2))
}

/// A line a model: exmc beside the peer that comes nearest.
pub(super) fn summary(models: &[String], results: &BTreeMap<&str, Vec<Pair>>) -> String {
    let mut page = String::from(
        "\n## Against the best peer\n\n\
         | model | d | gradient | best peer | ratio | ESS/s | least of the seeds | divergences | best peer | ratio | least seed's ratio |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for model in models {
        let Some(pairs) = results.get(model.as_str()) else { continue };
        let Some(first_run) = pairs.first().map(|pair| &pair.exmc) else { continue };
        let gradient = best(pairs, "grad_s", false);
        let ess = best(pairs, "ess_per_cpu_s", true);
        let said = |found: &Option<(&Pair, f64, f64)>, cell: &dyn Fn(f64) -> String| {
            found.map_or_else(String::new, |(pair, peer, _)| {
                format!("{} {}", pair.system, cell(peer))
            })
        };
        let least_seed =
            ess.and_then(|(pair, peer, _)| Some(least(&pair.exmc, "ess_per_cpu_s")? / peer));
        let _ = writeln!(
            page,
            "| {model} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            number(first_run, "d").unwrap_or(f64::NAN),
            duration(number(first_run, "grad_s").map(|s| 1e9 * s)),
            said(&gradient, &|s| duration(Some(1e9 * s))),
            ratio(gradient.map(|g| g.2)),
            three_digits(number(first_run, "ess_per_cpu_s")),
            three_digits(least(first_run, "ess_per_cpu_s")),
            three_digits(number(first_run, "divergences")),
            said(&ess, &|e| three_digits(Some(e))),
            ratio(ess.map(|e| e.2)),
            ratio(least_seed),
        );
    }
    page
}

/// A line a run.
pub(super) fn details(models: &[String], results: &BTreeMap<&str, Vec<Pair>>) -> String {
    let mut page = String::from(
        "\n## Every run\n\nMedians over seeds. `leapfrogs` are those of warmup and of the draws; time a leapfrog includes the gradient.\n\n\
         | model | system | gradient | a leapfrog | leapfrogs | least ESS | of | ESS per 1000 leapfrogs | ESS/s | least of the seeds | divergences |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for model in models {
        for pair in results.get(model.as_str()).into_iter().flatten() {
            for (system, record) in [(pair.system.as_str(), &pair.peer), ("exmc", &pair.exmc)] {
                if record.is_null() {
                    continue;
                }
                let field = |name: &str| number(record, name);
                let steps = field("leapfrogs_warmup").zip(field("leapfrogs_draws"));
                let each = steps
                    .zip(field("min_ess"))
                    .map(|((warmup, draws), ess)| 1e3 * ess / (warmup + draws));
                let runs = record.get("runs").and_then(Value::as_array);
                let parameter =
                    runs.and_then(|r| r.last()).map_or("", |run| text(run, "min_ess_param"));
                let _ = writeln!(
                    page,
                    "| {model} | {system} | {} | {} | {} | {} | {parameter} | {} | {} | {} | {} |",
                    duration(field("grad_s").map(|s| 1e9 * s)),
                    duration(field("us_per_leapfrog").map(|us| 1e3 * us)),
                    steps.map_or_else(String::new, |(w, d)| format!("{w:.0} + {d:.0}")),
                    three_digits(field("min_ess")),
                    each.map_or_else(String::new, |e| format!("{e:.1}")),
                    three_digits(field("ess_per_cpu_s")),
                    three_digits(least(record, "ess_per_cpu_s")),
                    three_digits(field("divergences")),
                );
            }
        }
    }
    page
}

/// A number without what is below its third digit.
fn three_digits(value: Option<f64>) -> String {
    match value {
        None => String::new(),
        Some(v) if v == 0.0 || v.abs() >= 100.0 => format!("{v:.0}"),
        Some(v) if v.abs() >= 10.0 => format!("{v:.1}"),
        Some(v) => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_best_peer_is_the_one_that_exmc_beats_least() {
        let pair = |system: &str, peer: f64, exmc: f64| Pair {
            system: system.to_owned(),
            peer: json!({ "ess_per_cpu_s": peer, "grad_s": 1.0 / peer }),
            exmc: json!({ "ess_per_cpu_s": exmc, "grad_s": 1.0 / exmc, "runs": [{ "ess_per_cpu_s": 7.0 }] }),
        };
        let pairs = [pair("a", 10.0, 100.0), pair("b", 9.0, 45.0), pair("c", 1.0, 100.0)];
        let (found, peer, factor) = best(&pairs, "ess_per_cpu_s", true).expect("there are peers");
        assert_eq!((found.system.as_str(), peer, factor), ("b", 9.0, 5.0));
        let (found, _, factor) = best(&pairs, "grad_s", false).expect("there are peers");
        assert!(found.system == "b" && (factor - 5.0).abs() < 1e-12);
        assert_eq!(least(&pairs[0].exmc, "ess_per_cpu_s"), Some(7.0));
    }
}
