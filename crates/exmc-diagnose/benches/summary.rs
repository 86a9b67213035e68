//! Times the summary of 1,000 parameters with 4 chains of 1,000 draws, for three kinds of chains.
//!
//! `cargo bench -p exmc-diagnose`; prints the best of five runs.
#![expect(clippy::print_stdout, reason = "a benchmark prints its result")]

use std::time::Instant;

use exmc_diagnose::{Draws, Summariser};
use exmc_math::random::{ChainRng, Phase};

const PARAMETERS: usize = 1000;
const CHAINS: u32 = 4;
const DRAWS: usize = 1000;

/// Row-major tables of AR(1) draws, one for each chain.
fn tables(coefficient: f64) -> Vec<Vec<f64>> {
    (0..CHAINS)
        .map(|chain| {
            let mut rng = ChainRng::new(1, chain, Phase::Sampling);
            let mut table: Vec<f64> =
                (0..PARAMETERS * DRAWS).map(|_| rng.standard_normal()).collect();
            for i in PARAMETERS..table.len() {
                table[i] += coefficient * table[i - PARAMETERS];
            }
            table
        })
        .collect()
}

fn main() {
    for (name, coefficient) in [("independent", 0.0), ("AR(1) 0.9", 0.9), ("AR(1) 0.999", 0.999)] {
        let tables = tables(coefficient);
        let chains: Vec<&[f64]> = tables.iter().map(Vec::as_slice).collect();
        let mut best = f64::INFINITY;
        let mut total_ess = 0.0;
        for _ in 0..5 {
            let start = Instant::now();
            let mut summariser = Summariser::new();
            total_ess = (0..PARAMETERS)
                .map(|column| {
                    let draws = Draws::column(&chains, PARAMETERS, column);
                    summariser.summary(&draws.expect("the tables are rectangular")).ess_bulk
                })
                .sum();
            best = best.min(start.elapsed().as_secs_f64());
        }
        let ess = total_ess / PARAMETERS as f64;
        println!("{name}: {:.0} ms, average bulk ESS {ess:.0}", best * 1e3);
    }
}
