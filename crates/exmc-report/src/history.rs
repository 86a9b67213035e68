//! `run.json` -> what exmc did to sample the model, in sentences.

use exmc_draws::{METRICS, Method};
use exmc_plot::short;

use crate::fit::Fit;

/// Sentences, in the order in which things happened.
pub(crate) fn history(fit: &Fit) -> Vec<String> {
    let record = &fit.run.record;
    let mut said = Vec::new();
    said.push(match record.method {
        Method::Laplace => "Draws are independent, from a normal approximation at a mode.".to_owned(),
        Method::Generate => "Quantities were computed from the draws of another run.".to_owned(),
        _ => {
            let metric = METRICS.iter().find(|(_, kind)| *kind == record.config.metric);
            format!(
                "NUTS sampled {} chains, each with {} warmup draws and {} draws; the metric was {}, \
                 the target acceptance {}. Densities were evaluated by the executor {}.",
                record.config.chains,
                record.config.warmup,
                record.config.draws,
                metric.map_or("unknown", |(name, _)| name),
                short(record.config.target_accept, 3),
                record.executor
            )
        }
    });
    if !record.coordinates.is_empty() {
        let dimension: usize = record.coordinates.iter().map(|c| c.length).sum();
        let label_of = |c: &exmc_draws::Coordinates| match c.length {
            1 => c.name.clone(),
            n => format!("{} ({n})", c.name),
        };
        let names: Vec<String> = record.coordinates.iter().map(label_of).collect();
        said.push(format!("It moved in {dimension} unconstrained coordinates: {}.", some(&names)));
        let is_sampled = |name: &str| record.coordinates.iter().any(|c| c.name == name);
        let others = record.variables.iter().map(|v| v.name.clone());
        let others: Vec<String> = others.filter(|name| !is_sampled(name)).collect();
        if !others.is_empty() {
            said.push(format!(
                "Recorded, but not a coordinate: {}. These were integrated out and drawn afterwards, \
                 sampled in another form, or computed from each draw.",
                some(&others)
            ));
        }
    }
    for entry in &record.coordinates {
        let Some(shares) = &entry.centred else { continue };
        let low = shares.iter().copied().fold(f64::INFINITY, f64::min);
        let high = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let how = if low == high {
            short(low, 3)
        } else {
            format!("{} to {}", short(low, 3), short(high, 3))
        };
        said.push(format!(
            "Coordinates of {} were chosen between non-centred (0) and centred (1): {how}.",
            entry.name
        ));
    }
    if record.config.warm_start.is_some() {
        said.push("It started from the metric and step size of an earlier run.".to_owned());
    }
    if !record.without.is_empty() {
        said.push(format!("Left out on request: {}.", record.without.join(", ")));
    }
    said.extend(fit.run.notes.iter().map(|note| sentence(note)));
    if let Some(error) = &record.error {
        said.push(format!("The run failed: {error}"));
    }
    let status = record.status.name();
    if status != "completed" {
        said.push(format!("Its status is: {status}."));
    }
    said
}

/// A note as a sentence of its own.
fn sentence(note: &str) -> String {
    let mut letters = note.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}

/// A list of names that stays readable.
fn some(names: &[String]) -> String {
    const MOST: usize = 12;
    match names.len().checked_sub(MOST) {
        Some(rest) if rest > 0 => format!("{} and {rest} others", names[..MOST].join(", ")),
        _ => names.join(", "),
    }
}
