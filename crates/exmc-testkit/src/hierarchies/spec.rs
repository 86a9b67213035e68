//! Seed -> a random hierarchical model whose latent vectors are normal given its scalars, as plain
//! data.

use exmc_math::random::ChainRng;

use super::chains::{self, Chains};

/// A model: scalars, latent vectors, likelihoods.
#[derive(Clone, Debug)]
pub(super) struct Hierarchy {
    /// Whether it becomes a Stan program; otherwise the builder makes it.
    pub(super) stan: bool,
    /// How the Stan program writes its latents.
    pub(super) spelling: Spelling,
    /// Whether all statements of the Stan program keep their constants.
    pub(super) whole_densities: bool,
    pub(super) scalars: Vec<Scalar>,
    pub(super) latents: Vec<Latent>,
    pub(super) likelihoods: Vec<Likelihood>,
    pub(super) extras: Vec<Extra>,
    pub(super) pairs: Option<Pairs>,
    pub(super) chains: Chains,
}

/// `array[groups] vector[2] p ~ multi_normal_cholesky(m, L)` of a Stan program, with an outcome of
/// the sum of each pair.
#[derive(Clone, Debug)]
pub(super) struct Pairs {
    /// The mean.
    pub(super) mean: [Amount; 2],
    /// The factor: below the diagonal is `tied` times the second of these.
    pub(super) diagonal: [Amount; 2],
    pub(super) tied: f64,
    pub(super) outcomes: Vec<f64>,
    pub(super) scale: Amount,
    /// The same statement for one pair after the other.
    pub(super) by_loop: bool,
    pub(super) non_centred: bool,
}

/// A parameter of one number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scalar {
    /// Student-t with 4 degrees of freedom, location and scale: nothing that is normal given the
    /// rest, so that it always has a coordinate.
    Real(f64, f64),
    /// Lognormal, with location and scale.
    Lognormal(f64, f64),
    /// Half-normal, with scale.
    HalfNormal(f64),
    /// Exponential, with rate.
    Exponential(f64),
}

impl Scalar {
    pub(super) fn is_positive(self) -> bool {
        !matches!(self, Scalar::Real(..))
    }
}

/// A number made of scalars, which are named by their place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Amount {
    Number(f64),
    Scalar(usize),
    /// `factor * scalar + shift`.
    Affine(f64, usize, f64),
    Product(usize, usize),
    Square(usize),
    /// `exp(0.3 * scalar)`.
    Exp(usize),
    /// `sqrt(scalar^2 + number)`.
    Root(usize, f64),
}

/// One number a row: `constant + slope * x + data + sum of coefficient * latent[index]`.
#[derive(Clone, Debug, Default)]
pub(super) struct Linear {
    pub(super) constant: Option<Amount>,
    pub(super) slope: Option<(Amount, Vec<f64>)>,
    pub(super) data: Option<Vec<f64>>,
    pub(super) latents: Vec<(Amount, usize, Vec<usize>)>,
}

/// A standard deviation for each row: `amount`, `data` or their product.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    pub(super) amount: Amount,
    pub(super) data: Option<Vec<f64>>,
}

/// How a Stan program says that rows are normal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Style {
    Tilde,
    Target,
    Loop,
}

/// What a Stan program's latents are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Spelling {
    #[default]
    /// Vectors, in statements for all rows or in loops.
    Vectors,
    /// Vectors of which a statement for each row reads one element.
    Elements,
    /// A scalar for each element, and a statement for each row.
    Scalars,
}

/// A normal prior of elements `range` of a latent vector.
#[derive(Clone, Debug)]
pub(super) struct Prior {
    pub(super) range: std::ops::Range<usize>,
    pub(super) location: Linear,
    pub(super) scale: Scale,
    pub(super) style: Style,
}

#[derive(Clone, Debug)]
pub(super) struct Latent {
    pub(super) len: usize,
    /// A variable of one number, not a vector of one.
    pub(super) is_number: bool,
    /// One or more; or none, where a likelihood speaks of every element.
    pub(super) priors: Vec<Prior>,
    /// Sampled as location + scale * z by the first prior.
    pub(super) non_centred: bool,
    /// The missing outcomes of a likelihood and their rows, where it is these.
    pub(super) missing_of: Option<(usize, Vec<usize>)>,
}

/// Normal outcomes.
#[derive(Clone, Debug)]
pub(super) struct Likelihood {
    pub(super) location: Linear,
    pub(super) scale: Scale,
    pub(super) outcomes: Vec<f64>,
    pub(super) weights: Option<Vec<f64>>,
    pub(super) mask: Option<Vec<bool>>,
    pub(super) style: Style,
    /// Rows whose outcome is a free variable (see [`Latent::missing_of`]); they have no weight.
    pub(super) missing: Vec<usize>,
}

