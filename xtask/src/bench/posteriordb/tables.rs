//! Runs on the posteriors -> a page of Markdown: totals, unsolved posteriors, what many seeds say,
//! every run.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::judge::Outcome;
use super::{Row, Run, System, chains};

/// The page so far.
pub(super) fn page(head: &str, systems: &[System], seeds: usize, rows: &[Row]) -> String {
    let mut page = format!("{head}\n{}", totals(systems, rows));
    page.push_str(&unsolved(systems, rows));
    if seeds > 1 {
        page.push_str(&over_seeds(systems, rows));
    }
    page.push_str(EVERY_RUN);
    for row in rows {
        for run in &row.runs {
            let _ = writeln!(page, "{}", line(&row.posterior, &systems[run.system].label, run));
        }
    }
    page
}

const EVERY_RUN: &str = "\n## Every run\n\n\
    | posterior | system | seed | outcome | R-hat | bulk ESS | tail ESS | of | divergences | depth hits | processor s | wall s | ESS/s |\n\
    |---|---|---|---|---|---|---|---|---|---|---|---|---|\n";

/// A run as a line of the last table.
pub(super) fn line(posterior: &str, label: &str, run: &Run) -> String {
    let Run { seed, outcome, judged, cpu, wall, .. } = run;
    let numbers = match judged {
        Some(j) => format!(
            "{:.3} | {:.0} | {:.0} | {} | {} | {}",
            j.rhat, j.ess_bulk, j.ess_tail, j.worst, j.divergences, j.depth_hits
        ),
        None => " | | | | | ".to_owned(),
    };
    let rate = run.rate().map_or_else(String::new, |rate| format!("{rate:.0}"));
    format!(
        "| {posterior} | {label} | {seed} | {outcome} | {numbers} | {cpu:.2} | {wall:.2} | {rate} |"
    )
}

/// Counts and seconds of each system, and its ESS a processor second beside the first one's.
fn totals(systems: &[System], rows: &[Row]) -> String {
    let mut text = String::from(
        "\n## Totals\n\nThe ratio is the geometric mean over the posteriors that both this system and the first one solve, of medians over \
         seeds of ESS a processor second.\n\n\
         | system | runs | solved | time limit | failed | processor s, solved | processor s, all | ESS/s to the first | over |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for (k, system) in systems.iter().enumerate() {
        let runs: Vec<&Run> = of_system(rows, k).collect();
        let count = |is: &dyn Fn(&Outcome) -> bool| runs.iter().filter(|r| is(&r.outcome)).count();
        let solved = |run: &&&Run| run.outcome == Outcome::Solved;
        let cpu_solved: f64 = runs.iter().filter(solved).map(|run| run.cpu).sum();
        let cpu_all: f64 = runs.iter().map(|run| run.cpu).sum();
        let (ratio, over) = ratio(rows, k);
        let ratio = ratio.map_or_else(String::new, |r| format!("{r:.2}"));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {cpu_solved:.1} | {cpu_all:.1} | {ratio} | {over} |",
            system.label,
            runs.len(),
            count(&|o| *o == Outcome::Solved),
            count(&|o| *o == Outcome::Stopped),
            count(&|o| matches!(o, Outcome::Failed(_))),
        );
    }
    text
}

fn of_system(rows: &[Row], system: usize) -> impl Iterator<Item = &Run> {
    rows.iter().flat_map(|row| &row.runs).filter(move |run| run.system == system)
}

/// The geometric mean ratio of ESS a processor second to the first system, and the number of
/// posteriors.
fn ratio(rows: &[Row], system: usize) -> (Option<f64>, usize) {
    let rate = |row: &Row, system: usize| {
        let runs = row.runs.iter().filter(|run| run.system == system);
        let runs: Vec<&Run> = runs.collect();
        let solved = runs.iter().all(|run| run.outcome == Outcome::Solved);
        if solved { median(runs.iter().filter_map(|run| run.rate())) } else { None }
    };
    let ratios: Vec<f64> =
        rows.iter().filter_map(|row| Some(rate(row, system)? / rate(row, 0)?)).collect();
    if ratios.is_empty() {
        return (None, 0);
    }
    // A product of ratios, by a root of each: the product itself may overflow.
    let share = 1.0 / ratios.len() as f64;
    (Some(ratios.iter().map(|r| root(*r, share)).product()), ratios.len())
}

