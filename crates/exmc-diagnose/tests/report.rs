//! Warnings of a run: which situations speak up, and in which words.

use exmc_diagnose::*;

fn chain(seed: u32, n: u32, scale: f64) -> Vec<f64> {
    // A full-period congruential sequence: as good as independent draws for these checks.
    let mut state = seed;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            scale * f64::from(state >> 8)
        })
        .collect()
}

fn summary(rows: &[Vec<f64>]) -> Summary {
    let chains: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    Summary::of(&Draws::new(&chains).expect("all chains have one length"))
}

fn run(diverging: &[bool], tree_depth: &[u32], energy: &[f64]) -> RunDiagnostics {
    // One more transition met a position without a density than diverged, if any did.
    let mut recovered = diverging.to_vec();
    if recovered.contains(&true) {
        recovered[0] = true;
    }
    let recovered = &recovered;
    let non_finite_divergences = &vec![false; diverging.len()];
    let chain =
        ChainStatistics { diverging, non_finite_divergences, recovered, tree_depth, energy };
    RunDiagnostics::of(&[chain, chain], 10)
}

fn quiet_run() -> RunDiagnostics {
    run(&[false; 500], &[3; 500], &chain(7, 500, 1.0))
}

#[test]
fn a_good_run_is_silent() {
    let good = summary(&[chain(1, 500, 1.0), chain(2, 500, 1.0)]);
    let constant = summary(&[vec![1.0; 500], vec![1.0; 500]]);
    let parameters = [("mu", &good), ("L[1,1]", &constant)];
    assert_eq!(warnings(&parameters, &quiet_run(), &Thresholds::default()), []);
}

#[test]
fn every_kind_speaks_once_and_names_the_worst() {
    let apart = summary(&[chain(1, 50, 1.0), chain(2, 50, 3.0)]);
    let mild = summary(&[chain(3, 50, 1.0), chain(4, 50, 1.0)]);
    let nan = summary(&[vec![f64::NAN; 50], vec![0.0; 50]]);
    let short = summary(&[vec![1.0, 2.0], vec![3.0, 4.0]]);
    let slow: Vec<f64> = (0..50).map(|t| (f64::from(t) * 0.02).sin()).collect();
    let mut diverging = [false; 50];
    diverging[3] = true;
    let run = run(&diverging, &[10; 50], &slow);
    let parameters = [("a", &mild), ("b", &apart), ("c", &nan), ("d", &short)];
    let found = warnings(&parameters, &run, &Thresholds::default());
    let kinds: Vec<WarningKind> = found.iter().map(|w| w.kind).collect();
    use WarningKind::*;
    let expected =
        [NonFinite, Divergences, Recovered, Rhat, EssBulk, EssTail, Ebfmi, DepthHits, TooShort];
    assert_eq!(kinds, expected);
    let starts = [
        "draws are NaN or infinite for 1 of 4 parameters (first: c); look",
        "2 of 100 transitions (2.0 %) diverged; the draws may miss",
        "4 of 100 transitions (4.0 %) ended where the log density could not be evaluated; such",
        "R-hat is above 1.01 for 1 of 4 parameters (worst: b, R-hat 1.",
        "bulk effective sample size is below 200 for 2 of 4 parameters (worst: b, ESS ",
        "tail effective sample size is below 200 for 2 of 4 parameters (worst: ",
        "E-BFMI is below 0.3 in 2 of 2 chains (lowest 0.00); the chain moves slowly",
        "100 of 100 transitions (100.0 %) reached the largest tree depth; each draw",
        "R-hat and effective sample size are unknown for 1 of 4 parameters (first: d); keep",
    ];
    for (warning, start) in found.iter().zip(starts) {
        assert!(warning.to_string().starts_with(start), "{warning}");
    }
}

/// Most divergences are where there is no density: bounds are asked for, and not a larger target.
#[test]
fn a_wall_is_told_from_curvature() {
    let said = |walls: usize| {
        let diverging: Vec<bool> = (0..50).map(|k| k < 5).collect();
        let non_finite_divergences: Vec<bool> = (0..50).map(|k| k < walls).collect();
        let chain = ChainStatistics {
            diverging: &diverging,
            non_finite_divergences: &non_finite_divergences,
            recovered: &[false; 50],
            tree_depth: &[3; 50],
            energy: &chain(7, 50, 1.0),
        };
        let run = RunDiagnostics::of(&[chain], 10);
        warnings(&[], &run, &Thresholds::default())[0].to_string()
    };
    let wall = said(3);
    assert!(wall.contains("diverged, 3 of them where the log density is not finite"), "{wall}");
    assert!(wall.contains("declare the bounds"), "{wall}");
    let curvature = said(2);
    assert!(curvature.contains("diverged; the draws may miss"), "{curvature}");
}

/// A log probability of zero, in every draw.
#[test]
fn a_constant_infinity_is_no_warning() {
    let draws = vec![f64::NEG_INFINITY; 50];
    let zero = summary(&[draws.clone(), draws.clone()]);
    assert_eq!([zero.mean, zero.q5, zero.q50, zero.q95], [f64::NEG_INFINITY; 4]);
    assert_eq!(warnings(&[("lp[1]", &zero)], &quiet_run(), &Thresholds::default()), []);
    let mut one = draws.clone();
    one[7] = -3.0;
    let broken = summary(&[draws, one]);
    let found = warnings(&[("lp[1]", &broken)], &quiet_run(), &Thresholds::default());
    assert_eq!(found[0].kind, WarningKind::NonFinite);
}

#[test]
fn chains_stuck_apart_are_reported() {
    let stuck = summary(&[vec![1.0; 50], vec![2.0; 50]]);
    let found = warnings(&[("mu", &stuck)], &quiet_run(), &Thresholds::default());
    assert_eq!(found[0].kind, WarningKind::Rhat);
    assert!(found[0].message.ends_with("R-hat inf)"), "{}", found[0]);
}

/// The diagonal of a correlation matrix is 1 up to rounding, its corner exactly; neither is a bad
/// sign.
#[test]
fn constants_up_to_rounding_are_silent() {
    let noise = |seed, unit: f64| -> Vec<f64> {
        chain(seed, 500, 1.0).iter().map(|x| 1.0 + unit * f64::EPSILON * (x % 5.0 - 2.0)).collect()
    };
    // Noise that differs between chains, whose R-hat would be bad.
    let shifted: Vec<f64> = noise(2, 1.0).iter().map(|x| x + 4.0 * f64::EPSILON).collect();
    let diagonal = summary(&[noise(1, 1.0), shifted]);
    let sparse = summary(&[noise(1, 0.5), vec![1.0; 500]]);
    let corner = summary(&[vec![1.0; 500], vec![1.0; 500]]);
    let lone = summary(&[vec![1.0, 1.0 + f64::EPSILON], vec![1.0; 2]]);
    let parameters =
        [("R[2,2]", &diagonal), ("R[3,3]", &sparse), ("R[1,1]", &corner), ("s", &lone)];
    assert_eq!(warnings(&parameters, &quiet_run(), &Thresholds::default()), []);
    // What varies more than that is judged, however small it is beside its mean.
    let small: Vec<Vec<f64>> = [0.0, 1e-9]
        .iter()
        .map(|shift| chain(1, 500, 1e-18).iter().map(|x| 1.0 + shift + x).collect())
        .collect();
    let found = warnings(&[("x", &summary(&small))], &quiet_run(), &Thresholds::default());
    assert_eq!(found[0].kind, WarningKind::Rhat, "{found:?}");
}
