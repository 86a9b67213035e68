//! Random loops of which iterations need what earlier ones left: arrays written from their last
//! elements, states that one of several formulas changes by data, vectors and rows that are handed
//! on, formulas that would be invalid where they are not taken.

use super::expressions::{Scope, chance, condition, real, vector};
use super::statements::{LONG, Maker, Place};
use super::tree::Node;

/// Names that a recurrence declares, with how they begin.
struct Carried {
    /// An array of numbers, one for each iteration.
    series: String,
    /// An array of vectors, one for each iteration.
    rows: String,
    /// A number, a vector, an index, and a number that is not zero once the flag is set.
    state: String,
    vector: String,
    index: String,
    guarded: String,
    flag: String,
    /// The loop's variable.
    i: String,
}

impl Maker<'_> {
    /// A block with a loop over the longer data.
    pub(super) fn recurrence(&mut self, s: &Scope, place: Place) -> Node {
        let carried = Carried {
            series: self.name("h"),
            rows: self.name("g"),
            state: self.name("s"),
            vector: self.name("u"),
            index: self.name("j"),
            guarded: self.name("z"),
            flag: self.name("f"),
            i: self.name("i"),
        };
        let mut all = self.beginnings(s, &carried);
        let back = 1 + self.below(3);
        let mut inner = s.clone();
        let i = carried.i.clone();
        inner.long.push(i.clone());
        for lag in 1..=back {
            inner.reals.push(format!("{}[{i} - {lag}]", carried.series));
        }
        inner.vectors.push(format!("{}[{i} - 1]", carried.rows));
        // What the iteration itself has written is read as well.
        inner.reals.extend([format!("{}[{i}]", carried.series), carried.state.clone()]);
        inner.vectors.extend([format!("{}[{i}]", carried.rows), carried.vector.clone()]);
        inner.indices.push(carried.index.clone());
        inner.locals.reals.extend([carried.state.clone(), format!("{}[{i}]", carried.series)]);
        inner.locals.vectors.extend([carried.vector.clone(), format!("{}[{i}]", carried.rows)]);
        inner.locals.indices.push(carried.index.clone());
        let place = Place { in_loop: true, depth: place.depth.min(2), ..place };
        let mut body = Vec::new();
        self.left = 3 + self.below(8) as u32;
        for _ in 0..2 + self.below(4) {
            let node = self.step(&inner, place, &carried);
            body.push(node);
        }
        let low = 1 + back;
        let high = if chance(self.rng, 20) { 5 + self.below(18) } else { LONG };
        all.push(Node::Arms(vec![(format!("for ({i} in {low}:{high})"), body)]));
        all.extend(self.endings(s, &carried));
        Node::Arms(vec![(String::new(), all)])
    }

    fn beginnings(&mut self, s: &Scope, carried: &Carried) -> Vec<Node> {
        let (a, b, c) = (real(self.rng, s, 1), real(self.rng, s, 1), vector(self.rng, s, 1, 4));
        [
            format!("vector[{LONG}] {} = rep_vector(tanh({a}), {LONG});", carried.series),
            format!("array[{LONG}] vector[4] {} = rep_array(0.1 * v, {LONG});", carried.rows),
            format!("real {} = tanh({b});", carried.state),
            format!("vector[4] {} = {c};", carried.vector),
            format!(
                "int {} = 1; real {} = 0; int {} = 0;",
                carried.index, carried.guarded, carried.flag
            ),
        ]
        .map(Node::Line)
        .to_vec()
    }

    fn endings(&mut self, s: &Scope, carried: &Carried) -> Vec<Node> {
        let list = |name: &str| s.locals.reals.iter().any(|candidate| candidate == name);
        let into = ["@r", "@q", "@t"].into_iter().find(|name| list(name)).unwrap_or("@r");
        let index = 1 + self.below(LONG);
        let all = [
            format!("{into} += 0.02 * sum({});", carried.series),
            format!("{into} -= tanh(0.3 * {} + {}[{index}]);", carried.state, carried.series),
            format!("{into} += 0.02 * dot_self({}) + 0.1 * {};", carried.vector, carried.index),
            format!(
                "{into} += 0.01 * sum({}[{index}]) - 0.05 * tanh({});",
                carried.rows, carried.guarded
            ),
        ];
        all.into_iter().map(Node::Line).collect()
    }

    /// A condition on data with few or many iterations for which it holds.
    fn kind(&mut self, i: &str) -> String {
        match self.below(8) {
            0 => format!("{i} == {}", 4 + self.below(LONG - 4)),
            1 => format!("w24[{i}] > {:.1}", 0.4 * self.below(3) as f64 - 0.4),
            2 => format!("{i} % {} == 0", 2 + self.below(3)),
            3 => format!("idx[{i}] == idx[{i} - 1]"),
            4 => format!("{i} > {}", 6 + self.below(14)),
            _ => format!("idx[{i}] == {}", 1 + self.below(4)),
        }
    }

    fn step(&mut self, s: &Scope, place: Place, carried: &Carried) -> Node {
        let i = carried.i.as_str();
        match self.below(12) {
            0..=4 => {
                let mut arms = Vec::new();
                for number in 0..1 + self.below(4) {
                    let kind = self.kind(i);
                    let other = condition(self.rng, s, 1);
                    let mixed = chance(self.rng, 8);
                    let kind = if mixed { format!("{kind} && {other}") } else { kind };
                    let head = format!("{}if ({kind})", if number == 0 { "" } else { "else " });
                    let body = self.formulas(s, place, carried);
                    arms.push((head, body));
                }
                if chance(self.rng, 70) {
                    let body = self.formulas(s, place, carried);
                    arms.push(("else".to_owned(), body));
                }
                Node::Arms(arms)
            }
            5 | 6 => Node::Line(self.formula(s, carried)),
            7 => {
                let kind = self.kind(i);
                let word = if chance(self.rng, 75) { "continue" } else { "break" };
                Node::Arms(vec![(format!("if ({kind})"), vec![Node::Line(format!("{word};"))])])
            }
            8 => self.loop_in_step(s, carried),
            9 => {
                let (kind, a) = (self.kind(i), real(self.rng, s, 1));
                let set =
                    format!("{} = 1 + 0.3 * tanh({a}); {} = 1;", carried.guarded, carried.flag);
                Node::Arms(vec![(format!("if ({kind})"), vec![Node::Line(set)])])
            }
            10 => self.invalid_elsewhere(carried),
            _ => {
                self.left = self.left.max(2);
                let body = self.list(s, Place { depth: place.depth.min(1), ..place }, 2);
                Node::Arms(vec![(String::new(), body)])
            }
        }
    }

    /// What one branch does.
    fn formulas(&mut self, s: &Scope, place: Place, carried: &Carried) -> Vec<Node> {
        let mut all = vec![Node::Line(self.formula(s, carried))];
        if chance(self.rng, 30) {
            all.push(Node::Line(self.formula(s, carried)));
        }
        if place.adds && chance(self.rng, 40) {
            all.push(Node::Line(self.term(s, place)));
        }
        if chance(self.rng, 20) {
            all.push(self.invalid_elsewhere(carried));
        }
        if chance(self.rng, 15) {
            self.left = self.left.max(1);
            all.extend(self.list(s, Place { depth: 0, ..place }, 1));
        }
        all
    }

    fn formula(&mut self, s: &Scope, carried: &Carried) -> String {
        let (i, a) = (carried.i.as_str(), real(self.rng, s, 1));
        let h = &carried.series;
        match self.below(10) {
            0..=2 => format!("{h}[{i}] = 0.4 * {h}[{i} - 1] + 0.3 * {a};"),
            3 | 4 => format!("{} = 0.5 * {} + 0.3 * {a};", carried.state, carried.state),
            5 => format!("{h}[{i}] += 0.2 * tanh({a});"),
            6 => format!(
                "{}[idx[{i}]] = 0.3 * {}[idx[{i} - 1]] + 0.2 * {a};",
                carried.vector, carried.vector
            ),
            7 => {
                let v = vector(self.rng, s, 1, 4);
                format!("{}[{i}] = 0.3 * {}[{i} - 1] + 0.2 * {v};", carried.rows, carried.rows)
            }
            8 => format!("{} = idx[{i}];", carried.index),
            _ => format!("{}[{i}, {}] = 0.3 * {a};", carried.rows, carried.index),
        }
    }

    fn loop_in_step(&mut self, s: &Scope, carried: &Carried) -> Node {
        let (i, k) = (carried.i.as_str(), self.name("k"));
        let mut inner = s.clone();
        inner.known.push(k.clone());
        let a = real(self.rng, &inner, 1);
        let line = match self.below(4) {
            0 => format!(
                "{}[{i}, {k}] = 0.3 * {}[{i} - 1, {k}] + 0.2 * {a};",
                carried.rows, carried.rows
            ),
            1 => format!("{}[{i}] += 0.1 * tanh({a});", carried.series),
            2 => format!("{} = 0.6 * {} + 0.1 * {a};", carried.state, carried.state),
            _ => format!("{}[{k}] = 0.5 * {}[{k}] + 0.1 * {a};", carried.vector, carried.vector),
        };
        Node::Arms(vec![(format!("for ({k} in 1:4)"), vec![Node::Line(line)])])
    }

    /// Formulas that have no number, or no slope, in iterations that do not take them.
    fn invalid_elsewhere(&mut self, carried: &Carried) -> Node {
        let (i, q) = (carried.i.as_str(), carried.state.as_str());
        let lines = match self.below(3) {
            0 => format!(
                "if ({f} == 1) {q} = 0.5 * {q} + 0.1 * log(square({z})); else {q} = 0.7 * {q};",
                f = carried.flag,
                z = carried.guarded
            ),
            1 => format!(
                "if (w24[{i}] > 0) {q} = 0.4 * {q} + 0.1 * log(w24[{i}] * (1 + square(x))); \
                 else {q} = 0.4 * {q} + 0.1 * sqrt(-w24[{i}] * (1 + square(y)));"
            ),
            _ => format!(
                "if ({f} == 1) {q} += 0.1 * sqrt(square({z}) * (1 + square(x))) + 0.05 / {z};",
                f = carried.flag,
                z = carried.guarded
            ),
        };
        Node::Line(lines)
    }
}
