//! Random loops over groups of unequal size that lie one after the other in a longer vector: the
//! position goes on by each group's size.

use super::expressions::{Scope, chance, condition, pick, real, vector};
use super::statements::{LONG, Maker, Place};
use super::tree::Node;

/// Sizes of the groups: the data, or fewer elements than there are. Some groups are empty.
const SIZES: [&str; 4] = ["k", "{3, 1, 4, 2}", "{2, 2, 2, 2}", "{0, 5, 0, 3}"];

impl Maker<'_> {
    /// A block with a longer vector, and a loop over its groups.
    pub(super) fn ragged(&mut self, s: &Scope, place: Place) -> Option<Node> {
        if !s.data {
            return None;
        }
        let [position, long, size, i] = ["p", "h", "n", "i"].map(|start| self.name(start));
        let q = pick(self.rng, &s.locals.reals)?.clone();
        let sizes = SIZES[self.below(SIZES.len() as u64) as usize];
        let first = [
            format!("int {position} = {};", 1 + self.below(3)),
            format!("array[4] int {size} = {sizes};"),
            match self.below(3) {
                0 => format!("vector[{LONG}] {long} = {} * w24;", real(self.rng, s, 1)),
                1 => format!("vector[{LONG}] {long} = w24 + {};", real(self.rng, s, 1)),
                _ => format!("vector[{LONG}] {long} = {}[idx];", vector(self.rng, s, 0, 4)),
            },
        ];
        let mut all: Vec<Node> = first.map(Node::Line).to_vec();
        let mut inner = s.clone();
        inner.known.push(i.clone());
        // The position is one of an element as long as groups are left.
        inner.long.push(format!("min({LONG}, {position})"));
        inner.reals.push(format!("{long}[{position}]"));
        let place = Place { in_loop: true, depth: place.depth.min(1), ..place };
        let mut body = Vec::new();
        for _ in 0..1 + self.below(3) {
            let n = format!("{size}[{i}]");
            let line = self.of_group(&inner, place, (&long, &position, &n), &q);
            if chance(self.rng, 30) {
                let c = condition(self.rng, &inner, 1);
                body.push(Node::Arms(vec![(format!("if ({c})"), vec![Node::Line(line)])]));
            } else {
                body.push(Node::Line(line));
            }
        }
        self.left = self.left.max(1);
        body.extend(self.list(&inner, Place { in_loop: false, ..place }, 1));
        body.push(Node::Line(format!("{position} += {size}[{i}];")));
        all.push(Node::Arms(vec![(format!("for ({i} in 1:4)"), body)]));
        all.push(Node::Line(format!("{q} += 0.02 * sum({long}) - 0.01 * {long}[{position}];")));
        Some(Node::Arms(vec![(String::new(), all)]))
    }

    /// What is done with one group.
    fn of_group(
        &mut self,
        s: &Scope,
        place: Place,
        (long, position, n): (&str, &str, &str),
        q: &str,
    ) -> String {
        let a = real(self.rng, s, 1);
        let part = match self.below(2) {
            0 => format!("segment({long}, {position}, {n})"),
            _ => format!("{long}[{position}:({position} + {n} - 1)]"),
        };
        let data = format!("segment(w24, {position}, {n})");
        match self.below(8) {
            0 => format!("{q} += 0.1 * sum({part});"),
            1 => format!("{q} += 0.1 * dot_product({data}, {part});"),
            2 => format!("{q} = 0.5 * {q} + 0.2 * dot_self({part} - {a});"),
            3 => format!("{long}[{position}:({position} + {n} - 1)] = 0.5 * {part} + 0.3 * {a};"),
            4 => format!("{long}[{position}] += 0.2 * {a};"),
            5 if place.adds => format!("{part} ~ normal({a}, 1.5);"),
            6 if place.adds => format!("{data} ~ normal({part}, exp(tanh({a})));"),
            _ => format!("{q} -= 0.1 * sum(tanh({part} * {a}));"),
        }
    }
}
