//! Random statements over matrices, arrays of vectors, arrays of integers that are indices, parts
//! whose length a loop says, and several variables assigned at once.

use super::expressions::{EXTENT, Scope, chance, index, known_index, pick, real, several, vector};
use super::statements::Maker;
use super::tree::Node;

impl Maker<'_> {
    /// One of them; nothing where no variable of its kind is in scope.
    pub(super) fn nested(&mut self, s: &Scope) -> Option<Node> {
        let l = &s.locals;
        let line = match self.below(13) {
            0 => {
                let a = pick(self.rng, &l.rows)?.clone();
                format!("{a}[{}] = {};", index(self.rng, s, 0), vector(self.rng, s, 1, EXTENT))
            }
            1 | 2 => {
                let a = pick(self.rng, &l.rows)?.clone();
                let (i, j) = (index(self.rng, s, 0), index(self.rng, s, 0));
                let place = if chance(self.rng, 50) { "][" } else { ", " };
                let op = ["=", "+="][self.below(2) as usize];
                format!("{a}[{i}{place}{j}] {op} {};", real(self.rng, s, 2))
            }
            3 => {
                let (a, len) = (pick(self.rng, &l.rows)?.clone(), 1 + self.below(3));
                let from = pick(self.rng, &s.rows)?.clone();
                let (to, source_indices) = (several(self.rng, s, len), several(self.rng, s, len));
                format!("{a}[{to}] = {from}[{source_indices}];")
            }
            4 => {
                let (a, z) = (pick(self.rng, &l.rows)?.clone(), pick(self.rng, &s.arrays)?.clone());
                format!("{a}[, {}] = {z};", known_index(self.rng, s))
            }
            5 => {
                let a = pick(self.rng, &l.rows)?.clone();
                let all: Vec<String> =
                    (0..EXTENT).map(|_| vector(self.rng, s, 1, EXTENT)).collect();
                format!("{a} = {{{}}};", all.join(", "))
            }
            6 | 7 => {
                let k = pick(self.rng, &l.numbers)?.clone();
                format!("{k}[{}] = {};", known_index(self.rng, s), index(self.rng, s, 1))
            }
            8 => {
                let k = pick(self.rng, &l.numbers)?.clone();
                format!("{k} = {k}[{}];", several(self.rng, s, EXTENT))
            }
            9 => return self.sized(s),
            10 => {
                let q = pick(self.rng, &l.reals)?.clone();
                let (v, n) = (pick(self.rng, &s.vectors)?.clone(), known_index(self.rng, s));
                let part = if chance(self.rng, 50) { format!("{n}:") } else { format!(":{n}") };
                format!("{q} += 0.2 * sum({v}[{part}]);")
            }
            11 => {
                let (a, b) = (pick(self.rng, &l.reals)?.clone(), pick(self.rng, &l.reals)?.clone());
                if a == b {
                    return None;
                }
                format!("({a}, {b}) = ({}, {a});", real(self.rng, s, 1))
            }
            _ => {
                let (q, m) = (pick(self.rng, &l.reals)?.clone(), pick(self.rng, &s.matrices)?);
                let i = index(self.rng, s, 0);
                format!("{q} += 0.1 * {m}[{i}] * {};", vector(self.rng, s, 1, EXTENT))
            }
        };
        Some(Node::Line(line))
    }

    /// A vector of as many elements as a loop, or data, say.
    fn sized(&mut self, s: &Scope) -> Option<Node> {
        let (q, v) =
            (pick(self.rng, &s.locals.reals)?.clone(), pick(self.rng, &s.vectors)?.clone());
        let (n, name) = (known_index(self.rng, s), self.name("u"));
        let lines = [
            format!("vector[{n}] {name} = {v}[1:{n}];"),
            format!("{name}[{n}] = {};", real(self.rng, s, 1)),
            format!("{q} += 0.2 * sum({name}) - 0.1 * {name}[1];"),
        ];
        Some(Node::Arms(vec![(String::new(), lines.map(Node::Line).into())]))
    }
    /// An assignment to a matrix, or to a part of it.
    pub(super) fn matrix(&mut self, m: &str, s: &Scope) -> String {
        let from = pick(self.rng, &s.matrices).cloned().unwrap_or_else(|| m.to_owned());
        match self.below(6) {
            0 => format!("{m} = {from}';"),
            1 => {
                let i = index(self.rng, s, 0);
                format!("{m}[{i}] = {}';", vector(self.rng, s, 1, EXTENT))
            }
            2 => {
                let i = known_index(self.rng, s);
                format!("{m}[, {i}] = {};", vector(self.rng, s, 1, EXTENT))
            }
            3 => {
                let (a, b) = (2, 1 + self.below(3));
                let (r1, c1) = (several(self.rng, s, a), several(self.rng, s, b));
                let (r2, c2) = (several(self.rng, s, a), several(self.rng, s, b));
                format!("{m}[{r1}, {c1}] = {from}[{r2}, {c2}];")
            }
            4 => format!("{m} = 0.5 * {m} + {};", real(self.rng, s, 1)),
            _ => {
                let (i, j) = (index(self.rng, s, 0), index(self.rng, s, 0));
                format!("{m}[{i}, {j}] = {};", real(self.rng, s, 2))
            }
        }
    }
}
