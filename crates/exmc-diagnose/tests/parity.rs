//! Parity with ArviZ on stored posteriors from real runs: the table of largest relative
//! differences.
//!
//! `cargo test -p exmc-diagnose --test all parity:: -- --nocapture` prints the table; with
//! `EXMC_RECORD=FILE` it is written there too.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::collections::BTreeMap;
use std::path::Path;

use exmc_diagnose::*;
use serde_json::Value;

/// What every statistic must agree to, relative to its size; an autocorrelation near 0 to its
/// tenth.
const TOLERANCE: f64 = 1e-10;
/// Smoothed weights and what is made of them: the Pareto fit takes logarithms of differences of
/// nearly equal numbers.
const SMOOTHED: f64 = 1e-8;
/// Weights of stacking: the maximum is flat, and the reference optimiser stops at about 1e-9.
const OPTIMISED: f64 = 1e-6;

/// The largest difference of each statistic, where it was, how many values there were, and what is
/// allowed.
#[derive(Default)]
struct Table(BTreeMap<String, (f64, String, usize, f64)>);

impl Table {
    fn add(&mut self, statistic: &str, label: &str, tolerance: f64, found: f64, expected: &Value) {
        let expected = expected.as_f64().unwrap_or(f64::NAN);
        let both = found.is_nan() && expected.is_nan()
            || found == f64::INFINITY && expected.is_nan()
            || found == expected;
        let difference =
            if both { 0.0 } else { (found - expected).abs() / expected.abs().max(0.1) };
        let difference = if difference.is_nan() { f64::INFINITY } else { difference };
        let row = self.0.entry(statistic.to_owned()).or_default();
        if row.2 == 0 || difference > row.0 {
            (row.0, row.1) = (difference, format!("{label}: {found:.12e}, {expected:.12e}"));
        }
        row.2 += 1;
        row.3 = tolerance;
    }

    fn add_all(
        &mut self,
        statistic: &str,
        label: &str,
        tolerance: f64,
        found: &[f64],
        all: &Value,
    ) {
        let expected = all.as_array().expect("several values");
        if found.len() != expected.len() {
            let label = format!("{label}: {found:?}, {expected:?}");
            self.add(statistic, &label, tolerance, f64::INFINITY, &Value::from(0.0));
        }
        for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
            self.add(statistic, &format!("{label}, {i}"), tolerance, *found, expected);
        }
    }
}

fn read(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    serde_json::from_str(&text).unwrap()
}

fn rows(value: &Value) -> Vec<Vec<f64>> {
    serde_json::from_value(value.clone()).unwrap()
}

fn slices(rows: &[Vec<f64>]) -> Vec<&[f64]> {
    rows.iter().map(Vec::as_slice).collect()
}

/// The numbers behind a name.
fn numbers(name: &str) -> Vec<f64> {
    name.split(' ').filter_map(|word| word.parse().ok()).collect()
}

