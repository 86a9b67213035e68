//! Runs on the hierarchies -> a page of Markdown: the bars, moments against truth, effective draws,
//! every setting.

use std::fmt::Write as _;

use super::super::posteriordb::tables::median;
use super::estimates::Estimate;
use super::models::{Truth, Writing};
use super::{Mode, Row, Run};

/// Distance from the truth, in Monte Carlo errors, that no moment may have.
const LARGEST: f64 = 4.0;
/// Share of normal numbers beyond that on either side: erfc(4 / sqrt 2).
const FALSE_ALARM: f64 = 6.334e-5;
/// Ratio that every hierarchy must have, and one that one of them must have.
const EVERYWHERE: f64 = 0.8;
const SOMEWHERE: f64 = 2.0;
/// A ratio to the program's own coordinates below which nothing is gained, and what learning may
/// cost there.
const GAIN: f64 = 1.1;
const LEARNING: f64 = 0.1;

/// The page so far.
pub(super) fn page(machine: &str, seeds: &[u64], rows: &[Row]) -> String {
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let mut page = format!(
        "# Hierarchies\n\n{machine}\n\nCommand: `cargo xtask bench hierarchies`, seeds {}: 4 chains of 1000 + 1000 draws. Programs, data and \
         truth are in `bench/hierarchies`. Each is written centred and non-centred; settings run in turn, seed by seed. ESS is the \
         smaller of least bulk and tail ESS over the variables that both writings record; seconds are processor seconds of the whole \
         process, from the program's text to the printed summary.\n",
        seeds.join(",")
    );
    page.push_str(&bars(rows));
    page.push_str(&moments(rows));
    page.push_str(&rates(rows));
    page.push_str(&settings(rows));
    page
}

/// A run as a line on the terminal.
pub(super) fn line(run: &Run) -> String {
    format!(
        "{}, {}: ESS {:.0}, {:.3} s, {:.0} a second, divergences {}, warnings {:?}",
        run.writing.name(),
        run.mode.name(),
        run.ess,
        run.cpu,
        run.rate(),
        run.divergences,
        run.warnings
    )
}

/// Largest distances from the truth, in standard errors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Distances {
    mean: f64,
    sd: f64,
    /// The same of averages over seeds.
    pooled_mean: f64,
    pooled_sd: f64,
    /// Numbers of comparisons.
    single: usize,
    pooled: usize,
    /// Single ones that are as far as [`LARGEST`].
    beyond: usize,
}

impl Distances {
    fn of(truth: &[(String, Vec<Truth>)], runs: &[&Run]) -> Self {
        let mut found = Self::default();
        for (name, elements) in truth {
            let of_run = |run: &&Run| {
                let stored = run.stored.variables.iter().find(|(stored, _)| stored == name);
                stored.map(|(_, all)| all.clone()).unwrap_or_default()
            };
            let estimates: Vec<Vec<Estimate>> = runs.iter().map(of_run).collect();
            for (k, truth) in elements.iter().enumerate() {
                let element_estimates: Vec<Option<&Estimate>> =
                    estimates.iter().map(|all| all.get(k)).collect();
                let pairs = |pair_of: &dyn Fn(&Estimate) -> (f64, f64)| -> Vec<(f64, f64)> {
                    element_estimates
                        .iter()
                        .map(|e| e.map_or((f64::NAN, f64::NAN), pair_of))
                        .collect()
                };
                let means = pairs(&|e| (e.mean, e.mean_error));
                found.add(&means, (truth.mean, truth.mean_error), |f| {
                    (&mut f.mean, &mut f.pooled_mean)
                });
                if let Some(sd) = truth.sd {
                    let sds = pairs(&|e| (e.sd, e.sd_error));
                    found.add(&sds, (sd, truth.sd_error), |f| (&mut f.sd, &mut f.pooled_sd));
                }
            }
        }
        found
    }

    fn add(
        &mut self,
        all: &[(f64, f64)],
        (truth, error): (f64, f64),
        places: impl Fn(&mut Self) -> (&mut f64, &mut f64),
    ) {
        let n = all.len() as f64;
        let far = |(value, own_error): &(f64, f64)| distance(value - truth, own_error.hypot(error));
        let single = all.iter().map(far).fold(0.0, f64::max);
        self.beyond += all.iter().filter(|one| far(one) >= LARGEST).count();
        let value = all.iter().map(|(value, _)| value).sum::<f64>() / n;
        let value_error =
            all.iter().map(|(_, value_error)| value_error * value_error).sum::<f64>().sqrt() / n;
        let pooled = distance(value - truth, value_error.hypot(error));
        let (largest, largest_pooled) = places(self);
        *largest = largest.max(single);
        *largest_pooled = largest_pooled.max(pooled);
        self.single += all.len();
        self.pooled += 1;
    }

