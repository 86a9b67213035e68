//! Logarithms that are those of one product: the values of single ones, for any factors, at every
//! level and in lanes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{BoundDensity, DensitySource, Executor, compile, compile_without};
use exmc_graph::{DType, Graph, NodeId, Role, Shape};
use exmc_math::simd::Level;

use crate::support::lanes::{lanes_agree, positions};
use crate::support::random::Random;

const PASS: &str = "join-logs";

/// A sum of multiples of logarithms of parameters, with their squares besides; arrays have so many
/// elements.
fn source(terms: &[(f64, bool, Option<usize>)]) -> DensitySource {
    let mut g = Graph::new();
    let (mut parameters, mut dim) = (Vec::new(), 0);
    let mut logp: Option<NodeId> = None;
    for (k, &(coefficient, plus_one, len)) in terms.iter().enumerate() {
        let shape = len.map_or(Shape::scalar(), |len| [len].into());
        let x = g.input(&format!("x{k}"), Role::Parameter, shape.clone(), DType::Real).unwrap();
        parameters.push((x, dim));
        dim += shape.len();
        let log = if plus_one { g.log1p(x) } else { g.log(x) };
        let (log, square) = (g.scale(log, coefficient), g.square(x));
        let term = g.add(log, square);
        let term = g.sum(term);
        logp = Some(logp.map_or(term, |logp| g.add(logp, term)));
    }
    DensitySource { graph: g, logp: logp.unwrap(), parameters, dim }
}

fn bind(executor: Executor, source: &DensitySource) -> (BoundDensity, bool) {
    let program = compile(executor, source).unwrap();
    let joined = program.optimisations().iter().any(|applied| applied.pass == PASS);
    (program.bind(&|_| None).unwrap(), joined)
}

fn evaluate(bound: &BoundDensity, position: &[f64]) -> Vec<f64> {
    let mut values = vec![0.0; position.len() + 1];
    values[0] = bound.instance().logp_grad(position, &mut values[1..]).unwrap();
    values
}

/// Every NaN is one.
fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| if v.is_nan() { f64::NAN } else { *v }.to_bits()).collect()
}

/// Ordinary factors, one beyond either end of what a product takes, and what has no logarithm.
const FACTORS: [f64; 12] = [
    1.5,
    0.25,
    4.6e18,
    2.2e-19,
    4.7e18,
    2.1e-19,
    1e300,
    1e-300,
    5e-324,
    0.0,
    f64::INFINITY,
    f64::NAN,
];

fn extremes(random: &mut Random, dim: usize) -> Vec<Vec<f64>> {
    let ordinary = |random: &mut Random| -> Vec<f64> {
        (0..dim).map(|_| (3.0 * random.uniform()).exp()).collect()
    };
    let mut all = vec![ordinary(random); 3];
    for factor in FACTORS {
        // At one place, at two (so that what is too large for one is made up for by another), and
        // everywhere.
        let (mut one, mut two) = (ordinary(random), ordinary(random));
        one[random.below(dim)] = factor;
        for other in [factor, 1.0 / factor] {
            two[random.below(dim)] = other;
        }
        all.extend([one, two, vec![factor; dim]]);
    }
    // Two negative numbers have a product, but no logarithms.
    let mut negative = ordinary(random);
    negative.iter_mut().take(2).for_each(|x| *x = -*x - 1.5);
    all.push(negative);
    all.extend(positions(&all[0]));
    all
}

#[test]
fn joined_logarithms_have_the_values_of_single_ones() {
    let (mut joined, mut with_lanes) = (0, 0);
    const SEEDS: u64 = 300;
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let mut terms: Vec<_> = (0..2 + random.below(4))
            .map(|_| {
                let coefficient = [-0.5, -0.5, -1.0, 1.0, 0.75][random.below(5)];
                // Groups may be empty: the product of no factors is one.
                let len = (random.below(2) == 0).then(|| random.below(13));
                (coefficient, random.below(3) == 0, len)
            })
            .collect();
        if terms.iter().all(|(_, _, len)| *len == Some(0)) {
            terms.push((-0.5, false, None));
        }
        let source = source(&terms);
        let (bound, is_joined) = bind(Executor::Native, &source);
        let (reference, _) = bind(Executor::Reference, &source);
        joined += u64::from(is_joined);
        let positions = extremes(&mut random, source.dim);
        for position in &positions {
            let found = evaluate(&bound, position);
            for level in Level::available() {
                let other = evaluate(&bound.clone().at_level(level), position);
                assert_eq!(bits(&other), bits(&found), "{terms:?} {position:?} {}", level.name());
            }
            for (found, expected) in found.iter().zip(evaluate(&reference, position)) {
                let same = *found == expected || (found.is_nan() && expected.is_nan());
                // Logarithms of up to 745, whose sum may be near zero.
                let near = (found - expected).abs() < 1e-14 * expected.abs().max(1e3);
                assert!(same || near, "{terms:?} {position:?}: {found}, not {expected}");
            }
        }
        let agree = lanes_agree(&bound, &positions);
        with_lanes += u64::from(agree.unwrap_or_else(|why| panic!("{terms:?}: {why}")));
    }
    println!("{joined} of {SEEDS} sums have a product, {with_lanes} have lanes");
    assert!(2 * joined > SEEDS, "{joined}");
    let generated = cfg!(target_os = "linux") && Level::detect().name().starts_with("avx");
    assert!(!generated || 2 * with_lanes > SEEDS, "{with_lanes}");
}

#[test]
fn a_product_takes_one_logarithm() {
    let source = source(&[(-0.5, false, Some(8)), (-1.0, true, None), (-1.0, false, None)]);
    let without = [PASS.to_owned()];
    let [joined, single] = [
        compile(Executor::Native, &source).unwrap(),
        compile_without(Executor::Native, &source, &without).unwrap(),
    ];
    let logs = |text: &str| text.matches("Log").count();
    let text = joined.print();
    let (inside, outside) = text.split_once("elsewhere\n").unwrap();
    assert!(inside.starts_with("where no factor is extreme\n"), "{text}");
    assert_eq!([logs(inside), logs(outside), logs(&single.print())], [1, 3, 3], "{text}");
    assert_eq!(inside.matches("Factor").count(), 3, "{text}");
    assert!(single.optimisations().iter().all(|applied| applied.pass != PASS));
    assert!(!bind(Executor::Reference, &source).1, "the oracle takes them one by one");
}
