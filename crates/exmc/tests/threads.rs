//! Draws of a model whose loops are long enough to be shared by threads do not depend on how many
//! there are.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use exmc::advanced::density::DensityModel;
use exmc::advanced::{BoundModel, CompileOptions, Executor, compile, sample};
use exmc::distributions::{bernoulli, normal};
use exmc::model::{Expr, Tensor, Values};
use exmc::{ModelBuilder, SamplerConfig};

/// A logistic regression on two predictors without equal rows.
fn regression(n: usize) -> BoundModel {
    let fraction = |k: usize| ((k + 1) as f64 * 0.618_033_988_749_894_9).fract();
    let x: Vec<f64> = (0..2 * n).map(|k| 2.0 * fraction(k) - 1.0).collect();
    let y: Vec<f64> = (0..n).map(|k| f64::from(fraction(3 * k) < 0.4)).collect();
    let mut m = ModelBuilder::new();
    m.data("x", Tensor::real([n, 2], x).unwrap());
    m.data("y", Tensor::int([n], y).unwrap());
    m.rv("alpha", normal(0.0, 1.0));
    m.rv("beta", normal(0.0, 1.0)).shape([2]);
    let eta = Expr::name("x").matmul("beta") + "alpha";
    m.rv("p", bernoulli(Expr::call("inv_logit", [eta])));
    m.observe("o", "p", "y");
    let mut options = CompileOptions::default();
    options.executor = Executor::Native;
    compile(&m.build().unwrap(), &options).unwrap().bind(&Values::new()).unwrap()
}

#[test]
fn draws_do_not_depend_on_threads_within_a_chain() {
    let model = regression(30_000);
    assert_eq!(model.threaded_instance(3).threads(), 3, "the model is large enough");
    let draws = |threads, threads_per_chain| {
        let mut config = SamplerConfig::default();
        (config.chains, config.warmup, config.draws, config.seed) = (2, 30, 10, 5);
        (config.threads, config.threads_per_chain) = (threads, threads_per_chain);
        let posterior = sample(&model, &config).unwrap();
        let values = posterior.chains.iter().flat_map(|chain| &chain.values);
        values.map(|v| v.to_bits()).collect::<Vec<u64>>()
    };
    let one = draws(1, 1);
    assert_eq!(one.len(), 2 * 10 * 3);
    for (threads, threads_per_chain) in [(0, 0), (1, 2), (2, 3), (6, 0)] {
        assert_eq!(draws(threads, threads_per_chain), one, "{threads} {threads_per_chain}");
    }
}
