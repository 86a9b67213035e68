//! Random nests of two or three loops over tables, whose extents may differ or be the same: their
//! axes in any order, sums into elements, recurrences along one axis, triangles.
//!
//! Where extents differ a mistaken axis shows; where they are the same, so do rows that are told
//! apart by their number alone.

use super::expressions::{Scope, chance, condition, pick};
use super::statements::{Maker, Place};
use super::tree::Node;

/// The largest extent of an axis.
const MAX_EXTENT: u64 = 6;

/// What a nest has: names of its tables and the extents of its axes.
struct Grid {
    /// Along the axes 0 and 1.
    table: String,
    /// Along one axis each.
    lines: [String; 3],
    /// Carried from iteration to iteration.
    carried: String,
    extents: [u64; 3],
    /// A number of the block outside.
    total: String,
}

/// Variables of loops by axis, where a loop is around.
type Axes = [Option<String>; 3];

impl Maker<'_> {
    /// A block with tables, a nest of loops that changes them, and sums of what they hold.
    pub(super) fn grids(&mut self, s: &Scope, place: Place) -> Option<Node> {
        let grid = Grid {
            table: self.name("T"),
            lines: ["U", "V", "W"].map(|start| self.name(start)),
            carried: self.name("c"),
            extents: self.extents(),
            total: pick(self.rng, &s.locals.reals)?.clone(),
        };
        let mut all = self.tables(s, &grid);
        let mut order = [0, 1, 2];
        for k in (1..3).rev() {
            order.swap(k, self.below(k as u64 + 1) as usize);
        }
        let depth = if chance(self.rng, 60) { 3 } else { 2 };
        for _ in 0..1 + self.below(2) {
            let nest = self.nest(s, place, &grid, &order[..depth], &Axes::default());
            all.push(nest);
        }
        all.extend(self.sums(&grid));
        Some(Node::Arms(vec![(String::new(), all)]))
    }

    /// Extents, some of which are often the same.
    fn extents(&mut self) -> [u64; 3] {
        let mut all = [0, 0, 0].map(|_: u64| 1 + self.below(MAX_EXTENT));
        for k in 1..3 {
            if chance(self.rng, 40) {
                all[k] = all[k - 1];
            }
        }
        all
    }

    /// Declarations, and loops that give each element a value of its own.
    fn tables(&mut self, s: &Scope, grid: &Grid) -> Vec<Node> {
        let [rows, columns, _] = grid.extents;
        let Grid { table, carried, .. } = grid;
        let [a, b] = [0, 0].map(|_| self.number(s));
        let ty = match self.below(4) {
            0 => format!("matrix[{rows}, {columns}] {table};"),
            1 => format!("array[{rows}, {columns}] real {table};"),
            2 => format!("array[{rows}] row_vector[{columns}] {table};"),
            _ => format!("array[{rows}] vector[{columns}] {table};"),
        };
        let [i, j] = [0, 0].map(|_| self.name("i"));
        let value =
            format!("{table}[{i}, {j}] = 0.1 * {i} * {a} - 0.07 * {j} * {b} + 0.013 * {i};");
        let mut all = vec![
            Node::Line(format!("{ty} real {carried} = 0.2 * {a};")),
            Node::Line(format!("for ({i} in 1:{rows}) for ({j} in 1:{columns}) {value}")),
        ];
        for (line, extent) in grid.lines.iter().zip(grid.extents) {
            let (ty, i, c) = (self.below(2), self.name("i"), self.number(s));
            let declared = match ty {
                0 => format!("vector[{extent}] {line};"),
                _ => format!("array[{extent}] real {line};"),
            };
            let value = format!("{line}[{i}] = 0.17 * {i} - 0.11 * {c};");
            all.push(Node::Line(format!("{declared} for ({i} in 1:{extent}) {value}")));
        }
        all
    }

    /// A number of the block outside.
    fn number(&mut self, s: &Scope) -> String {
        let vector = pick(self.rng, &s.vectors).cloned();
        match vector {
            Some(v) if chance(self.rng, 50) => format!("{v}[{}]", 1 + self.below(4)),
            _ => pick(self.rng, &s.reals).cloned().unwrap_or_else(|| "0.3".to_owned()),
        }
    }

    /// The loops over some axes, the first outside, with statements at each level.
    fn nest(
        &mut self,
        s: &Scope,
        place: Place,
        grid: &Grid,
        order: &[usize],
        around: &Axes,
    ) -> Node {
        let (axis, rest) = (order[0], &order[1..]);
        let i = self.name("i");
        let extent = grid.extents[axis];
        let mut bounds = vec![format!("1:{extent}"); 4];
        bounds.push(format!("min(2, {extent}):{extent}"));
        if s.data {
            bounds.push(format!("1:min({extent}, k[{}])", 1 + self.below(4)));
        }
        if let Some(other) = around.iter().flatten().last() {
            bounds.push(format!("1:min({extent}, {other})"));
            bounds.push(format!("min({extent}, {other}):{extent}"));
        }
        let range = bounds[self.below(bounds.len() as u64) as usize].clone();
        let mut axes = around.clone();
        axes[axis] = Some(i.clone());
        let place = Place { in_loop: true, ..place };
        let mut body = Vec::new();
        let count = if rest.is_empty() { 1 + self.below(2) } else { self.below(2) };
        for _ in 0..count {
            body.push(self.cell(s, place, grid, &axes));
        }
        if !rest.is_empty() {
            body.push(self.nest(s, place, grid, rest, &axes));
            for _ in 0..self.below(2) {
                body.push(self.cell(s, place, grid, &axes));
            }
        }
        Node::Arms(vec![(format!("for ({i} in {range})"), body)])
    }

    /// A statement in the nest, perhaps under a condition.
    fn cell(&mut self, s: &Scope, place: Place, grid: &Grid, axes: &Axes) -> Node {
        let line = Node::Line(self.change(place, s, grid, axes));
        if !chance(self.rng, 30) {
            return line;
        }
        let e = self.term_of(s, grid, axes);
        let vars: Vec<&String> = axes.iter().flatten().collect();
        let condition = match (self.below(5), &vars[..]) {
            (0, [a, .., b]) => format!("{a} < {b}"),
            (1, [a, ..]) => format!("{a} % 2 == 0"),
            (2, [.., a]) => format!("{a} > 1"),
            (3, _) => condition(self.rng, s, 1),
            _ => format!("{e} > 0.1"),
        };
        let mut arms = vec![(format!("if ({condition})"), vec![line])];
        if chance(self.rng, 40) {
            let other = match self.below(6) {
                0 => "continue;".to_owned(),
                1 => "break;".to_owned(),
                _ => self.change(place, s, grid, axes),
            };
            arms.push(("else".to_owned(), vec![Node::Line(other)]));
        }
        Node::Arms(arms)
    }

    /// What one statement changes.
    fn change(&mut self, place: Place, s: &Scope, grid: &Grid, axes: &Axes) -> String {
        let e = format!("tanh({})", self.value_of(s, grid, axes));
        let Grid { table: t, carried: c, total: q, .. } = grid;
        // Elements by the loops around, or else by a number.
        let [i, j, _] = self.places(grid, axes);
        let axis = self.below(3) as usize;
        let u = format!("{}[{}]", grid.lines[axis], self.places(grid, axes)[axis]);
        match self.below(16) {
            0..=2 => format!("{t}[{i}, {j}] += 0.2 * {e};"),
            3 => format!("{t}[{i}, {j}] = 0.5 * {t}[{i}, {j}] + 0.2 * {e};"),
            4 => format!("{t}[{i}, {j}] = 0.4 * {t}[max(1, {i} - 1), {j}] + 0.2 * {e};"),
            5 => format!("{t}[{i}, {j}] = 0.4 * {t}[{i}, max(1, {j} - 1)] - 0.2 * {e};"),
            6 => format!("{t}[{i}, {j}] = 0.3 * {e};"),
            7 | 8 => format!("{u} += 0.2 * {e};"),
            9 => format!("{u} = 0.5 * {u} + 0.2 * {e};"),
            10 | 11 => format!("{c} = 0.6 * {c} + 0.2 * {e};"),
            12 => format!("{} = {};", grid.lines[axis], grid.lines[axis]),
            13 if place.adds => format!("target += 0.05 * {e};"),
            14 if place.adds => format!("{u} ~ normal({e}, 2);"),
            _ => format!("{q} += 0.05 * {e};"),
        }
    }

    /// An index for each axis that is in range.
    fn places(&mut self, grid: &Grid, axes: &Axes) -> [String; 3] {
        [0, 1, 2].map(|axis| {
            let extent = grid.extents[axis];
            match &axes[axis] {
                Some(i) if chance(self.rng, 85) => i.clone(),
                Some(i) => format!("({} - {i})", extent + 1),
                None => (1 + self.below(extent)).to_string(),
            }
        })
    }

    fn value_of(&mut self, s: &Scope, grid: &Grid, axes: &Axes) -> String {
        let (a, b) = (self.term_of(s, grid, axes), self.term_of(s, grid, axes));
        match self.below(4) {
            0 => a,
            1 => format!("{a} * {b}"),
            2 => format!("{a} - {b}"),
            _ => format!("{a} + 0.5 * {b}"),
        }
    }

    fn term_of(&mut self, s: &Scope, grid: &Grid, axes: &Axes) -> String {
        let places = self.places(grid, axes);
        let [i, j, _] = &places;
        match self.below(9) {
            0..=2 => format!("{}[{i}, {j}]", grid.table),
            3 | 4 => {
                let axis = self.below(3) as usize;
                format!("{}[{}]", grid.lines[axis], places[axis])
            }
            5 => grid.carried.clone(),
            6 => {
                let axis = self.below(3) as usize;
                format!("0.3 * {}", places[axis])
            }
            7 => format!("0.2 * sum({}[{i}])", grid.table),
            _ => self.number(s),
        }
    }

    /// Sums that weigh each element differently.
    fn sums(&mut self, grid: &Grid) -> Vec<Node> {
        let Grid { table, carried, total, extents, .. } = grid;
        let [i, j] = [0, 0].map(|_| self.name("i"));
        let term = format!("{total} += 0.01 * ({i} + 2.3 * {j}) * {table}[{i}, {j}];");
        let mut all = vec![
            format!("for ({i} in 1:{}) for ({j} in 1:{}) {term}", extents[0], extents[1]),
            format!("{total} += 0.1 * {carried};"),
        ];
        for (line, extent) in grid.lines.iter().zip(extents) {
            let i = self.name("i");
            all.push(format!("for ({i} in 1:{extent}) {total} += 0.03 * {i} * {line}[{i}];"));
        }
        all.into_iter().map(Node::Line).collect()
    }
}