/// Terms of scalars alone, of kinds that other optimisations rewrite.
#[derive(Clone, Debug)]
pub(super) enum Extra {
    /// Many normal outcomes around `a + b * x`, with a positive scalar for their scale.
    Regression { a: usize, b: usize, scale: usize, x: Vec<f64>, outcomes: Vec<f64> },
    /// Many outcomes 0 and 1 with logit `a + b * x`, of few different rows.
    Logistic { a: usize, b: usize, x: Vec<f64>, outcomes: Vec<f64> },
    /// A few Student-t outcomes around a scalar, with 4 degrees of freedom.
    Robust { a: usize, scale: usize, outcomes: Vec<f64> },
}

pub(super) fn below(rng: &mut ChainRng, n: usize) -> usize {
    ((rng.uniform() * n as f64) as usize).min(n - 1)
}

pub(super) fn one_in(rng: &mut ChainRng, n: usize) -> bool {
    below(rng, n) == 0
}

/// A number of two decimals, normal with this standard deviation.
pub(super) fn number(rng: &mut ChainRng, sd: f64) -> f64 {
    (100.0 * sd * rng.standard_normal()).round() / 100.0
}

pub(super) fn between(rng: &mut ChainRng, low: f64, high: f64) -> f64 {
    (100.0 * (low + (high - low) * rng.uniform())).round() / 100.0
}

pub(super) fn numbers(rng: &mut ChainRng, n: usize, sd: f64) -> Vec<f64> {
    (0..n).map(|_| number(rng, sd)).collect()
}

/// The model of a seed.
pub(super) fn random(rng: &mut ChainRng) -> Hierarchy {
    let stan = one_in(rng, 2);
    let mut model = Hierarchy {
        stan,
        spelling: Spelling::Vectors,
        whole_densities: !stan || one_in(rng, 2),
        scalars: scalars(rng),
        latents: Vec::new(),
        likelihoods: Vec::new(),
        extras: Vec::new(),
        pairs: None,
        chains: Chains::default(),
    };
    for k in 0..1 + below(rng, 4) {
        let latent = latent(rng, &model, k);
        model.latents.push(latent);
    }
    // A third of the models has no outcomes of latents at all.
    let likelihoods = if one_in(rng, 3) { 0 } else { 1 + below(rng, 3) };
    for _ in 0..likelihoods {
        likelihood(rng, &mut model);
    }
    if model.stan && one_in(rng, 6) {
        flat_latent(rng, &mut model);
    }
    if model.stan && one_in(rng, 5) {
        model.pairs = Some(pairs(rng, &model));
    }
    if model.stan {
        model.chains = chains::random(rng, &model);
    }
    for _ in 0..below(rng, 3) {
        let extra = extra(rng, &model);
        model.extras.push(extra);
    }
    // Names of non-centred vectors are those of whole ones.
    if model.stan && model.latents.iter().all(|latent| !latent.non_centred) {
        model.spelling = match below(rng, 4) {
            0 => Spelling::Elements,
            1 => Spelling::Scalars,
            _ => Spelling::Vectors,
        };
    }
    model
}

fn scalars(rng: &mut ChainRng) -> Vec<Scalar> {
    let mut all = vec![Scalar::Real(number(rng, 3.0), between(rng, 0.5, 3.0))];
    all.push(Scalar::Lognormal(number(rng, 0.3), between(rng, 0.2, 0.8)));
    for _ in 0..below(rng, 4) {
        all.push(match below(rng, 5) {
            0 => Scalar::Lognormal(number(rng, 0.3), between(rng, 0.2, 0.8)),
            1 => Scalar::HalfNormal(between(rng, 0.5, 2.0)),
            2 => Scalar::Exponential(between(rng, 0.5, 2.0)),
            _ => Scalar::Real(number(rng, 2.0), between(rng, 0.5, 2.0)),
        });
    }
    all
}

/// The place of a scalar; of a positive one on request.
pub(super) fn pick(rng: &mut ChainRng, model: &Hierarchy, positive: bool) -> usize {
    let fit: Vec<usize> =
        (0..model.scalars.len()).filter(|&k| !positive || model.scalars[k].is_positive()).collect();
    fit[below(rng, fit.len())]
}

