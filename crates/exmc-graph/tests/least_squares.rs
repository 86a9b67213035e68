//! `Op::LeastSquares`: the few rows have the sum of squares of the many, whatever the unknowns.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_graph::kernels::Lanes;
use exmc_graph::{
    DType, Graph, LeastSquares, NodeId, Op, Role, Shape, Tensor, differentiate, evaluate,
};

/// Equally spread numbers between -1 and 1.
fn series(n: usize, stride: usize) -> Vec<f64> {
    let golden = 0.618_033_988_749_894_9;
    (0..n).map(|k| 2.0 * ((stride * k + 1) as f64 * golden).fract() - 1.0).collect()
}

/// Rows with their groups.
struct Rows {
    columns: Vec<f64>,
    offset: Vec<f64>,
    group: Vec<usize>,
    groups: usize,
    local: usize,
    global: usize,
}

impl Rows {
    fn new(n: usize, groups: usize, local: usize, global: usize) -> Self {
        // Every third group has no row.
        let group = (0..n).map(|r| (7 * r) % groups / 3 * 3).collect();
        let (columns, offset) = (series(n * (local + global), 3), series(n, 5));
        Self { columns, offset, group, groups, local, global }
    }

    fn factor(&self) -> Vec<f64> {
        let n = self.offset.len();
        let mut g = Graph::new();
        let columns = Tensor::real([n, self.local + self.global], self.columns.clone()).unwrap();
        let args = [
            g.constant(columns),
            g.constant(Tensor::vector(&self.offset)),
            g.constant(Tensor::indices(&self.group)),
        ];
        let op = Op::LeastSquares { groups: self.groups, local: self.local };
        let packed = g.apply(op, &args).unwrap();
        evaluate(&g, &[packed], &|_| None).unwrap()[0].values().to_vec()
    }

    /// The sum of squares by the rows, `p[j * groups + g]` being unknown j of group g.
    fn sum(&self, p: &[f64], q: &[f64]) -> f64 {
        let k = self.local + self.global;
        let squares = self.offset.iter().enumerate().map(|(r, offset)| {
            let row = &self.columns[r * k..(r + 1) * k];
            let of_group = (0..self.local).map(|j| row[j] * p[j * self.groups + self.group[r]]);
            let common = (0..self.global).map(|j| row[self.local + j] * q[j]);
            let sum: f64 = offset + of_group.chain(common).sum::<f64>();
            sum * sum
        });
        Lanes::sum(&squares.collect::<Vec<_>>())
    }

    /// The same by the factor, as its documentation says.
    fn sum_by_factor(&self, factor: &[f64], p: &[f64], q: &[f64]) -> f64 {
        let packed = LeastSquares::new(self.groups, self.local, self.global);
        assert_eq!(packed.len(), factor.len());
        let common = |j: usize| q[j] - factor[packed.point()][j];
        let mut total: f64 = factor[packed.rest()].iter().sum();
        for g in 0..self.groups {
            let local_difference =
                |j: usize| p[j * self.groups + g] - factor[packed.local_point(j)][g];
            for i in 0..self.local {
                let mut row = factor[packed.local_offset(i)][g];
                row += (i..self.local)
                    .map(|j| factor[packed.triangle(i, j)][g] * local_difference(j))
                    .sum::<f64>();
                let coupling = &factor[packed.coupling(i)][g * self.global..];
                row += (0..self.global).map(|j| coupling[j] * common(j)).sum::<f64>();
                total += row * row;
            }
        }
        for i in 0..self.global {
            let matrix = &factor[packed.matrix()][i * self.global..];
            let row = (0..self.global).map(|j| matrix[j] * common(j)).sum::<f64>();
            let row = row + factor[packed.offset()][i];
            total += row * row;
        }
        total
    }

    fn check(&self, name: &str) {
        let factor = self.factor();
        for salt in 1..4 {
            let p: Vec<f64> = series(self.groups * self.local, salt);
            let q: Vec<f64> = series(self.global, 2 + salt);
            let (expected, found) = (self.sum(&p, &q), self.sum_by_factor(&factor, &p, &q));
            // Sums of positive terms: rounding of about 1e-16 for each of a hundred steps.
            let error = (found - expected).abs() / expected.abs().max(1e-3);
            assert!(error < 1e-14, "{name}: {found}, by the rows {expected}");
        }
    }
}

#[test]
fn few_rows_have_the_sum_of_squares_of_the_many() {
    for (local, global) in [(0, 1), (0, 5), (1, 0), (2, 0), (3, 0), (1, 1), (2, 3), (1, 9)] {
        for n in [1, 2, 5, 63, 64, 65, 130, 400] {
            for groups in [1, 4, 20] {
                let rows = Rows::new(n, groups, local, global);
                rows.check(&format!("{n} rows, {groups} groups, {local} + {global} columns"));
            }
        }
    }
}

#[test]
fn columns_that_depend_on_each_other_are_no_problem() {
    for (local, global) in [(0, 4), (4, 0), (2, 2)] {
        // The last column is nearly the sum of two others: where it is too near, and where it is
        // not but its unknown would be far away at the least sum of squares.
        for nearly in [1e-9, 1e-6] {
            let mut rows = Rows::new(100, 2, local, global);
            for row in rows.columns.chunks_exact_mut(4) {
                row[2] = 2.0 * row[0];
                row[3] = row[0] + row[1] + nearly * row[3];
            }
            rows.check("nearly dependent");
        }
        let mut rows = Rows::new(100, 2, local, global);
        rows.columns.chunks_exact_mut(4).for_each(|row| row[3] = 0.0);
        rows.check("a column of zeros");
        rows.offset.fill(0.0);
        rows.check("no offset");
    }
}