    fn single(&self) -> f64 {
        self.mean.max(self.sd)
    }

    fn pooled(&self) -> f64 {
        self.pooled_mean.max(self.pooled_sd)
    }
}

/// What is no number is infinitely far.
fn distance(away: f64, error: f64) -> f64 {
    let z = (away / error).abs();
    if z.is_nan() { f64::INFINITY } else { z }
}

fn runs_of(row: &Row, writing: Writing, mode: Mode) -> Vec<&Run> {
    row.runs.iter().filter(|run| run.writing == writing && run.mode == mode).collect()
}

/// The runs with all coordinates, which are those as written where nothing is integrated out.
fn of_or_written(row: &Row, writing: Writing, mode: Mode) -> Vec<&Run> {
    let runs = runs_of(row, writing, mode);
    if runs.is_empty() { runs_of(row, writing, Mode::Written) } else { runs }
}

/// ESS a second of a hierarchy's default runs beside the programs' own coordinates.
struct Rates {
    default: f64,
    /// The medians of both writings.
    others: [f64; 2],
    /// Median over seeds of the ratio to the better of both.
    ratio: f64,
}

impl Rates {
    fn of(row: &Row, writing: Writing, mode: Mode) -> Self {
        let rate = |runs: &[&Run]| median(runs.iter().map(|run| run.rate())).unwrap_or(0.0);
        let default = runs_of(row, writing, Mode::Default);
        let others = Writing::ALL.map(|writing| of_or_written(row, writing, mode));
        let medians = [rate(&others[0]), rate(&others[1])];
        let better = if medians[0] > medians[1] { &others[0] } else { &others[1] };
        let ratios = default
            .iter()
            .zip(better)
            .map(|(default_run, other)| default_run.rate() / other.rate());
        let ratio = median(ratios).unwrap_or(0.0);
        Self { default: rate(&default), others: medians, ratio }
    }
}

/// How much a default run gains over the program's own coordinates, and the share of it that
/// learning took.
fn gain_and_cost(row: &Row, writing: Writing) -> (f64, f64) {
    let default = runs_of(row, writing, Mode::Default);
    let written = runs_of(row, writing, Mode::Written);
    let ratios =
        default.iter().zip(written).map(|(default_run, other)| default_run.rate() / other.rate());
    let all = |seconds: fn(&Run) -> f64| default.iter().map(|run| seconds(run)).sum::<f64>();
    // Times of some milliseconds each: differences of two may be below zero.
    let share = all(|run| run.learning).max(0.0) / all(|run| run.cpu);
    (median(ratios).unwrap_or(0.0), share)
}

fn each(rows: &[Row]) -> impl Iterator<Item = (&Row, Writing)> {
    rows.iter().flat_map(|row| Writing::ALL.map(|writing| (row, writing)))
}

fn has_divergences(run: &Run) -> bool {
    run.warnings.iter().any(|kind| kind == "divergences")
}

/// Whether that many rare events, or more, happen in one of a thousand trials at least (Poisson).
#[expect(clippy::disallowed_methods, reason = "a probability to be compared with a threshold")]
fn is_usual(found: usize, expected: f64) -> bool {
    let mut term = (-expected).exp();
    let mut below = 0.0;
    for k in 0..found {
        below += term;
        term *= expected / (k + 1) as f64;
    }
    1.0 - below >= 1e-3
}