pub(super) fn amount(rng: &mut ChainRng, model: &Hierarchy) -> Amount {
    let scalar = pick(rng, model, false);
    match below(rng, 8) {
        0 => Amount::Number(number(rng, 2.0)),
        1 => Amount::Affine(number(rng, 1.0) + 0.005, scalar, number(rng, 1.0)),
        2 => Amount::Product(scalar, pick(rng, model, false)),
        3 => Amount::Square(scalar),
        4 => Amount::Exp(scalar),
        _ => Amount::Scalar(scalar),
    }
}

fn scale(rng: &mut ChainRng, model: &Hierarchy, rows: usize) -> Scale {
    let scalar = pick(rng, model, true);
    let amount = match below(rng, 7) {
        0 => Amount::Number(between(rng, 0.3, 2.0)),
        1 => Amount::Exp(pick(rng, model, false)),
        2 => Amount::Product(scalar, pick(rng, model, true)),
        3 => Amount::Root(scalar, between(rng, 0.1, 2.0)),
        _ => Amount::Scalar(scalar),
    };
    let data = one_in(rng, 4).then(|| (0..rows).map(|_| between(rng, 0.3, 2.0)).collect());
    Scale { amount, data }
}

/// A location of `rows` rows, which may read the first `known` latent vectors.
fn linear(rng: &mut ChainRng, model: &Hierarchy, rows: usize, known: usize, reads: bool) -> Linear {
    let mut all = Linear::default();
    if known > 0 && (reads || one_in(rng, 3)) {
        let latent = below(rng, known);
        let len = model.latents[latent].len;
        let coefficient = match below(rng, 6) {
            0 => amount(rng, model),
            1 => Amount::Number(number(rng, 1.0) + 0.005),
            _ => Amount::Number(1.0),
        };
        // Groups by chance, so that some are empty; in a third of the cases every row has its own.
        let is_distinct = rows == len && one_in(rng, 3);
        let index = (0..rows).map(|i| if is_distinct { i } else { below(rng, len) }).collect();
        all.latents.push((coefficient, latent, index));
        if reads && known > 1 && one_in(rng, 4) {
            let other = below(rng, known);
            let len = model.latents[other].len;
            let index = (0..rows).map(|_| below(rng, len)).collect();
            all.latents.push((Amount::Number(1.0), other, index));
        }
    }
    if all.latents.is_empty() || one_in(rng, 3) {
        all.constant = Some(amount(rng, model));
    }
    if one_in(rng, 3) {
        all.slope = Some((Amount::Scalar(pick(rng, model, false)), numbers(rng, rows, 1.0)));
    }
    if one_in(rng, 5) {
        all.data = Some(numbers(rng, rows, 1.0));
    }
    all
}

fn style(rng: &mut ChainRng, model: &Hierarchy) -> Style {
    match below(rng, 4) {
        _ if model.whole_densities => Style::Target,
        0 => Style::Target,
        1 => Style::Loop,
        _ => Style::Tilde,
    }
}

fn latent(rng: &mut ChainRng, model: &Hierarchy, known: usize) -> Latent {
    let len = match below(rng, 8) {
        0 => 4 + below(rng, 4),
        1 => 1 + below(rng, 3),
        2 => 1,
        _ => 8 + below(rng, 5),
    };
    let is_number = len == 1 && !one_in(rng, 3);
    // What is around others and in no funnel itself.
    let is_plain = len == 1 && one_in(rng, 2);
    let prior = |rng: &mut ChainRng, range: std::ops::Range<usize>, known| {
        let rows = range.len();
        let location = linear(rng, model, rows, known, false);
        let mut scale = scale(rng, model, rows);
        if is_plain {
            scale.amount = Amount::Number(between(rng, 0.3, 2.0));
        }
        Prior { range, location, scale, style: style(rng, model) }
    };
    let mut priors = Vec::new();
    if model.stan && len > 1 && one_in(rng, 8) {
        let middle = 1 + below(rng, len - 1);
        priors.push(prior(rng, 0..middle, known));
        priors.push(prior(rng, middle..len, known));
    } else {
        priors.push(prior(rng, 0..len, known));
        // A second one for the same elements.
        if one_in(rng, 5) {
            priors.push(prior(rng, 0..len, 0));
        }
    }
    let can = priors[0].range == (0..len) && (!model.stan || priors[0].style == Style::Tilde);
    let non_centred = can && one_in(rng, 3);
    Latent { len, is_number, priors, non_centred, missing_of: None }
}