/// The statistic of ArviZ's name, and the name that it has in the table.
fn of_scalar(name: &str, draws: &Draws, chains: &[&[f64]]) -> (String, Vec<f64>) {
    let given = numbers(name);
    let kind = name.split(' ').take_while(|w| w.parse::<f64>().is_err()).collect::<Vec<_>>();
    let kind = kind.join(" ");
    let one = |value: f64| (kind.clone(), vec![value]);
    let ends = |interval: Interval| (kind.clone(), vec![interval.lower, interval.upper]);
    match kind.as_str() {
        "rhat rank" => one(rank_rhat(draws)),
        "rhat split" => one(split_rhat(draws)),
        "rhat folded" => one(folded_rhat(draws)),
        "rhat z_scale" => one(bulk_rhat(draws)),
        "rhat identity" => one(plain_rhat(draws)),
        "nested rhat" => one(nested_rhat(draws, &[0, 0, 1, 1])),
        "ess bulk" | "ess z_scale" => one(ess_bulk(draws)),
        "ess tail" => one(ess_tail(draws)),
        "ess mean" => one(ess_mean(draws)),
        "ess sd" => one(ess_sd(draws)),
        "ess median" => one(ess_median(draws)),
        "ess mad" => one(ess_mad(draws)),
        "ess folded" => one(ess_folded(draws)),
        "ess identity" => one(ess_plain(draws)),
        "ess quantile" => one(ess_quantile(draws, given[0])),
        "ess local" => one(ess_local(draws, (given[0], given[1]))),
        "ess evolution" => {
            let evolution = ess_evolution(draws, 5, ess_bulk);
            let (_, value) = evolution.iter().find(|(k, _)| *k as f64 == given[0]).unwrap();
            one(*value)
        }
        "mcse mean" => one(mcse_mean(draws)),
        "mcse sd" => one(mcse_sd(draws)),
        "mcse median" => one(mcse_median(draws)),
        "mcse quantile" => one(mcse_quantile(draws, given[0])),
        "quantile" => one(quantile(draws, given[0])),
        "autocorrelation" => one(autocorrelation(chains[0])[given[0] as usize]),
        "hdi" => ends(hdi(draws, given[0])),
        "eti" => ends(equal_tailed_interval(draws, given[0])),
        "hdi modes" => {
            let modes = hdi_modes(draws, given[0]);
            let both = modes.iter().flat_map(|m| [m.interval.lower, m.interval.upper]);
            (kind, both.collect())
        }
        "kde bandwidth" => {
            one(kernel_density(draws, Bandwidth::Mean).map_or(f64::NAN, |k| k.bandwidth))
        }
        "kde density" => {
            let density = kernel_density(draws, Bandwidth::Mean).unwrap().density;
            (kind, [0, 1, 60, 255, 300, 511].map(|i| density[i]).to_vec())
        }
        "kde grid" => {
            let grid = kernel_density(draws, Bandwidth::Mean).unwrap().grid;
            (kind, [0, 255, 511].map(|i| grid[i]).to_vec())
        }
        "mad" => one(median_absolute_deviation(draws)),
        "iqr" => one(interquartile_range(draws)),
        "mean" => one(mean(draws)),
        "sd" => one(sd(draws)),
        "pareto khat" => one(pareto_khat(draws)),
        "pareto min ss" => one(pareto_min_sample_size(draws)),
        other => panic!("no statistic is called {other}"),
    }
}

fn tolerance_of(kind: &str) -> f64 {
    if kind.starts_with("pareto") { SMOOTHED } else { TOLERANCE }
}

/// Tail draws as ArviZ 1.3 counts them: rounded down.
fn arviz_tail(n_draws: usize, efficiency: f64) -> usize {
    let size = n_draws as f64;
    let wanted =
        if size * efficiency > 225.0 { 3.0 * (size / efficiency).sqrt() } else { size / 5.0 };
    wanted as usize
}

