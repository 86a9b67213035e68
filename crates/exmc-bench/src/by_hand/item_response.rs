//! Item response: answers of persons to items -> a gradient, item after item over the persons.
//!
//! As in logistic regression, answers are signs: with $s = 2y-1$ and $\eta = s a(\theta-b)$ an
//! answer adds $-\log(1+e^{-\eta})$. Persons that fill up a vector have $s = 0$ and add $-\log 2$
//! and no gradient.

use exmc_math::simd::{Kernel, Level, Simd, vector};

use super::{Gradient, eight};
use crate::models::Data;

/// Factors up to 2 that a product takes before its logarithm is due.
const MAX_FACTORS: usize = 1000;

struct Answers {
    items: usize,
    persons: usize,
    /// Vectors of eight persons.
    vectors: usize,
    /// Signs, an item after the other.
    signs: Vec<[f64; 8]>,
}

pub(super) fn kernel(data: &Data<'_>, level: Level) -> Result<Gradient, String> {
    let (items, persons, y) = (data.size("I")?, data.size("J")?, data.values("y")?);
    let vectors = persons.div_ceil(8);
    if vectors > MAX_FACTORS || y.len() != items * persons {
        return Err(format!("expected {items} items and {persons} persons, at most 8000"));
    }
    let sign: Vec<f64> = y.iter().map(|y| 2.0 * y - 1.0).collect();
    let mut signs = Vec::with_capacity(items * vectors);
    for row in sign.chunks_exact(persons) {
        signs.extend((0..vectors).map(|v| eight(row, 8 * v)));
    }
    let answers = Answers { items, persons, vectors, signs };
    let (mut abilities, mut slopes) = (vec![[0.0; 8]; vectors], vec![[0.0; 8]; vectors]);
    // The exponentials of the items' parameters and of the scales, in whole vectors.
    let mut exponentials = vec![0.0; items.div_ceil(8) * 8];
    Ok(Box::new(move |position, gradient| {
        level.run(Items {
            answers: &answers,
            abilities: &mut abilities,
            slopes: &mut slopes,
            exponentials: &mut exponentials,
            position,
            gradient,
        })
    }))
}

/// log a, b, mu_b, log sigma_a, log sigma_b, log sigma_theta, theta.
struct Items<'a> {
    answers: &'a Answers,
    abilities: &'a mut [[f64; 8]],
    slopes: &'a mut [[f64; 8]],
    exponentials: &'a mut [f64],
    position: &'a [f64],
    gradient: &'a mut [f64],
}

impl Kernel for Items<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let Self { answers, abilities, slopes, exponentials, position, gradient } = self;
        let &Answers { items, persons, vectors, .. } = answers;
        let (log_a, rest) = position.split_at(items);
        let (b, rest) = rest.split_at(items);
        let Some((&[mu_b, log_sigma_a, log_sigma_b, log_sigma_theta], theta)) =
            rest.split_first_chunk::<4>()
        else {
            return f64::NAN;
        };
        exponentials[..items].copy_from_slice(log_a);
        let (lines, _) = exponentials.as_chunks_mut::<8>();
        for line in lines {
            s.store(vector::exp(s, s.load(line)), line);
        }
        let [of_sigma_a, of_sigma_b, of_sigma_theta] = [log_sigma_a, log_sigma_b, log_sigma_theta];
        let logs = [of_sigma_a, of_sigma_b, of_sigma_theta, 0.0, 0.0, 0.0, 0.0, 0.0];
        let square = vector::exp(s, s.mul(s.load(&logs), s.splat(2.0)));
        let squares = s.to_array(square);
        let precisions = squares.map(f64::recip);
        abilities.as_flattened_mut()[..persons].copy_from_slice(theta);
        slopes.fill([0.0; 8]);
        let (zero, one) = (s.splat(0.0), s.splat(1.0));
        let (mut logp, mut product, mut factors) = (zero, one, 0);
        let (of_items, of_rest) = gradient.split_at_mut(2 * items);
        let (mut prior, mut of_mu_b) = (0.0, 0.0);
        let (mut squares_a, mut squares_b, mut squares_theta) = (0.0, 0.0, 0.0);
        for i in 0..items {
            if factors + vectors > MAX_FACTORS {
                logp = s.sub(logp, vector::log(s, product));
                (product, factors) = (one, 0);
            }
            factors += vectors;
            let (a, difficulty) = (s.splat(exponentials[i]), s.splat(b[i]));
            let (mut of_a, mut of_b) = (zero, zero);
            let row = &answers.signs[i * vectors..(i + 1) * vectors];
            for ((sign, ability), slope) in row.iter().zip(&*abilities).zip(slopes.iter_mut()) {
                let sign = s.load(sign);
                let distance = s.sub(s.load(ability), difficulty);
                let eta = s.mul(sign, s.mul(a, distance));
                let e = vector::exp_minus_abs(s, eta);
                let above = s.add(one, e);
                product = s.mul(product, above);
                logp = s.add(logp, s.min(eta, zero));
                let share = s.div(s.select(s.lt(zero, eta), e, one), above);
                let share = s.mul(share, sign);
                s.store(s.fma(share, a, s.load(slope)), slope);
                of_a = s.fma(share, distance, of_a);
                of_b = s.add(of_b, share);
            }
            let pull = (b[i] - mu_b) * precisions[1];
            of_items[i] = s.total(of_a) * exponentials[i] - log_a[i] * precisions[0];
            of_items[items + i] = -s.total(of_b) * exponentials[i] - pull;
            of_mu_b += pull;
            squares_a += log_a[i] * log_a[i];
            squares_b += (b[i] - mu_b) * (b[i] - mu_b);
        }
        let of_theta = &mut of_rest[4..];
        for ((of_theta, slope), theta) in of_theta.iter_mut().zip(slopes.as_flattened()).zip(theta)
        {
            *of_theta = slope - theta * precisions[2];
            squares_theta += theta * theta;
        }
        // Half-Cauchy scales of 2: log(1 + sigma^2 / 4).
        let quarter = s.mul(square, s.splat(0.25));
        let above = s.add(one, quarter);
        let cauchy = s.to_array(vector::log(s, above));
        let slope = s.to_array(s.div(quarter, above));
        let (n_items, n_persons) = (items as f64, persons as f64);
        let scales = [
            (log_sigma_a, squares_a, n_items),
            (log_sigma_b, squares_b, n_items),
            (log_sigma_theta, squares_theta, n_persons),
        ];
        of_rest[0] = of_mu_b - mu_b * 0.04;
        for (k, (log_sigma, sum, n)) in scales.into_iter().enumerate() {
            let scaled = sum * precisions[k];
            prior += log_sigma * (1.0 - n) - cauchy[k] - 0.5 * scaled;
            of_rest[1 + k] = scaled - n + 1.0 - 2.0 * slope[k];
        }
        // Lanes that no person has, each log 2 an item.
        let empty = (items * (8 * vectors - persons)) as f64;
        let logp = s.total(s.sub(logp, vector::log(s, product)));
        logp + empty * std::f64::consts::LN_2 + prior - 0.02 * mu_b * mu_b
    }
}
