//! `_rng` functions of single numbers: parameters of a family -> a draw, or one for each element of
//! containers.
//!
//! Families that `exmc_model` has are drawn from by their own `draw`; here are the families that
//! only Stan has, and checks of parameters.

use exmc_math as m;
use exmc_math::random::{ChainRng, draws};
use exmc_model::Support;
use exmc_model::distribution::{Distribution, Parameter, find_family};

use crate::host::error::Fault;
use crate::host::library::Call;
use crate::value::Value;

/// Families of single numbers, in Stan's names.
const UNIVARIATE: &[&str] = &[
    "normal",
    "std_normal",
    "student_t",
    "cauchy",
    "logistic",
    "gumbel",
    "lognormal",
    "double_exponential",
    "chi_square",
    "inv_chi_square",
    "scaled_inv_chi_square",
    "exponential",
    "gamma",
    "inv_gamma",
    "weibull",
    "frechet",
    "rayleigh",
    "loglogistic",
    "pareto",
    "pareto_type_2",
    "beta",
    "beta_proportion",
    "uniform",
    "von_mises",
    "skew_normal",
    "skew_double_exponential",
    "exp_mod_normal",
    "bernoulli",
    "bernoulli_logit",
    "binomial",
    "binomial_logit",
    "beta_binomial",
    "poisson",
    "poisson_log",
    "neg_binomial",
    "neg_binomial_2",
    "neg_binomial_2_log",
    "discrete_range",
    "hypergeometric",
    "beta_neg_binomial",
    "yule_simon",
];

/// One draw of a family that only Stan has; arguments satisfy the supports beside it.
type Kernel = fn(&mut ChainRng, &[f64]) -> f64;

/// Families of one number that `exmc_model` lacks under these parameters.
fn own(name: &str) -> Option<(&'static [Support], Kernel, bool)> {
    use Support::{Count, Positive, Real, UnitOpen};
    Some(match name {
        "inv_chi_square" => (&[Positive], |rng, a| 1.0 / draws::chi_square(rng, a[0]), false),
        "scaled_inv_chi_square" => (
            &[Positive, Positive],
            |rng, a| a[0] * a[1] * a[1] / draws::chi_square(rng, a[0]),
            false,
        ),
        "frechet" => (
            &[Positive, Positive],
            |rng, a| a[1] * m::pow(rng.standard_exponential(), -1.0 / a[0]),
            false,
        ),
        "rayleigh" => {
            (&[Positive], |rng, a| a[0] * (2.0 * rng.standard_exponential()).sqrt(), false)
        }
        "loglogistic" => (
            &[Positive, Positive],
            |rng, a| a[0] * m::exp(m::logit(rng.uniform_open()) / a[1]),
            false,
        ),
        "pareto_type_2" => (
            &[Real, Positive, Positive],
            |rng, a| a[0] + a[1] * m::expm1(rng.standard_exponential() / a[2]),
            false,
        ),
        "beta_proportion" => (
            &[UnitOpen, Positive],
            |rng, a| draws::beta(rng, a[0] * a[1], (1.0 - a[0]) * a[1]),
            false,
        ),
        "skew_double_exponential" => (&[Real, Positive, UnitOpen], skew_laplace, false),
        "exp_mod_normal" => (
            &[Real, Positive, Positive],
            |rng, a| a[0] + a[1] * rng.standard_normal() + rng.standard_exponential() / a[2],
            false,
        ),
        "beta_binomial" => (
            &[Count, Positive, Positive],
            |rng, a| {
                let p = draws::beta(rng, a[1], a[2]);
                draws::binomial(rng, a[0], p)
            },
            true,
        ),
        "neg_binomial" => {
            (&[Positive, Positive], |rng, a| gamma_poisson(rng, a[0], 1.0 / a[1]), true)
        }
        "neg_binomial_2" => {
            (&[Positive, Positive], |rng, a| gamma_poisson(rng, a[1], a[0] / a[1]), true)
        }
        "neg_binomial_2_log" => {
            (&[Real, Positive], |rng, a| gamma_poisson(rng, a[1], m::exp(a[0]) / a[1]), true)
        }
        "beta_neg_binomial" => (
            &[Positive, Positive, Positive],
            |rng, a| {
                let p = draws::beta(rng, a[1], a[2]);
                gamma_poisson(rng, a[0], (1.0 - p) / p)
            },
            true,
        ),
        "yule_simon" => (
            &[Positive],
            |rng, a| {
                let p = m::exp(-rng.standard_exponential() / a[0]);
                // Trials up to the first success.
                1.0 + (m::log(rng.uniform_open()) / m::log1m(p)).floor()
            },
            true,
        ),
        "discrete_range" => (
            &[Real, Real],
            |rng, a| {
                if a[0] > a[1] {
                    f64::NAN
                } else {
                    a[0] + rng.below((a[1] - a[0]) as u64 + 1) as f64
                }
            },
            true,
        ),
        "hypergeometric" => (&[Count, Count, Count], hypergeometric, true),
        _ => return None,
    })
}