#[expect(clippy::disallowed_methods, reason = "a ratio of times is not reproducible anyway")]
fn root(x: f64, share: f64) -> f64 {
    x.powf(share)
}

pub(in crate::bench) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    let middle = all.len() / 2;
    match all.len() {
        0 => None,
        n if n % 2 == 1 => Some(all[middle]),
        _ => Some(0.5 * (all[middle - 1] + all[middle])),
    }
}

/// Posteriors that a system does not solve with every seed, by what is wrong with them.
fn unsolved(systems: &[System], rows: &[Row]) -> String {
    let mut text = String::from("\n## Unsolved, by what is wrong\n\n");
    for (k, system) in systems.iter().enumerate() {
        let mut by_cause: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for row in rows {
            let runs = row.runs.iter().filter(|run| run.system == k);
            for run in runs.filter(|run| run.outcome != Outcome::Solved) {
                let names = by_cause.entry(run.outcome.to_string()).or_default();
                if names.last() != Some(&row.posterior.as_str()) {
                    names.push(&row.posterior);
                }
            }
        }
        let _ = writeln!(text, "{}:\n", system.label);
        for (cause, names) in &by_cause {
            let _ = writeln!(text, "- {cause} ({}): {}", names.len(), names.join(", "));
        }
        text.push('\n');
    }
    text
}

/// A line for a posterior and a system: how many seeds are solved, how many have a chain that is
/// stuck and whether a warning says that something is wrong, how ESS a second varies, and how long
/// the slowest chain takes.
fn over_seeds(systems: &[System], rows: &[Row]) -> String {
    let mut text = String::from(
        "## Over seeds\n\nStuck: the mean log density of a chain lies more than 10 standard deviations below the best chain's, or R-hat is above 1.05; \
         silent: such runs without any warning. Chain times are those of the slowest chain of a run to its median chain.\n\n\
         | posterior | system | seeds | solved | stuck runs | stuck chains | silent | ESS/s least | ESS/s median | processor s median | \
         slowest chain, median | slowest chain, most |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        for (k, system) in systems.iter().enumerate() {
            let runs: Vec<&Run> = row.runs.iter().filter(|run| run.system == k).collect();
            let count = |is: &dyn Fn(&Run) -> bool| runs.iter().filter(|run| is(run)).count();
            let warned = |run: &Run| run.judged.as_ref().is_some_and(|j| !j.warnings.is_empty());
            let slowest: Vec<f64> = runs.iter().filter_map(|run| slowest(run)).collect();
            let said = |x: Option<f64>, places: usize| {
                x.map_or_else(String::new, |x| format!("{x:.places$}"))
            };
            // A run without effective draws has the least of all.
            let rates = || runs.iter().map(|run| run.rate().unwrap_or(0.0));
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                row.posterior,
                system.label,
                runs.len(),
                count(&|run| run.outcome == Outcome::Solved),
                count(&Run::is_stuck),
                runs.iter().map(|run| chains::stuck(&run.chains)).sum::<usize>(),
                count(&|run| run.is_stuck() && !warned(run)),
                said(rates().reduce(f64::min), 0),
                said(median(rates()), 0),
                said(median(runs.iter().map(|run| run.cpu)), 2),
                said(median(slowest.iter().copied()), 2),
                said(slowest.iter().copied().reduce(f64::max), 2),
            );
        }
    }
    text
}

