//! `_rng` functions of single numbers: parameters of a family -> a draw, or one for each element of
//! containers.
//!
//! How a family is drawn from is in its row of `families`; here are checks of parameters.

use exmc_math::random::ChainRng;
use exmc_model::Support;
use exmc_model::distribution::{Distribution, Parameter};

use crate::families::{Draws, Family, Formulas, Kernel, families};
use crate::host::error::Fault;
use crate::host::library::Call;
use crate::value::Value;

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
    parameters: &'static [Parameter],
    draws: Source,
    discrete: bool,
    /// Whether the parameters are limits, of which the first must not be above the second.
    limits: bool,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    Kernel(Kernel),
    Model(&'static dyn Distribution),
}

impl Univariate {
    fn new(family: &'static Family) -> Option<Self> {
        let (formulas, _) = family.formulas(family.slots.len(), false)?;
        let draws = match (family.draws, formulas) {
            (Draws::Number(kernel), _) => Source::Kernel(kernel),
            (Draws::Model, Formulas::Model(family, _)) => Source::Model(family),
            _ => return None,
        };
        let between =
            matches!(formulas.support(), Support::Between { lower: Some(_), upper: Some(_) });
        Some(Self {
            parameters: formulas.parameters(),
            draws,
            discrete: family.slots[0].is_discrete(),
            limits: between && matches!(draws, Source::Model(_)),
        })
    }
}

/// The functions that draw single numbers.
pub(crate) fn univariates() -> impl Iterator<Item = (String, Univariate)> {
    families().filter_map(|family| Some((format!("{}_rng", family.name), Univariate::new(family)?)))
}

/// The most parameters that a family of single numbers has.
const MAX_PARAMETERS: usize = 8;

impl Univariate {
    /// A draw as a value; `name` is the function's.
    pub(crate) fn draw(
        &self,
        rng: &mut ChainRng,
        name: &str,
        point: &[f64],
    ) -> Result<Value, Fault> {
        if point.len() != self.parameters.len() {
            let what = format!("`{name}` with these arguments cannot be computed here");
            return Err(Fault::unsupported(what));
        }
        let drawn = self.number(rng, name, point)?;
        Ok(if self.discrete { Value::Int(drawn as i64) } else { Value::Real(drawn) })
    }

    /// A draw; there are as many parameters as the family has.
    fn number(&self, rng: &mut ChainRng, name: &str, point: &[f64]) -> Result<f64, Fault> {
        for (parameter, x) in self.parameters.iter().zip(point) {
            let (support, parameter) = (parameter.support, parameter.name);
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
        let drawn = match self.draws {
            Source::Kernel(kernel) => kernel(rng, point),
            Source::Model(family) => {
                let mut parts: [&[f64]; MAX_PARAMETERS] = [&[]; MAX_PARAMETERS];
                for (part, x) in parts.iter_mut().zip(point) {
                    *part = std::slice::from_ref(x);
                }
                let mut out = [f64::NAN];
                family.draw(rng, &parts[..point.len()], &mut out);
                out[0]
            }
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
        if self.parameters.len() != args.len() {
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
