//! Generated data fit the declarations that they are generated for, whatever the seed.

use crate::support::program;
use exmc_stan::data::{WAYS, generate_data, read_data};
use exmc_stan::value::Value;

const EVERYTHING: &str = "data {
  int<lower=1> N;
  int K;
  int<lower=1, upper=N> first;
  array[N] int<lower=1, upper=K> group;
  array[K] int count;
  array[N] int<upper=3> low;
  real x;
  real<lower=-1, upper=2> bounded;
  vector<lower=0>[N] positive;
  row_vector<upper=bounded>[K] below;
  vector<lower=positive>[N] above;
  matrix[N, K] free;
  matrix<lower=0, upper=1>[N, N] share;
  array[2] simplex[K] p;
  ordered[N] cut;
  positive_ordered[N] cut_above;
  unit_vector[K] direction;
  sum_to_zero_vector[N] contrast;
  sum_to_zero_matrix[N, K] table;
  cholesky_factor_corr[K] L_corr;
  cholesky_factor_cov[N + 1, N] L_cov;
  array[K, 2] cov_matrix[N] covariance;
  corr_matrix[N] correlation;
  row_stochastic_matrix[N, K] rows;
  column_stochastic_matrix[N, K] columns;
  complex z;
  complex_matrix[N, 2] zs;
  tuple(int, vector<lower=0>[K]) pair;
  array[2] tuple(int<lower=0, upper=1>, tuple(real, simplex[N])) nested;
  array[N, 0] real empty;
  array[N] vector<offset=x, multiplier=2>[K] moved;
}";

#[test]
fn data_of_every_declared_type_can_be_read() {
    let program = program(EVERYTHING);
    for seed in 0..2 * WAYS {
        let text = generate_data(&program, seed).unwrap();
        assert_eq!(text, generate_data(&program, seed).unwrap(), "the same seed, the same data");
        let read = read_data(&program, "generated.json", &text);
        assert!(read.is_ok(), "seed {seed}: {:?}\n{text}", read.err().unwrap().diagnostics);
    }
}

#[test]
fn sizes_differ_and_outcomes_are_zero_or_one_at_first() {
    let program = program(
        "data { int<lower=0> N; int<lower=0> J; int K;
         array[N] int<lower=1, upper=J> g; array[40] int y; }",
    );
    let env = read_data(&program, "generated.json", &generate_data(&program, 0).unwrap()).unwrap();
    let value = |k: usize| env.get(program.data[k].variable).unwrap();
    assert_eq!([value(0), value(1), value(2)], [2, 3, 4].map(Value::Int).each_ref());
    let Value::Ints(outcomes) = value(4) else { panic!("an array of integers") };
    assert!(outcomes.values.iter().all(|y| matches!(y, 0 | 1)));
    assert!(outcomes.values.contains(&0) && outcomes.values.contains(&1));
}

#[test]
fn a_size_that_cannot_be_is_an_error() {
    let program = program("data { int<lower=1> N; vector[-N] x; }");
    let error = generate_data(&program, 0).unwrap_err();
    assert!(error.message.contains("must not be negative"), "{}", error.message);
}

#[test]
fn bounds_that_exclude_every_value_are_an_error() {
    for declaration in ["real<lower=1.5, upper=1> x;", "array[2] int<lower=3, upper=1> x;"] {
        let program = program(&format!("data {{ {declaration} }}"));
        let error = generate_data(&program, 0).unwrap_err();
        assert!(error.message.contains("no value was found"), "{}", error.message);
    }
}
