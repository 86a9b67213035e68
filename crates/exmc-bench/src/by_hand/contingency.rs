//! Logistic regression on discrete covariates: persons -> a gradient from the numbers of persons
//! and of successes of each kind.
//!
//! With $n$ persons and $s$ successes a kind adds $s\eta - n\log(1+e^\eta)$. Kinds lie by age in
//! whole vectors, so that an age's level is the same in all lanes; those that fill up a vector have
//! no persons.

use std::collections::BTreeMap;

use exmc_math::simd::{Kernel, Level, Simd, vector};

use super::{Gradient, eight};
use crate::models::{AGES, Data};

/// Persons who are alike.
struct Kind {
    columns: [f64; 2],
    persons: f64,
    successes: f64,
}

/// Eight kinds of one age.
struct Kinds {
    age: usize,
    columns: [[f64; 8]; 2],
    persons: [f64; 8],
    successes: [f64; 8],
}

pub(super) fn kernel(data: &Data<'_>, level: Level) -> Result<Gradient, String> {
    let (columns, outcomes) = (data.tensor("X")?, data.values("y")?);
    let age = data.indices("age", AGES)?;
    let mut kinds = BTreeMap::new();
    for ((row, &age), y) in columns.values().chunks_exact(2).zip(&age).zip(&outcomes) {
        let columns = [row[0], row[1]];
        let new = Kind { columns, persons: 0.0, successes: 0.0 };
        let kind = kinds.entry((age, columns.map(f64::to_bits))).or_insert(new);
        kind.persons += 1.0;
        kind.successes += y;
    }
    let mut lines = Vec::new();
    for age in 0..AGES {
        let kinds_of_age =
            kinds.iter().filter(|((kind_age, _), _)| *kind_age == age).map(|(_, kind)| kind);
        for chunk in kinds_of_age.collect::<Vec<_>>().chunks(8) {
            let all = |value_of: &dyn Fn(&Kind) -> f64| {
                eight(&chunk.iter().map(|kind| value_of(kind)).collect::<Vec<f64>>(), 0)
            };
            lines.push(Kinds {
                age,
                columns: [0, 1].map(|k| all(&|kind| kind.columns[k])),
                persons: all(&|kind| kind.persons),
                successes: all(&|kind| kind.successes),
            });
        }
    }
    Ok(Box::new(move |position, gradient| {
        level.run(Contingency { lines: &lines, position, gradient })
    }))
}

/// age, alpha, beta.
struct Contingency<'a> {
    lines: &'a [Kinds],
    position: &'a [f64],
    gradient: &'a mut [f64],
}

impl Kernel for Contingency<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let Self { lines, position, gradient } = self;
        let (levels, common) = position.split_at(AGES);
        let (of_levels, of_common) = gradient.split_at_mut(AGES);
        let (zero, one) = (s.splat(0.0), s.splat(1.0));
        let beta = [s.splat(common[1]), s.splat(common[2])];
        let (mut logp, mut of_alpha, mut of_beta) = (zero, zero, [zero; 2]);
        let mut squares = 0.0;
        for (of_level, level) in of_levels.iter_mut().zip(levels) {
            *of_level = -level;
            squares += level * level;
        }
        for kinds in lines {
            let columns = [s.load(&kinds.columns[0]), s.load(&kinds.columns[1])];
            let mut eta = s.splat(common[0] + levels[kinds.age]);
            for (column, beta) in columns.iter().zip(beta) {
                eta = s.fma(*column, beta, eta);
            }
            let e = vector::exp_minus_abs(s, eta);
            let above = s.add(one, e);
            let softplus = s.add(s.max(eta, zero), vector::log(s, above));
            let (persons, successes) = (s.load(&kinds.persons), s.load(&kinds.successes));
            logp = s.fma(successes, eta, logp);
            logp = s.sub(logp, s.mul(persons, softplus));
            let chance = s.div(s.select(s.lt(zero, eta), one, e), above);
            let rest = s.sub(successes, s.mul(persons, chance));
            of_levels[kinds.age] += s.total(rest);
            of_alpha = s.add(of_alpha, rest);
            for (of_beta, column) in of_beta.iter_mut().zip(columns) {
                *of_beta = s.fma(column, rest, *of_beta);
            }
        }
        let mut total = s.total(logp) - 0.5 * squares;
        for (k, sum) in [of_alpha, of_beta[0], of_beta[1]].into_iter().enumerate() {
            of_common[k] = s.total(sum) - 0.01 * common[k];
            total -= 0.005 * common[k] * common[k];
        }
        total
    }
}