fn compare_loo(table: &mut Table, name: &str, log_lik: &[Vec<f64>], expected: &Value, old: &Value) {
    let n_draws = log_lik[0].len();
    for efficiency in ["1.0", "0.4"] {
        let r: f64 = efficiency.parse().unwrap();
        let (mut k, mut elpd, mut p, mut weights) = (vec![], vec![], vec![], vec![]);
        for row in log_lik {
            let ratios: Vec<f64> = row.iter().map(|l| -l).collect();
            let smoothed = psis_of_tail(&ratios, arviz_tail(n_draws, r));
            let sum = |plus: &dyn Fn(usize) -> f64| {
                let most = (0..n_draws).map(plus).fold(f64::NEG_INFINITY, f64::max);
                most + (0..n_draws).map(|s| (plus(s) - most).exp()).sum::<f64>().ln()
            };
            k.push(smoothed.k);
            elpd.push(sum(&|s| smoothed.log_weights[s] + row[s]));
            p.push(sum(&|s| row[s]) - (n_draws as f64).ln() - elpd.last().unwrap());
            let mut sorted = smoothed.log_weights;
            sorted.sort_by(f64::total_cmp);
            weights.push(sorted);
        }
        table.add_all(
            "psis k",
            name,
            SMOOTHED,
            &k,
            &expected[format!("arviz tail {efficiency} k")],
        );
        let key = format!("arviz tail {efficiency} elpd");
        table.add_all("loo elpd", name, SMOOTHED, &elpd, &expected[key]);
        table.add_all("loo p", name, SMOOTHED, &p, &expected[format!("arviz tail {efficiency} p")]);
        let all = expected[format!("arviz tail {efficiency} weights")].as_array().unwrap();
        for (row, expected) in weights.iter().zip(all) {
            let some: Vec<f64> = row.iter().step_by(n_draws / 20).copied().collect();
            table.add_all("psis log weights", name, SMOOTHED, &some, expected);
        }
        // The paper's number of tail draws, which ArviZ 0.23 has too; but of ratios that are equal
        // to the cutoff it takes none, so rows that have some are left out.
        let tail = tail_length(n_draws, r);
        let mut builder = LooBuilder::new();
        for (i, row) in log_lik.iter().enumerate() {
            let observation = builder.push(row, r);
            let mut sorted = row.clone();
            sorted.sort_by(f64::total_cmp);
            if sorted[tail] == sorted[tail - 1] {
                continue;
            }
            let expected_of = |what: &str| &old[name][format!("{what} {efficiency}")][i];
            let label = format!("{name}, {i}");
            table.add(
                "psis k (ArviZ 0.23)",
                &label,
                SMOOTHED,
                observation.pareto_k,
                expected_of("k"),
            );
            table.add(
                "loo elpd (ArviZ 0.23)",
                &label,
                SMOOTHED,
                observation.elpd,
                expected_of("elpd"),
            );
        }
    }
    let efficiencies: Vec<f64> = log_lik
        .iter()
        .map(|row| {
            let chains: Vec<&[f64]> = row.chunks_exact(n_draws / 4).collect();
            relative_efficiency(&Draws::new(&chains).unwrap())
        })
        .collect();
    let key = "relative efficiency";
    table.add_all(key, name, TOLERANCE, &efficiencies, &expected[key]);
    let waic = waic(log_lik.iter().map(Vec::as_slice));
    table.add_all("waic", name, TOLERANCE, &[waic.elpd, waic.se, waic.p_waic], &expected["waic"]);
}

/// Sums, Monte Carlo errors and effective numbers depend on the tail's number of draws, so they are
/// compared with ArviZ's at a number of draws where both rules agree: 900, whose tail is 90.
fn compare_totals(table: &mut Table, name: &str, entry: &Value, expected: &Value) {
    let log_lik = rows(&entry["log_lik"]);
    let weights_and_rows = log_lik.iter().map(|row| {
        let ratios: Vec<f64> = row.iter().map(|l| -l).collect();
        (psis_of_tail(&ratios, arviz_tail(row.len(), 1.0)).log_weights, row)
    });
    let mut n_eff = Vec::new();
    let mut mcse = Vec::new();
    for (weights, row) in weights_and_rows {
        let w: Vec<f64> = weights.iter().map(|w| w.exp()).collect();
        n_eff.push(1.0 / w.iter().map(|w| w * w).sum::<f64>());
        let mean: f64 = w.iter().zip(row).map(|(w, l)| w * l.exp()).sum();
        let variance: f64 =
            w.iter().zip(row).map(|(w, l)| (w * (l.exp() / mean - 1.0)).powi(2)).sum();
        mcse.push(variance.ln_1p().sqrt());
    }
    table.add_all("loo n_eff", name, SMOOTHED, &n_eff, &expected["n_eff"]);
    table.add_all("loo mcse", name, SMOOTHED, &mcse, &expected["mcse"]);
}