/// A Poisson count whose rate is gamma distributed.
fn gamma_poisson(rng: &mut ChainRng, shape: f64, scale: f64) -> f64 {
    let rate = draws::gamma(rng, shape) * scale;
    draws::poisson(rng, rate)
}

/// By inversion: below mu with probability tau. **Reference**: Stan's functions reference.
fn skew_laplace(rng: &mut ChainRng, a: &[f64]) -> f64 {
    let (mu, sigma, tau) = (a[0], a[1], a[2]);
    let u = rng.uniform_open();
    if u < tau {
        mu + sigma * m::log(u / tau) / (2.0 * (1.0 - tau))
    } else {
        mu - sigma * m::log((1.0 - u) / (1.0 - tau)) / (2.0 * tau)
    }
}

/// White balls among `a[0]` drawn without putting back from `a[1]` white and `a[2]` others: ball by
/// ball.
fn hypergeometric(rng: &mut ChainRng, a: &[f64]) -> f64 {
    let (drawn, mut white, mut others) = (a[0], a[1], a[2]);
    if drawn > white + others {
        return f64::NAN;
    }
    let mut count = 0.0;
    for _ in 0..drawn as u64 {
        if rng.uniform() * (white + others) < white {
            white -= 1.0;
            count += 1.0;
        } else {
            others -= 1.0;
        }
    }
    count
}

/// Stan's names of families that `exmc_model` has under another.
fn family(name: &str) -> Option<&'static dyn Distribution> {
    match name {
        "double_exponential" => find_family("laplace"),
        "inv_gamma" => find_family("inverse_gamma"),
        _ => find_family(name),
    }
}

/// Whether a number lies in a support of single numbers.
pub(super) fn holds(support: Support, x: f64) -> bool {
    match support {
        Support::Positive => x > 0.0 && x < f64::INFINITY,
        Support::NonNegative => (0.0..f64::INFINITY).contains(&x),
        Support::Unit => (0.0..=1.0).contains(&x),
        Support::UnitOpen => x > 0.0 && x < 1.0,
        Support::MinusOneToOne => x > -1.0 && x < 1.0,
        Support::Count => x >= 0.0 && x == x.floor() && x.is_finite(),
        _ => x.is_finite(),
    }
}

/// A family of single numbers, looked up once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Univariate {
    /// With the supports of the parameters.
    kernel: Option<(&'static [Support], Kernel)>,
    /// With its parameters.
    family: Option<(&'static dyn Distribution, &'static [Parameter])>,
    discrete: bool,
    /// Whether the parameters are limits, of which the first must not be above the second.
    limits: bool,
}

/// The functions that draw single numbers.
pub(crate) fn univariates() -> impl Iterator<Item = (String, Univariate)> {
    UNIVARIATE.iter().map(|name| {
        let found = own(name);
        let kernel = found.map(|(supports, kernel, _)| (supports, kernel));
        let family = if kernel.is_none() { family(name) } else { None };
        let of_family = family.is_some_and(|f| f.support().is_discrete());
        let family = family.map(|family| (family, family.parameters()));
        let discrete = found.map_or(of_family, |(.., discrete)| discrete);
        let limits = *name == "uniform";
        (format!("{name}_rng"), Univariate { kernel, family, discrete, limits })
    })
}