fn likelihood(rng: &mut ChainRng, model: &mut Hierarchy) {
    let known = model.latents.iter().take_while(|latent| latent.missing_of.is_none()).count();
    let rows = match below(rng, 10) {
        0 if model.stan => 0,
        1..=3 => model.latents[below(rng, known)].len,
        _ => 3 + below(rng, 24),
    };
    let location = linear(rng, model, rows, known, true);
    let style = style(rng, model);
    let weights = one_in(rng, 4).then(|| (0..rows).map(|_| between(rng, 0.0, 3.0)).collect());
    let mask = one_in(rng, 4).then(|| (0..rows).map(|_| !one_in(rng, 3)).collect());
    let scale = scale(rng, model, rows);
    let outcomes = numbers(rng, rows, 3.0);
    let mut likelihood =
        Likelihood { location, scale, outcomes, weights, mask, style, missing: Vec::new() };
    // Partly observed variables are the builder's.
    if !model.stan
        && rows > 10
        && likelihood.weights.is_none()
        && likelihood.mask.is_none()
        && one_in(rng, 2)
    {
        likelihood.missing = (0..rows).filter(|_| rng.uniform() < 0.6).collect();
        if likelihood.missing.is_empty() {
            likelihood.missing.push(0);
        }
        let missing = likelihood.missing.clone();
        let part = |all: &Vec<f64>| missing.iter().map(|&i| all[i]).collect::<Vec<f64>>();
        let location = Linear {
            constant: likelihood.location.constant,
            slope: likelihood.location.slope.as_ref().map(|(by, x)| (*by, part(x))),
            data: likelihood.location.data.as_ref().map(part),
            latents: likelihood
                .location
                .latents
                .iter()
                .map(|(by, latent, index)| {
                    (*by, *latent, missing.iter().map(|&i| index[i]).collect())
                })
                .collect(),
        };
        let scale = Scale {
            amount: likelihood.scale.amount,
            data: likelihood.scale.data.as_ref().map(part),
        };
        let prior = Prior { range: 0..missing.len(), location, scale, style: Style::Target };
        model.latents.push(Latent {
            len: missing.len(),
            is_number: false,
            priors: vec![prior],
            non_centred: false,
            missing_of: Some((model.likelihoods.len(), missing)),
        });
    }
    model.likelihoods.push(likelihood);
}

/// A latent vector without a prior, of which every element has an outcome.
fn flat_latent(rng: &mut ChainRng, model: &mut Hierarchy) {
    let len = 8 + below(rng, 4);
    let place = model.latents.len();
    let (is_number, non_centred) = (false, false);
    model.latents.push(Latent {
        len,
        is_number,
        priors: Vec::new(),
        non_centred,
        missing_of: None,
    });
    let location = Linear {
        latents: vec![(Amount::Number(1.0), place, (0..len).collect())],
        ..Linear::default()
    };
    let scale = scale(rng, model, len);
    let style = style(rng, model);
    model.likelihoods.push(Likelihood {
        location,
        scale,
        outcomes: numbers(rng, len, 3.0),
        weights: None,
        mask: None,
        style,
        missing: Vec::new(),
    });
}

fn pairs(rng: &mut ChainRng, model: &Hierarchy) -> Pairs {
    let groups = 1 + below(rng, 5);
    let positive = |rng: &mut ChainRng| positive(rng, model);
    let diagonal = [positive(rng), positive(rng)];
    Pairs {
        mean: [amount(rng, model), amount(rng, model)],
        diagonal,
        tied: number(rng, 0.7),
        outcomes: numbers(rng, groups, 2.0),
        scale: positive(rng),
        by_loop: one_in(rng, 2),
        non_centred: !one_in(rng, 3),
    }
}

pub(super) fn positive(rng: &mut ChainRng, model: &Hierarchy) -> Amount {
    match below(rng, 3) {
        0 => Amount::Exp(pick(rng, model, false)),
        _ => Amount::Scalar(pick(rng, model, true)),
    }
}

fn extra(rng: &mut ChainRng, model: &Hierarchy) -> Extra {
    let (a, b) = (pick(rng, model, false), pick(rng, model, false));
    let scale = pick(rng, model, true);
    match below(rng, 3) {
        0 => {
            let n = 40 + below(rng, 20);
            Extra::Regression {
                a,
                b,
                scale,
                x: numbers(rng, n, 1.0),
                outcomes: numbers(rng, n, 2.0),
            }
        }
        1 => {
            let n = 40 + below(rng, 40);
            let x = (0..n).map(|_| below(rng, 3) as f64 - 1.0).collect();
            let outcomes = (0..n).map(|_| below(rng, 2) as f64).collect();
            Extra::Logistic { a, b, x, outcomes }
        }
        _ => {
            let n = 2 + below(rng, 8);
            Extra::Robust { a, scale, outcomes: numbers(rng, n, 2.0) }
        }
    }
}