fn compare_predictions(table: &mut Table, name: &str, log_lik: &[Vec<f64>], expected: &Value) {
    let predictions = rows(&expected["predictions"]);
    let observed: Vec<f64> = serde_json::from_value(expected["observed"].clone()).unwrap();
    let mut found: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for ((values, y), row) in predictions.iter().zip(&observed).zip(log_lik) {
        let ratios: Vec<f64> = row.iter().map(|l| -l).collect();
        let weights = psis_of_tail(&ratios, arviz_tail(row.len(), 1.0)).log_weights;
        let counts: Vec<f64> = values.iter().map(|x| x.round_ties_even()).collect();
        let weighted = WeightedDraws::new(values, &weights);
        let mut put = |key, value| found.entry(key).or_default().push(value);
        put("pit", loo_pit(values, *y, &weights, 0.5));
        put("pit of counts", loo_pit(&counts, y.round_ties_even(), &weights, 0.5));
        put("mean", weighted.mean());
        put("var", weighted.variance());
        put("sd", weighted.sd());
        put("quantile 0.1", weighted.quantile(0.1));
        put("quantile 0.5", weighted.quantile(0.5));
        put("crps", weighted.crps(*y));
        put("scrps", weighted.scaled_crps(*y));
    }
    for (key, values) in found {
        table.add_all(&format!("loo {key}"), name, SMOOTHED, &values, &expected[key]);
    }
}

fn compare_components(table: &mut Table, name: &str, entry: &Value, expected: &Value) {
    let log_lik = rows(&entry["log_lik"]);
    let lp = rows(&entry["lp"]);
    let n_draws = lp[0].len();
    let likelihood: Vec<Vec<f64>> = (0..4)
        .map(|c| (0..n_draws).map(|t| log_lik.iter().map(|r| r[c * n_draws + t]).sum()).collect())
        .collect();
    let prior: Vec<Vec<f64>> = lp
        .iter()
        .zip(&likelihood)
        .map(|(lp, l)| lp.iter().zip(l).map(|(lp, l)| lp - l).collect())
        .collect();
    for (what, component) in [("prior", &prior), ("likelihood", &likelihood)] {
        let chains = slices(component);
        let component = Draws::new(&chains).unwrap();
        for alpha in ["0.99", "1.01"] {
            let scaled = power_scale_weights(&component, alpha.parse().unwrap());
            let mut weights = scaled.log_weights;
            weights.sort_by(f64::total_cmp);
            let some: Vec<f64> = weights.iter().step_by(50).copied().collect();
            let all = &expected[format!("{what} weights {alpha}")];
            table.add_all("power-scaling log weights", name, SMOOTHED, &some, all);
        }
        let scaling = PowerScaling::new(&component);
        for (variable, values) in entry["variables"].as_object().unwrap() {
            let values = rows(values);
            let chains = slices(&values);
            let found = scaling.sensitivity(&Draws::new(&chains).unwrap());
            let label = format!("{name}, {what}, {variable}");
            let expected = &expected[format!("{what} {variable}")];
            table.add("power-scaling sensitivity", &label, SMOOTHED, found, expected);
        }
    }
}

fn compare_models(table: &mut Table, all: &Value) {
    let expected = &all["compare"];
    let models: Vec<String> = serde_json::from_value(expected["models"].clone()).unwrap();
    let elpd: Vec<Vec<f64>> = models
        .iter()
        .map(|m| {
            let elpd = all[m]["loo"]["arviz tail 1.0 elpd"].clone();
            serde_json::from_value(elpd).unwrap()
        })
        .collect();
    let pointwise = slices(&elpd);
    let rows = compare(&pointwise).unwrap();
    let row_of = |k: usize| rows.iter().find(|r| r.model == k).unwrap();
    let column = |f: fn(&Comparison) -> f64| (0..3).map(|k| f(row_of(k))).collect::<Vec<f64>>();
    let against = |f: fn(&Comparison) -> f64| -> Vec<f64> {
        // The best model is the reference, and it is the first of the three.
        assert_eq!(rows[0].model, 0);
        column(f)
    };
    table.add_all("compare elpd", "models", TOLERANCE, &column(|r| r.elpd), &expected["elpd"]);
    let differences = against(|r| r.elpd_diff);
    table.add_all("compare elpd_diff", "models", TOLERANCE, &differences, &expected["elpd_diff"]);
    let errors = against(|r| r.se_diff);
    table.add_all("compare se_diff", "models", TOLERANCE, &errors, &expected["se_diff"]);
    let p_worse = against(|r| r.p_worse);
    let worse = Value::from(expected["p_worse"].as_array().unwrap()[1..].to_vec());
    table.add_all("compare p_worse", "models", TOLERANCE, &p_worse[1..], &worse);
    let weights = stacking_weights(&pointwise);
    table.add_all("stacking weights", "models", OPTIMISED, &weights, &expected["stacking"]);
    let sums: Vec<f64> = elpd.iter().map(|e| e.iter().sum()).collect();
    let plain = pseudo_bma_weights(&sums);
    table.add_all("pseudo-BMA weights", "models", TOLERANCE, &plain, &expected["pseudo-bma"]);
    // The optimum is at least as high as scipy's.
    let theirs: Vec<f64> = serde_json::from_value(expected["stacking"].clone()).unwrap();
    let (our_score, theirs) =
        (mixture_score(&pointwise, &weights), mixture_score(&pointwise, &theirs));
    assert!(our_score >= theirs - 1e-13, "{our_score} {theirs}");

    let r2 = &all["r2"];
    let mu = self::rows(&r2["mu"]);
    let y: Vec<f64> = serde_json::from_value(r2["y"].clone()).unwrap();
    let bayesian: Vec<f64> =
        mu.iter().zip([0.4, 0.6]).map(|(m, s)| bayesian_r_squared(m, s * s)).collect();
    table.add_all("bayesian R2", "r2", TOLERANCE, &bayesian, &r2["bayesian"]);
    let residual: Vec<f64> = mu.iter().map(|m| residual_r_squared(&y, m)).collect();
    table.add_all("residual R2", "r2", TOLERANCE, &residual, &r2["residual"]);
}