/// Each bar with what was found.
fn bars(rows: &[Row]) -> String {
    let mut text = String::from("\n## Bars\n\n");
    let mut bar = |said: &str, holds: bool, found: String| {
        let verdict = if holds { "holds" } else { "**missed**" };
        let _ = writeln!(text, "- {said}: {verdict}; {found}");
    };
    let distances: Vec<Distances> = each(rows)
        .map(|(row, writing)| {
            Distances::of(&row.hierarchy.truth, &runs_of(row, writing, Mode::Default))
        })
        .collect();
    let largest =
        |distance: fn(&Distances) -> f64| distances.iter().map(distance).fold(0.0, f64::max);
    let count = |number: fn(&Distances) -> usize| distances.iter().map(number).sum::<usize>();
    let expected = |n: usize| n as f64 * FALSE_ALARM;
    let (single, pooled, beyond) = (count(|d| d.single), count(|d| d.pooled), count(|d| d.beyond));
    let worst = largest(Distances::pooled);
    let found = format!(
        "largest {worst:.2} of {pooled}, of which {:.2} are expected beyond {LARGEST} where draws are right, if errors are known and normal",
        expected(pooled)
    );
    bar(
        "every mean and sd, averaged over seeds, within 4 errors of the truth",
        worst < LARGEST,
        found,
    );
    let found = format!(
        "largest {:.2}; {beyond} of {single} beyond 4, where {:.2} are expected",
        largest(Distances::single),
        expected(single),
    );
    bar("the same of single runs, but for false alarms", is_usual(beyond, expected(single)), found);
    let warned: Vec<String> = each(rows)
        .filter_map(|(row, writing)| {
            let runs = runs_of(row, writing, Mode::Default);
            let n = runs.iter().filter(|run| has_divergences(run)).count();
            (n > 0).then(|| format!("{} {} ({n} runs)", row.hierarchy.name, writing.name()))
        })
        .collect();
    let found = if warned.is_empty() { "none".to_owned() } else { warned.join("; ") };
    bar("no warning of divergences", warned.is_empty(), found);
    for (mode, what) in
        [(Mode::Written, "as written"), (Mode::Whole, "as written in all coordinates")]
    {
        let all: Vec<(f64, String)> = each(rows)
            .map(|(row, writing)| {
                let name = format!("{} {}", row.hierarchy.name, writing.name());
                (Rates::of(row, writing, mode).ratio, name)
            })
            .collect();
        let least = all.iter().min_by(|a, b| a.0.total_cmp(&b.0));
        let most = all.iter().max_by(|a, b| a.0.total_cmp(&b.0));
        let (Some((least, at_least)), Some((most, at_most))) = (least, most) else { continue };
        let said = format!(
            "ESS a second at least {EVERYWHERE} of the better of all-centred and all-non-centred, {what}"
        );
        bar(&said, *least >= EVERYWHERE, format!("least {least:.2}, {at_least}"));
        let said = format!("at least {SOMEWHERE} of it somewhere");
        bar(&said, *most >= SOMEWHERE, format!("most {most:.2}, {at_most}"));
    }
    let costs = each(rows)
        .filter_map(|(row, writing)| {
            let (gain, cost) = gain_and_cost(row, writing);
            let name = format!("{} {}", row.hierarchy.name, writing.name());
            (gain < GAIN).then_some((cost, name))
        })
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let (cost, name_of_most) = costs.unwrap_or((0.0, "there is none such".to_owned()));
    let found = format!("most {:.1} %, {name_of_most}", 100.0 * cost);
    bar("learning takes at most 10 % of a run where less is gained", cost <= LEARNING, found);
    text
}

fn moments(rows: &[Row]) -> String {
    let mut text = String::from(
        "\n## Moments at the defaults\n\nLargest distances from the truth in errors, of single runs and of averages over seeds (means / sds). Shares are of \
         centring (0 to 1), least to most over elements and seeds.\n\n\
         | hierarchy | written | truth | comparisons | single runs | averages | runs with divergence warnings | other warnings | \
         integrated out | shares |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (row, writing) in each(rows) {
        let runs = runs_of(row, writing, Mode::Default);
        let d = Distances::of(&row.hierarchy.truth, &runs);
        let diverged = runs.iter().filter(|run| has_divergences(run)).count();
        let mut others: Vec<&str> = runs
            .iter()
            .flat_map(|run| &run.warnings)
            .filter(|kind| *kind != "divergences")
            .map(String::as_str)
            .collect();
        others.sort_unstable();
        let gone =
            row.integrated.iter().find(|(integrated_writing, _)| *integrated_writing == writing);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} + {} | {:.2} / {:.2} | {:.2} / {:.2} | {diverged} | {} | {} | {} |",
            row.hierarchy.name,
            writing.name(),
            row.hierarchy.how,
            d.single,
            d.pooled,
            d.mean,
            d.sd,
            d.pooled_mean,
            d.pooled_sd,
            others.join(" "),
            gone.map_or("", |(_, gone)| gone),
            shares(&runs),
        );
    }
    text
}

/// `theta 0.0 to 0.3, b 0.5`.
fn shares(runs: &[&Run]) -> String {
    let mut found: Vec<(&str, f64, f64)> = Vec::new();
    for (name, shares) in runs.iter().flat_map(|run| &run.stored.shares) {
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        let most = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match found.iter_mut().find(|entry| entry.0 == name) {
            Some(entry) => (entry.1, entry.2) = (entry.1.min(least), entry.2.max(most)),
            None => found.push((name, least, most)),
        }
    }
    let said = found.iter().map(|(name, least, most)| {
        if least == most { format!("{name} {least}") } else { format!("{name} {least} to {most}") }
    });
    said.collect::<Vec<_>>().join(", ")
}

