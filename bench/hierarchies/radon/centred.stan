// 85 counties with one to some hundred houses: an intercept by county, with what its soil says, and a slope of the floor.
data {
  int<lower=1> N;
  int<lower=1> J;
  array[N] int<lower=1, upper=J> county;
  vector[N] floor_measured;
  vector[J] soil;
  vector[N] y;
}
parameters {
  real level;
  real by_soil;
  real by_floor;
  real<lower=0> sigma_county;
  vector[J] alpha;
  real<lower=0> sigma;
}
model {
  level ~ normal(0, 5);
  by_soil ~ normal(0, 2);
  by_floor ~ normal(0, 2);
  sigma_county ~ normal(0, 1);
  sigma ~ normal(0, 2);
  alpha ~ normal(level + by_soil * soil, sigma_county);
  y ~ normal(alpha[county] + by_floor * floor_measured, sigma);
}