#[test]
fn one_column_of_ones_gives_mean_and_sum_of_squares() {
    // Exact in binary: mean 2.5 and squares 2 * (1.5^2 + 0.5^2); the other group has one row.
    let (group, groups) = (vec![1, 1, 0, 1, 1], 2);
    let offset = vec![-1.0, -2.0, -7.0, -3.0, -4.0];
    let rows = Rows { columns: vec![1.0; 5], offset, group, groups, local: 1, global: 0 };
    let (factor, packed) = (rows.factor(), LeastSquares::new(2, 1, 0));
    let near = |found: &[f64], expected: [f64; 2]| {
        // A handful of roundings.
        let near = found.iter().zip(expected).all(|(f, e)| (f.abs() - e).abs() < 1e-14);
        assert!(near, "{found:?}, not {expected:?}");
    };
    near(&factor[packed.triangle(0, 0)], [1.0, 2.0]);
    near(&factor[packed.local_point(0)], [7.0, 2.5]);
    near(&factor[packed.local_offset(0)], [0.0, 0.0]);
    near(&factor[packed.rest()], [0.0, 5.0]);
}

#[test]
fn a_large_common_level_costs_no_digits() {
    // Outcomes at 1e8 with spread one: all differences of outcomes are exact, so the sum of squares
    // with everything moved by the level is the oracle.
    let n = 1000;
    let (level, noise) = (1e8, series(n, 5));
    let outcomes: Vec<f64> = noise.iter().map(|e| level + e).collect();
    let moved: Vec<f64> = outcomes.iter().map(|y| -(y - level)).collect();
    let offset: Vec<f64> = outcomes.iter().map(|y| -y).collect();
    let columns: Vec<f64> = series(n, 3).iter().flat_map(|&x| [1.0, x]).collect();
    for (local, global) in [(0, 2), (2, 0)] {
        let make = |offset: Vec<f64>| {
            let (columns, group) = (columns.clone(), vec![0; n]);
            Rows { columns, offset, group, groups: 1, local, global }
        };
        let (rows, oracle) = (make(offset.clone()), make(moved.clone()));
        let factor = rows.factor();
        let unknowns_at = |level: f64, a: f64, b: f64| {
            let unknowns = [level + a, b];
            if local == 0 { (vec![], unknowns.to_vec()) } else { (unknowns.to_vec(), vec![]) }
        };
        let value = |a: f64, b: f64| {
            let (p, q) = unknowns_at(level, a, b);
            rows.sum_by_factor(&factor, &p, &q)
        };
        let exact = |a: f64, b: f64| {
            // What is left of `a` at the level.
            let (p, q) = unknowns_at(0.0, (level + a) - level, b);
            oracle.sum(&p, &q)
        };
        for (a, b) in [(0.1, 0.2), (-0.3, 0.5), (0.01, -0.04)] {
            let difference = exact(a, b) - exact(0.0, 0.0);
            let found = value(a, b) - value(0.0, 0.0);
            let error = (found - difference).abs() / difference.abs();
            // The bound; normal equations lose all digits here, as does a factor without a
            // point.
            assert!(error < 1e-10, "{found}, not {difference}: {error:e}");
        }
    }
}

fn inputs(g: &mut Graph, role: Role, n: usize) -> [NodeId; 3] {
    let columns = g.input("x", role, [n, 2].into(), DType::Real).unwrap();
    let offset = g.input("y", Role::Data, [n].into(), DType::Real).unwrap();
    let group = g.input("g", Role::Data, [n].into(), DType::Int).unwrap();
    [columns, offset, group]
}

#[test]
fn it_takes_data_only_and_has_no_derivative() {
    let op = Op::LeastSquares { groups: 3, local: 1 };
    let mut g = Graph::new();
    let args = inputs(&mut g, Role::Parameter, 5);
    let error = g.apply(op.clone(), &args).unwrap_err();
    assert_eq!(error.message(), "least_squares: its arguments must not depend on parameters");
    let mut g = Graph::new();
    let args = inputs(&mut g, Role::Data, 5);
    let error = g.apply(Op::LeastSquares { groups: 3, local: 3 }, &args).unwrap_err();
    assert_eq!(error.message(), "least_squares: shapes [5, 2], [5] and [5] do not fit");
    let packed = g.apply(op, &args).unwrap();
    assert_eq!(*g.shape(packed), Shape::from([3 + 3 + 3 + 3 + 1 + 1 + 1 + 1]));
    let total = g.sum(packed);
    let error = differentiate(&mut g, total, &[args[0]]).unwrap_err();
    assert_eq!(error.message(), "least_squares has no derivative");
    let data = |name: &str| match name {
        "x" => Some(Tensor::filled([5, 2], 1.0)),
        "y" => Some(Tensor::filled([5], 1.0)),
        _ => Tensor::int([5], vec![0.0, 1.0, 2.0, 3.0, 0.0]),
    };
    let error = evaluate(&g, &[packed], &data).unwrap_err();
    assert_eq!(error.message(), "%3 least_squares: index 3 is outside 0..3");
}
