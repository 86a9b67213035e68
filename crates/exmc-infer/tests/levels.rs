//! Every level of vector instructions gives the same draws to the bit, whatever the metric.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

mod common;

use common::{correlated, hash, normal};
use exmc_density::LogDensity;
use exmc_infer::{Chain, MetricKind, SamplerConfig, Start};
use exmc_math::simd::Level;

/// The bits of all draws of a chain, warmup included.
fn bits(density: impl LogDensity, kind: MetricKind, level: Level) -> u64 {
    let dim = density.dim();
    let mut config = SamplerConfig::default();
    config.metric = kind;
    config.warmup = 120;
    config.draws = 30;
    let mut chain = Chain::start(density, &config, 3, &Start::Random).unwrap().with_level(level);
    let mut draws = Vec::new();
    while chain.advance().unwrap().is_some() {
        draws.extend_from_slice(&chain.state().position);
    }
    assert_eq!(draws.len(), 150 * dim);
    hash(&draws)
}

#[test]
fn every_level_gives_the_same_draws() {
    let levels = Level::available();
    assert_eq!(levels.last(), Some(&Level::portable()), "the portable level is always there");
    for kind in [MetricKind::Diag, MetricKind::Stan, MetricKind::Dense, MetricKind::LowRank] {
        // Dimensions that fill rows of eight lanes and ones that do not; more than one block of the
        // joins.
        for dim in [1, 5, 8, 19] {
            let found = levels.iter().map(|level| bits(correlated(dim, 0.7), kind, *level));
            let found: Vec<u64> = found.collect();
            assert!(found.iter().all(|bits| *bits == found[0]), "{kind:?}, {dim}: {found:x?}");
        }
    }
    let found: Vec<u64> =
        levels.iter().map(|level| bits(normal(300), MetricKind::Diag, *level)).collect();
    assert!(found.iter().all(|bits| *bits == found[0]), "{found:x?}");
}