#[test]
fn statistics_equal_arviz_on_stored_posteriors() {
    let (all, old) = (read("parity.json"), read("parity_old.json"));
    let mut table = Table::default();
    let mut n_posteriors = 0;
    for (name, expected) in all.as_object().unwrap() {
        if name == "compare" || name == "r2" {
            continue;
        }
        n_posteriors += 1;
        let entry = read(&format!("posteriors/{name}.json"));
        let energy = rows(&entry["energy"]);
        let bfmi: Vec<f64> = energy.iter().map(|e| e_bfmi(e)).collect();
        table.add_all("bfmi", name, TOLERANCE, &bfmi, &expected["bfmi"]);
        for (variable, statistics) in expected["variables"].as_object().unwrap() {
            let values =
                if variable == "lp" { &entry["lp"] } else { &entry["variables"][variable] };
            let values = rows(values);
            let chains = slices(&values);
            let draws = Draws::new(&chains).unwrap();
            let label = format!("{name}, {variable}");
            for (key, expected) in statistics.as_object().unwrap() {
                let (kind, found) = of_scalar(key, &draws, &chains);
                let expected = if expected.is_array() {
                    expected.clone()
                } else {
                    vec![expected.clone()].into()
                };
                table.add_all(
                    &kind,
                    &format!("{label}, {key}"),
                    tolerance_of(&kind),
                    &found,
                    &expected,
                );
            }
        }
        if entry.get("log_lik").is_some() {
            let log_lik = rows(&entry["log_lik"]);
            compare_loo(&mut table, name, &log_lik, &expected["loo"], &old);
            compare_totals(&mut table, name, &entry, &expected["loo"]);
            compare_components(&mut table, name, &entry, &expected["components"]);
            if expected.get("predictions").is_some() {
                compare_predictions(&mut table, name, &log_lik, &expected["predictions"]);
            }
        }
    }
    assert!(n_posteriors >= 20, "{n_posteriors} posteriors");
    compare_models(&mut table, &all);

    let mut text = String::from(
        "| statistic | values | largest relative difference | allowed |\n|---|---|---|---|\n",
    );
    for (statistic, (difference, _, n, tolerance)) in &table.0 {
        text += &format!("| {statistic} | {n} | {difference:.1e} | {tolerance:.0e} |\n");
    }
    println!("{n_posteriors} posteriors\n\n{text}");
    if let Ok(path) = std::env::var("EXMC_RECORD") {
        std::fs::write(path, &text).unwrap();
    }
    let bad: Vec<String> = table
        .0
        .iter()
        .filter(|(_, (difference, _, _, tolerance))| difference > tolerance)
        .map(|(statistic, (difference, label, _, _))| {
            format!("{statistic}: {difference:.1e} at {label}")
        })
        .collect();
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
