//! Every gradient written by hand is its model's, at every level of instructions.

use exmc::advanced::{CompileOptions, Executor};
use exmc_bench::by_hand::kernel;
use exmc_bench::models::ALL;
use exmc_math::simd::Level;

/// Points on the unconstrained scale, without structure, between -0.5 and 0.5.
fn point(k: usize, dim: usize) -> Vec<f64> {
    (0..dim)
        .map(|i| ((i * 7 + 3 + 11 * k) as f64 * 0.618_033_988_749_894_9).fract() - 0.5)
        .collect()
}

#[test]
fn values_and_gradients_are_the_models() {
    let mut checked = Vec::new();
    // The largest differ from smaller ones in nothing but their rows.
    for benchmark in ALL.iter().filter(|b| !b.name.ends_with("1e5") && !b.name.ends_with("1e6")) {
        let data = benchmark.made_data();
        let mut options = CompileOptions::default();
        options.executor = Executor::Reference;
        for level in Level::available() {
            let Some(mut kernel) = kernel(benchmark.name, &data, level).unwrap() else { continue };
            let model = benchmark.bind(&data, &options).unwrap();
            let dim = model.compiled().dim();
            let mut base = None;
            for k in 0..3 {
                let position = point(k, dim);
                let (logp, expected) = model.logp_grad(&position).unwrap();
                let mut gradient = vec![0.0; dim];
                let found = kernel(&position, &mut gradient);
                // Rounding of sums of up to 1e4 terms, of either size, against each other.
                let scale = expected.iter().fold(1.0_f64, |m, g| m.max(g.abs()));
                for (i, (g, e)) in gradient.iter().zip(&expected).enumerate() {
                    assert!(
                        (g - e).abs() <= 1e-10 * scale,
                        "{} at {}: gradient[{i}] is {g}, expected {e}",
                        benchmark.name,
                        level.name()
                    );
                }
                let (first, other) = *base.get_or_insert((logp, found));
                let (wanted, found) = (logp - first, found - other);
                let tolerance = 1e-10 * first.abs().max(logp.abs()).max(1.0);
                assert!(
                    (wanted - found).abs() <= tolerance,
                    "{} at {}: the log density rises by {found}, expected {wanted}",
                    benchmark.name,
                    level.name()
                );
            }
            checked.push(benchmark.name);
        }
    }
    checked.dedup();
    assert_eq!(checked.len(), 19, "{checked:?}");
}
