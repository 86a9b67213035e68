//! Every diagnostic against ArviZ 0.23.4: the specification's arrays and stored chains with hard
//! shapes.

use exmc_diagnose::*;
use serde_json::Value;

/// Agreement asked of every number: relative, with the same absolute floor for autocorrelations
/// near 0.
const TOLERANCE: f64 = 1e-10;

fn assert_close(what: &str, value: f64, expected: f64, tolerance: f64) {
    let close = (value - expected).abs() <= tolerance * expected.abs().max(1e-3);
    assert!(
        close || (value.is_nan() && expected.is_nan()),
        "{what}: found {value:.16e}, expected {expected:.16e}"
    );
}

fn table(chain: impl Fn(f64, f64) -> f64) -> Vec<Vec<f64>> {
    (0..4).map(|c| (0..100).map(|t| chain(f64::from(c), f64::from(t))).collect()).collect()
}

#[test]
fn the_specified_arrays() {
    let rows = table(|c, t| (0.37 * t * (1.0 + c)).sin() + 0.05 * c + 0.2 * (t * t).cos());
    let chains: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    let draws = Draws::new(&chains).unwrap();
    assert_close("rank R-hat", rank_rhat(&draws), 0.999_536_602_880_541_7, TOLERANCE);
    assert_close("split R-hat", split_rhat(&draws), 0.993_637_923_470_546_6, TOLERANCE);
    assert_close("folded R-hat", folded_rhat(&draws), 0.993_267_073_059_452, TOLERANCE);
    // The specification prints seven decimals of these: half a unit in the last is 2.5e-10 of the
    // smallest ESS and 1e-6 of the MCSE.
    assert_close("bulk", ess_bulk(&draws), 211.743_502_7, 2.5e-10);
    assert_close("tail", ess_tail(&draws), 375.085_232_0, 2.5e-10);
    assert_close("mean", ess_mean(&draws), 199.290_375_8, 2.6e-10);
    assert_close("sd", ess_sd(&draws), 536.269_103_2, 2.5e-10);
    assert_close("median", ess_quantile(&draws, 0.5), 225.825_717_1, 2.5e-10);
    assert_close("MCSE", mcse_mean(&draws), 0.051_219_1, 1e-6);

    let rows = table(|c, t| 0.5 * c + (0.05 * t + c).sin());
    let chains: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    let draws = Draws::new(&chains).unwrap();
    assert_close("slow R-hat", rank_rhat(&draws), 1.811_100_7, 3e-8);
    assert_close("slow bulk", ess_bulk(&draws), 6.289_637_2, 1e-8);
    assert_close("slow tail", ess_tail(&draws), 12.051_926_6, 5e-9);
}

fn number(text: &str) -> f64 {
    text.parse().expect("the name ends with a number")
}

fn statistic(name: &str, draws: &Draws, chains: &[&[f64]]) -> f64 {
    if let Some(p) = name.strip_prefix("ess_quantile_") {
        return ess_quantile(draws, number(p));
    }
    if let Some(p) = name.strip_prefix("mcse_quantile_") {
        return mcse_quantile(draws, number(p));
    }
    if let Some(p) = name.strip_prefix("quantile_") {
        return quantile(draws, number(p));
    }
    if let Some(chain) = name.strip_prefix("bfmi_") {
        return e_bfmi(chains[number(chain) as usize]);
    }
    if let Some(lag) = name.strip_prefix("autocorrelation_") {
        let lag = number(lag) as usize;
        return autocorrelation(chains[0])
            .get(lag)
            .copied()
            .expect("the chain is longer than the stored lags");
    }
    match name {
        "rank_rhat" => rank_rhat(draws),
        "split_rhat" => split_rhat(draws),
        "folded_rhat" => folded_rhat(draws),
        "ess_bulk" => ess_bulk(draws),
        "ess_tail" => ess_tail(draws),
        "ess_mean" => ess_mean(draws),
        "ess_sd" => ess_sd(draws),
        "mcse_mean" => mcse_mean(draws),
        "mcse_sd" => mcse_sd(draws),
        "mean" => mean(draws),
        "sd" => sd(draws),
        _ => panic!("no statistic is called {name}"),
    }
}

#[test]
fn stored_chains() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("data/arviz_cases.json")).unwrap();
    assert_eq!(cases.len(), 21);
    let mut errors = Vec::new();
    for case in &cases {
        let name = case["name"].as_str().unwrap();
        let rows: Vec<Vec<f64>> = serde_json::from_value(case["chains"].clone()).unwrap();
        let chains: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let draws = Draws::new(&chains).unwrap();
        for (key, expected) in case["expected"].as_object().unwrap() {
            let expected = expected.as_f64().unwrap_or(f64::NAN);
            let found = statistic(key, &draws, &chains);
            let close = (found - expected).abs() <= TOLERANCE * expected.abs().max(1e-3);
            let both_nan = found.is_nan() && expected.is_nan();
            if !(close || both_nan) {
                errors.push(format!("{name}, {key}: found {found:e}, ArviZ {expected:e}"));
            }
        }
    }
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}
