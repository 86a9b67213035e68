//! Two species that hunt and are hunted (posteriordb's `lotka_volterra`): counts of pelts -> a Stan
//! program and its data.

use exmc::model::DataSet;

use super::data::Maker;

/// The density of posteriordb's program, in our words: rates, first populations, scales of the
/// measurements' logarithms.
pub(super) const PROGRAM: &str = "\
functions {
  vector change(real t, vector animals, array[] real rate) {
    real hares = animals[1];
    real lynxes = animals[2];
    return [hares * (rate[1] - rate[2] * lynxes), lynxes * (rate[4] * hares - rate[3])]';
  }
}
data {
  int<lower=1> N;
  array[N] real<lower=0> ts;
  array[2] real<lower=0> y_init;
  array[N, 2] real<lower=0> y;
}
parameters {
  array[4] real<lower=0> theta;
  array[2] real<lower=0> z_init;
  array[2] real<lower=0> sigma;
}
model {
  array[N] vector[2] z = ode_rk45_tol(change, to_vector(z_init), 0, ts, 1e-5, 1e-3, 500, theta);
  target += normal_lpdf({theta[1], theta[3]} | 1, 0.5);
  target += normal_lpdf({theta[2], theta[4]} | 0.05, 0.05);
  target += lognormal_lpdf(z_init | log(10), 1);
  target += lognormal_lpdf(sigma | -1, 1);
  for (k in 1:2) {
    target += lognormal_lpdf(y_init[k] | log(z_init[k]), sigma[k]);
    for (n in 1:N) {
      target += lognormal_lpdf(y[n, k] | log(z[n, k]), sigma[k]);
    }
  }
}
";

/// Near the posterior's mean, where a solution takes two to three times the steps that it takes at
/// small populations.
pub(super) const BULK: &[(&str, &[f64])] =
    &[("theta", &[0.55, 0.028, 0.8, 0.024]), ("z_init", &[34.0, 5.9]), ("sigma", &[0.25, 0.25])];

/// Thousands of pelts of hares and lynxes that the Hudson's Bay Company took in from 1900 to 1920.
const PELTS: [[f64; 2]; 21] = [
    [30.0, 4.0],
    [47.2, 6.1],
    [70.2, 9.8],
    [77.4, 35.2],
    [36.3, 59.4],
    [20.6, 41.7],
    [18.1, 19.0],
    [21.4, 13.0],
    [22.0, 8.3],
    [25.4, 9.1],
    [27.1, 7.4],
    [40.3, 8.0],
    [57.0, 12.3],
    [76.6, 19.5],
    [52.3, 45.7],
    [19.5, 51.1],
    [11.2, 29.7],
    [7.6, 15.8],
    [14.6, 9.7],
    [16.2, 10.1],
    [24.7, 8.6],
];

pub(super) fn data() -> DataSet {
    let (first, later) = (PELTS[0], &PELTS[1..]);
    let years: Vec<f64> = (1..=later.len()).map(|year| year as f64).collect();
    Maker::new(0)
        .size("N", later.len())
        .reals("ts", &years)
        .reals("y_init", &first)
        .matrix("y", later.len(), later.concat())
        .finish()
}