/// Time of the slowest chain to that of the median chain.
fn slowest(run: &Run) -> Option<f64> {
    let times = || run.chains.iter().map(|chain| chain.seconds).filter(|s| *s > 0.0);
    Some(times().reduce(f64::max)? / median(times())?)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::chains::Chain;
    use super::super::judge::Judged;
    use super::*;

    fn systems() -> Vec<System> {
        ["today", "new"]
            .map(|label| System { label: label.to_owned(), path: PathBuf::new(), is_exmc: true })
            .to_vec()
    }

    fn run(system: usize, seed: u64, ess: f64, cpu: f64, warnings: &[&str]) -> Run {
        let judged = Judged {
            rhat: 1.001,
            ess_bulk: ess,
            ess_tail: ess + 100.0,
            worst: "mu".to_owned(),
            divergences: 0,
            depth_hits: 2,
            warnings: warnings.iter().map(|w| (*w).to_owned()).collect(),
        };
        let chain = |mean: f64, seconds: f64| Chain { mean, sd: 1.0, seconds };
        let chains = vec![chain(0.0, 1.0), chain(0.1, 1.0), chain(-0.1, 3.0)];
        Run {
            system,
            seed,
            outcome: judged.outcome(),
            judged: Some(judged),
            chains,
            cpu,
            wall: 0.5,
        }
    }

    fn stopped(system: usize) -> Run {
        Run { outcome: Outcome::Stopped, judged: None, ..run(system, 1, 1.0, 60.0, &[]) }
    }

    fn row(posterior: &str, runs: Vec<Run>) -> Row {
        Row { posterior: posterior.to_owned(), runs }
    }

    #[test]
    fn totals_count_outcomes_and_compare_what_both_solve() {
        let rows = [
            row("a", vec![run(0, 1, 1000.0, 1.0, &[]), run(1, 1, 1000.0, 0.5, &[])]),
            row("b", vec![run(0, 1, 800.0, 1.0, &[]), run(1, 1, 6400.0, 1.0, &[])]),
            row("c", vec![run(0, 1, 500.0, 4.0, &["rhat"]), run(1, 1, 500.0, 1.0, &[])]),
            row("d", vec![stopped(0), stopped(1)]),
        ];
        let text = totals(&systems(), &rows);
        // Twice and eight times as many a second: four times in the geometric mean.
        assert!(text.contains("| today | 4 | 2 | 1 | 0 | 2.0 | 66.0 | 1.00 | 2 |"), "{text}");
        assert!(text.contains("| new | 4 | 3 | 1 | 0 | 2.5 | 62.5 | 4.00 | 2 |"), "{text}");
        let text = unsolved(&systems(), &rows);
        assert!(text.contains("today:\n\n- rhat (1): c\n- time limit (1): d\n"), "{text}");
    }

    #[test]
    fn seeds_show_stuck_chains_and_slow_ones() {
        let mut stuck = run(0, 2, 600.0, 2.0, &[]);
        stuck.chains[1].mean = -50.0;
        let rows = [row("a", vec![run(0, 1, 1000.0, 1.0, &[]), stuck, run(0, 3, 900.0, 1.0, &[])])];
        let text = over_seeds(&systems()[..1], &rows);
        let line = "| a | today | 3 | 3 | 1 | 1 | 1 | 300 | 900 | 1.00 | 3.00 | 3.00 |";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn a_run_is_a_line() {
        let text = line("a-b", "new", &run(1, 7, 1000.0, 0.5, &["divergences"]));
        let expected = "| a-b | new | 7 | divergences | 1.001 | 1000 | 1100 | mu | 0 | 2 | 0.50 | 0.50 | 2000 |";
        assert_eq!(text, expected);
        let cells = |text: &str| text.matches('|').count();
        assert_eq!(cells(&line("a-b", "new", &stopped(1))), cells(expected));
    }

    #[test]
    fn the_page_has_its_parts_in_order() {
        let rows = [row("a", vec![run(0, 1, 1000.0, 1.0, &[])])];
        let text = page("# head\n", &systems()[..1], 2, &rows);
        let places: Vec<_> = [
            "# head",
            "## Totals",
            "## Unsolved",
            "## Over seeds",
            "## Every run",
            "| a | today | 1 | solved |",
        ]
        .map(|part| text.find(part).expect(part))
        .to_vec();
        assert!(places.is_sorted());
        assert!(!page("# head\n", &systems()[..1], 1, &rows).contains("## Over seeds"));
    }
}