fn rates(rows: &[Row]) -> String {
    let mut text = String::from(
        "\n## Effective draws a processor second\n\nA non-centred program records its standard normal variables besides, so that it \
         writes and summarises more than a centred one. Medians over seeds. Ratios are medians over seeds of the defaults to the writing whose median is better, both \
         writings integrating out what they can, and neither. Gain: to the same program as written. Learning: the pilot chains' share \
         of the defaults' processor time.\n\n\
         | hierarchy | written | defaults | all-centred | all-non-centred | ratio | all-centred, all coordinates | all-non-centred, all \
         coordinates | ratio | gain | learning |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (row, writing) in each(rows) {
        let [written, with_all] =
            [Mode::Written, Mode::Whole].map(|mode| Rates::of(row, writing, mode));
        let (gain, cost) = gain_and_cost(row, writing);
        let _ = writeln!(
            text,
            "| {} | {} | {:.0} | {:.0} | {:.0} | {:.2} | {:.0} | {:.0} | {:.2} | {gain:.2} | {:.1} % |",
            row.hierarchy.name,
            writing.name(),
            written.default,
            written.others[0],
            written.others[1],
            written.ratio,
            with_all.others[0],
            with_all.others[1],
            with_all.ratio,
            100.0 * cost,
        );
    }
    text
}

