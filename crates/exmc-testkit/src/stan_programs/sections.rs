//! Random loops over sections of a vector: a condition on elements by the loop outside, and again
//! by the address inside, where sections differ in length.
//!
//! The graphs of both conditions are often the same node, though its elements are about different
//! iterations.

use super::expressions::{EXTENT, Scope, chance, pick, real};
use super::statements::{Maker, Place};
use super::tree::Node;

/// Lengths of the sections: each covers the four elements.
const LENGTHS: [&str; 5] =
    ["{2, 2, 0, 0}", "{0, 2, 1, 1}", "{1, 1, 1, 1}", "{3, 0, 1, 0}", "{0, 0, 0, 4}"];

impl Maker<'_> {
    /// `for (i …) if (v[i] > a) for (j in 1:length[i]) { if (v[before + j] > a) …; … }`
    pub(super) fn sections(&mut self, s: &Scope, place: Place) -> Option<Node> {
        let v = pick(self.rng, &s.vectors)?.clone();
        let limit = ["0", "0.3", "y"][self.below(if s.data { 3 } else { 2 }) as usize];
        let (i, j, position, count) =
            (self.name("i"), self.name("j"), self.name("p"), self.name("n"));
        let lengths = LENGTHS[self.below(LENGTHS.len() as u64) as usize];
        let mut inner = s.clone();
        inner.known.extend([i.clone(), position.clone()]);
        let other = if chance(self.rng, 20) { pick(self.rng, &s.vectors) } else { Some(&v) };
        let holds = format!("{}[{position}] > {limit}", other.unwrap_or(&v));
        let line = |text: String| Node::Line(text);
        let flag = self.name("f");
        let mut body = vec![
            line(format!("int {position} = sum({lengths}[1:{i}]) - {lengths}[{i}] + {j};")),
            line(format!("int {flag} = {};", self.below(2))),
        ];
        body.push(match self.below(4) {
            0 => line(format!("if ({holds}) {flag} += 2; else {flag} -= 1;")),
            1 => line(format!("while ({flag} < 2 && {holds}) {flag} += 1;")),
            _ => line(format!("if ({holds}) {flag} = 3;")),
        });
        inner.counters.push(flag.clone());
        inner.locals.counters.push(flag.clone());
        let place = Place { in_loop: true, ..place };
        body.extend(self.list(&inner, place, 2));
        let q = pick(self.rng, &s.locals.reals).cloned()?;
        body.push(line(format!("{q} += 0.1 * {flag} * {};", real(self.rng, &inner, 1))));
        let loop_inside = Node::Arms(vec![(format!("for ({j} in 1:{count}[{i}])"), body)]);
        let under = match self.below(4) {
            0 => String::new(),
            _ => format!("if ({v}[{i}] > {limit})"),
        };
        let outside = Node::Arms(vec![(under, vec![loop_inside])]);
        let nodes = vec![
            line(format!("array[{EXTENT}] int {count} = {lengths};")),
            Node::Arms(vec![(format!("for ({i} in 1:{EXTENT})"), vec![outside])]),
        ];
        Some(Node::Arms(vec![(String::new(), nodes)]))
    }
}