/// The most parameters that a family of single numbers has.
const MAX_PARAMETERS: usize = 8;

impl Univariate {
    fn parameter_count(&self) -> usize {
        match (self.kernel, self.family) {
            (Some((supports, _)), _) => supports.len(),
            (None, Some((_, parameters))) => parameters.len(),
            (None, None) => usize::MAX,
        }
    }

    /// A draw as a value; `name` is the function's.
    pub(crate) fn draw(
        &self,
        rng: &mut ChainRng,
        name: &str,
        point: &[f64],
    ) -> Result<Value, Fault> {
        if point.len() != self.parameter_count() {
            let what = format!("`{name}` with these arguments cannot be computed here");
            return Err(Fault::unsupported(what));
        }
        let drawn = self.number(rng, name, point)?;
        Ok(if self.discrete { Value::Int(drawn as i64) } else { Value::Real(drawn) })
    }

    /// A draw; there are as many parameters as the family has.
    fn number(&self, rng: &mut ChainRng, name: &str, point: &[f64]) -> Result<f64, Fault> {
        for (j, x) in point.iter().enumerate() {
            let (support, parameter) = match (self.kernel, self.family) {
                (None, Some((_, parameters))) => (parameters[j].support, parameters[j].name),
                (Some((supports, _)), _) => (supports[j], "parameter"),
                (None, None) => continue,
            };
            if !holds(support, *x) {
                let what = support.describe();
                let message = format!("{name}: {parameter} is {x}, but must be {what}");
                return Err(Fault::domain(message));
            }
        }
        if self.limits && point[0] > point[1] {
            let (lower, upper) = (point[0], point[1]);
            let message = format!("{name}: the lower limit {lower} is above the upper {upper}");
            return Err(Fault::domain(message));
        }
        let drawn = match (self.kernel, self.family) {
            (Some((_, kernel)), _) => kernel(rng, point),
            (None, Some((family, _))) => {
                let mut parts: [&[f64]; MAX_PARAMETERS] = [&[]; MAX_PARAMETERS];
                for (part, x) in parts.iter_mut().zip(point) {
                    *part = std::slice::from_ref(x);
                }
                let mut out = [f64::NAN];
                family.draw(rng, &parts[..point.len()], &mut out);
                out[0]
            }
            (None, None) => f64::NAN,
        };
        let too_large = self.discrete && drawn.abs() > f64::from(i32::MAX);
        if drawn.is_nan() || too_large {
            let what = "the parameters allow no draw, or one beyond 32-bit integers";
            return Err(Fault::domain(format!("{name}: {what}")));
        }
        Ok(drawn)
    }

    /// Draws of single numbers; containers give an array of draws.
    pub(crate) fn call(&self, rng: &mut ChainRng, c: &Call<'_>) -> Result<Value, Fault> {
        let args: Result<Vec<_>, Fault> = (0..c.args.len()).map(|k| c.reals(k)).collect();
        let args = args?;
        let scalar: Vec<bool> = c.args.iter().map(|arg| arg.shape().is_empty()).collect();
        let lengths =
            args.iter().zip(&scalar).filter(|(_, scalar)| !**scalar).map(|(arg, _)| arg.len());
        let mut len = None;
        for other in lengths {
            c.same_length(*len.get_or_insert(other), other)?;
        }
        if self.parameter_count() != args.len() {
            return Err(c.missing());
        }
        let mut point = [0.0; MAX_PARAMETERS];
        let mut one = |k: usize| {
            for (j, arg) in args.iter().enumerate() {
                point[j] = arg[if scalar[j] { 0 } else { k }];
            }
            self.number(rng, c.name, &point[..args.len()])
        };
        let Some(len) = len else {
            let drawn = one(0)?;
            return Ok(if self.discrete { Value::Int(drawn as i64) } else { Value::Real(drawn) });
        };
        let drawn: Result<Vec<f64>, Fault> = (0..len).map(&mut one).collect();
        let drawn = drawn?;
        Ok(if self.discrete {
            Value::ints(drawn.into_iter().map(|x| x as i64).collect())
        } else {
            Value::reals(drawn)
        })
    }
}
