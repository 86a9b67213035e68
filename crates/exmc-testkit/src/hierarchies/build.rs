//! A hierarchical model's plain data -> the same as a user of the builder would declare it.

use exmc::distributions::{
    bernoulli_logit, exponential, half_normal, lognormal, normal, student_t,
};
use exmc::model::{Expr, Tensor};
use exmc::{Model, ModelBuilder};
use exmc_graph::Shape;

use super::spec::{Amount, Extra, Hierarchy, Linear, Scalar, Scale};

struct Builder {
    model: ModelBuilder,
    data: usize,
    /// Latents that are variables of one number.
    numbers: Vec<usize>,
}

pub(super) fn build(model: &Hierarchy) -> Result<Model, String> {
    let numbers = (0..model.latents.len()).filter(|&k| model.latents[k].is_number).collect();
    let mut b = Builder { model: ModelBuilder::new(), data: 0, numbers };
    for (k, kind) in model.scalars.iter().enumerate() {
        let dist = match *kind {
            Scalar::Real(location, sd) => student_t(4.0, location, sd),
            Scalar::Lognormal(mean, sd) => lognormal(mean, sd),
            Scalar::HalfNormal(sd) => half_normal(sd),
            Scalar::Exponential(rate) => exponential(rate),
        };
        b.model.rv(&format!("s{k}"), dist).centred();
    }
    for (k, latent) in model.latents.iter().enumerate() {
        let name = format!("z{k}");
        if latent.missing_of.is_some() {
            continue;
        }
        let (first, others) = latent.priors.split_first().ok_or("a latent without a prior")?;
        let shape = if latent.is_number { Shape::scalar() } else { Shape::from([latent.len]) };
        // Data of one row are vectors.
        let fit = |x: Expr| if latent.is_number { x.reshape(Shape::scalar()) } else { x };
        let (location, scale) = (fit(b.linear(&first.location)), fit(b.scale(&first.scale)));
        let rv = b.model.rv(&name, normal(location, scale)).shape(shape);
        if latent.non_centred {
            rv.non_centred()
        } else {
            rv.centred()
        };
        for (j, prior) in others.iter().enumerate() {
            let (location, scale) = (fit(b.linear(&prior.location)), fit(b.scale(&prior.scale)));
            let z = (Expr::name(&name) - location) / scale.clone();
            const HALF_LOG_TAU: f64 = 0.918_938_533_204_672_7;
            let term = -0.5 * z.square() - scale.log() - HALF_LOG_TAU;
            b.model.potential(&format!("{name}_again{j}"), term);
        }
        b.model.det(&format!("q{k}"), 2.0 * Expr::name(&name) - "s0");
    }
    for (k, likelihood) in model.likelihoods.iter().enumerate() {
        let (y, seen) = (format!("y{k}"), format!("y{k}_obs"));
        let rows = likelihood.outcomes.len();
        let (location, scale) = (b.linear(&likelihood.location), b.scale(&likelihood.scale));
        b.model.rv(&y, normal(location, scale)).shape([rows]).centred();
        if !likelihood.missing.is_empty() {
            let value =
                |row: usize| (!likelihood.missing.contains(&row)).then(|| likelihood.outcomes[row]);
            let values: Vec<Option<f64>> = (0..rows).map(value).collect();
            b.model.observe_partly(&seen, &y, &values);
            continue;
        }
        let outcomes = b.vector(&likelihood.outcomes);
        let weights = likelihood.weights.as_ref().map(|weights| b.vector(weights));
        let flags =
            |mask: &Vec<bool>| mask.iter().map(|&m| f64::from(u8::from(m))).collect::<Vec<_>>();
        let mask = likelihood.mask.as_ref().map(|mask| b.vector(&flags(mask)));
        let mut observation = b.model.observe(&seen, &y, outcomes);
        if let Some(weights) = weights {
            observation = observation.weight(weights);
        }
        if let Some(mask) = mask {
            observation.mask(mask);
        }
    }
    for (k, extra) in model.extras.iter().enumerate() {
        let y = format!("x{k}");
        let s = |k: &usize| Expr::name(format!("s{k}"));
        let (dist, outcomes) = match extra {
            Extra::Regression { a, b: by, scale, x, outcomes } => {
                let x = b.vector(x);
                (normal(s(a) + s(by) * x, s(scale)), outcomes)
            }
            // Constants of the model, so that equal rows are merged.
            Extra::Logistic { a, b: by, x, outcomes } => {
                (bernoulli_logit(s(a) + s(by) * Expr::from(x.clone())), outcomes)
            }
            Extra::Robust { a, scale, outcomes } => (student_t(4.0, s(a), s(scale)), outcomes),
        };
        b.model.rv(&y, dist).shape([outcomes.len()]);
        b.model.observe(&format!("{y}_obs"), &y, outcomes.clone());
    }
    b.model.build().map_err(|e| e.to_string())
}

impl Builder {
    /// Declares data and names them.
    fn vector(&mut self, values: &[f64]) -> Expr {
        self.declare(Tensor::vector(values))
    }

    fn declare(&mut self, value: Tensor) -> Expr {
        let name = format!("d{}", self.data);
        self.data += 1;
        self.model.data(&name, value);
        Expr::name(name)
    }

    fn linear(&mut self, linear: &Linear) -> Expr {
        let mut terms = Vec::new();
        terms.extend(linear.constant.map(amount));
        if let Some((by, x)) = &linear.slope {
            terms.push(amount(*by) * self.vector(x));
        }
        if let Some(data) = &linear.data {
            terms.push(self.vector(data));
        }
        for (by, latent, index) in &linear.latents {
            let value = Expr::name(format!("z{latent}"));
            let value = if self.numbers.contains(latent) {
                value
            } else {
                value.gather(self.declare(Tensor::indices(index)))
            };
            terms.push(match by {
                Amount::Number(1.0) => value,
                _ => amount(*by) * value,
            });
        }
        terms.into_iter().reduce(|a, b| a + b).unwrap_or_else(|| Expr::from(0.0))
    }

    fn scale(&mut self, scale: &Scale) -> Expr {
        let amount_expr = amount(scale.amount);
        match &scale.data {
            Some(data) => amount_expr * self.vector(data),
            None => amount_expr,
        }
    }
}

fn amount(amount: Amount) -> Expr {
    let s = |k: usize| Expr::name(format!("s{k}"));
    match amount {
        Amount::Number(x) => Expr::from(x),
        Amount::Scalar(k) => s(k),
        Amount::Affine(by, k, shift) => by * s(k) + shift,
        Amount::Product(a, b) => s(a) * s(b),
        Amount::Square(k) => s(k).square(),
        Amount::Exp(k) => (0.3 * s(k)).exp(),
        Amount::Root(k, more) => (s(k).square() + more).sqrt(),
    }
}