fn settings(rows: &[Row]) -> String {
    let mut text = String::from(
        "\n## Every setting\n\nOf all seeds: medians of ESS and processor seconds, sums of divergences, runs with warnings of any kind, and largest distances of means \
         and sds from the truth in errors, single runs.\n\n\
         | hierarchy | written | setting | ESS | ESS least | processor s | divergences | runs with warnings | mean | sd |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (row, writing) in each(rows) {
        for mode in Mode::ALL {
            let runs = runs_of(row, writing, mode);
            if runs.is_empty() {
                continue;
            }
            let d = Distances::of(&row.hierarchy.truth, &runs);
            let _ = writeln!(
                text,
                "| {} | {} | {} | {:.0} | {:.0} | {:.3} | {} | {} | {:.2} | {:.2} |",
                row.hierarchy.name,
                writing.name(),
                mode.name(),
                median(runs.iter().map(|run| run.ess)).unwrap_or(0.0),
                runs.iter().map(|run| run.ess).fold(f64::INFINITY, f64::min),
                median(runs.iter().map(|run| run.cpu)).unwrap_or(0.0),
                runs.iter().map(|run| run.divergences).sum::<u64>(),
                runs.iter().filter(|run| !run.warnings.is_empty()).count(),
                d.mean,
                d.sd,
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::estimates::Stored;
    use super::super::models::Hierarchy;
    use super::*;

    fn hierarchy() -> Hierarchy {
        let place = crate::root().join("bench/hierarchies");
        let all = super::super::models::read(&place, &["one-group".to_owned()]);
        let mut hierarchy = all.expect("it is there").swap_remove(0);
        let exact =
            |mean: f64, sd: f64| Truth { mean, mean_error: 0.0, sd: Some(sd), sd_error: 0.0 };
        hierarchy.truth = vec![("mu".to_owned(), vec![exact(1.0, 2.0), exact(0.0, 1.0)])];
        hierarchy
    }

    /// A run whose first mean is off by some errors.
    fn run(writing: Writing, mode: Mode, ess: f64, off: f64) -> Run {
        let estimate = |mean: f64, sd: f64| Estimate { mean, mean_error: 0.1, sd, sd_error: 0.05 };
        let estimates = vec![estimate(1.0 + 0.1 * off, 2.0), estimate(0.0, 1.05)];
        let stored = Stored {
            variables: vec![("mu".to_owned(), estimates)],
            shares: vec![("theta".to_owned(), vec![0.2])],
        };
        let learning = if mode == Mode::Default { 0.02 } else { 0.0 };
        let (cpu, divergences, warnings) = (0.5, 0, Vec::new());
        Run { writing, mode, ess, cpu, divergences, warnings, stored, learning }
    }

    /// Two seeds: the defaults have four times the draws of the centred program and the non-centred
    /// one's.
    fn row(off: f64) -> Row {
        let mut runs = Vec::new();
        for sign in [1.0, -1.0] {
            for writing in Writing::ALL {
                runs.push(run(writing, Mode::Default, 2000.0, sign * off));
            }
            runs.push(run(Writing::Centred, Mode::Written, 500.0, 0.0));
            runs.push(run(Writing::NonCentred, Mode::Written, 2000.0, 0.0));
            runs.push(run(Writing::Centred, Mode::Whole, 100.0, 0.0));
            runs.push(run(Writing::NonCentred, Mode::Whole, 800.0, 0.0));
        }
        let integrated = Writing::ALL.map(|writing| (writing, "theta".to_owned())).to_vec();
        Row { hierarchy: hierarchy(), integrated, runs }
    }

    #[test]
    fn distances_are_in_errors_and_smaller_of_averages() {
        let row = row(3.0);
        let d =
            Distances::of(&row.hierarchy.truth, &runs_of(&row, Writing::Centred, Mode::Default));
        assert!((d.mean - 3.0).abs() < 1e-9 && d.pooled_mean < 1e-9, "{d:?}");
        // Both seeds have the second sd one error too large.
        assert!((d.sd - 1.0).abs() < 1e-9 && (d.pooled_sd - 2.0_f64.sqrt()).abs() < 1e-9, "{d:?}");
        assert_eq!((d.single, d.pooled), (8, 4));
        let text = bars(&[row]);
        assert!(text.contains("the truth: holds; largest 1.41 of 8, "), "{text}");
        assert!(text.contains("false alarms: holds; largest 3.00; 0 of 16 beyond 4"), "{text}");
        let text = bars(&[self::row(4.5)]);
        assert!(text.contains("the truth: holds; largest 1.41 of 8, "), "{text}");
        assert!(text.contains("alarms: **missed**; largest 4.50; 4 of 16 beyond 4"), "{text}");
        // What was not recorded is infinitely far.
        let mut row = self::row(0.0);
        row.runs[0].stored.variables.clear();
        assert!(bars(&[row]).contains("the truth: **missed**; largest inf"));
    }

    /// Against 1 - exp(-1.05) sum 1.05^k / k!: P(at least 5) = 0.0045, P(at least 6) = 0.00076.
    #[test]
    fn rare_events_are_usual_in_small_numbers() {
        assert!(is_usual(0, 0.001) && is_usual(5, 1.05) && is_usual(1, 0.002));
        assert!(!is_usual(6, 1.05) && !is_usual(2, 0.001) && !is_usual(1, 0.0005));
    }

    #[test]
    fn errors_of_the_truth_count() {
        let mut row = row(4.5);
        row.hierarchy.truth[0].1[0].mean_error = 0.1;
        let d =
            Distances::of(&row.hierarchy.truth, &runs_of(&row, Writing::Centred, Mode::Default));
        assert!((d.mean - 4.5 / 2.0_f64.sqrt()).abs() < 1e-9, "{d:?}");
    }

    #[test]
    fn ratios_are_to_the_better_writing() {
        let rows = [row(0.0)];
        let rates = Rates::of(&rows[0], Writing::Centred, Mode::Written);
        assert_eq!((rates.default, rates.others, rates.ratio), (4000.0, [1000.0, 4000.0], 1.0));
        assert_eq!(Rates::of(&rows[0], Writing::Centred, Mode::Whole).ratio, 2.5);
        assert_eq!(gain_and_cost(&rows[0], Writing::Centred), (4.0, 0.04));
        let text = bars(&rows);
        for said in [
            "all-non-centred, as written: holds; least 1.00, one-group",
            "- at least 2 of it somewhere: **missed**; most 1.00",
            "as written in all coordinates: holds; least 2.50",
            "- at least 2 of it somewhere: holds; most 2.50",
            "where less is gained: holds; most 4.0 %, one-group non-centred",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
        let text = super::rates(&rows);
        let line = "| one-group | centred | 4000 | 1000 | 4000 | 1.00 | 200 | 1600 | 2.50 | 4.00 | 4.0 % |";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn divergences_are_counted_by_runs_and_others_named() {
        let mut row = row(0.0);
        row.runs[0].warnings = vec!["divergences".to_owned(), "ebfmi".to_owned()];
        let text = page("machine", &[1, 2], &[row]);
        assert!(text.contains("no warning of divergences: **missed**; one-group centred (1 runs)"));
        assert!(text.contains("| 1 | ebfmi | theta | theta 0.2 |"), "{text}");
        let setting =
            "| one-group | centred | as written, all coordinates | 100 | 100 | 0.500 | 0 | 0 |";
        assert!(text.contains(setting), "{text}");
    }
}
