//! A hidden Markov chain of two states (posteriordb's `hmm_example`): outcomes -> a model.
//!
//! The forward algorithm is a product of one matrix a step; matrices are multiplied in pairs, then pairs of
//! pairs, so that a series of T outcomes takes log2 T rounds of vector operations.

use exmc::distributions::{dirichlet, normal};
use exmc::{DataSet, Expr, Model, ModelBuilder, TransformSpec};

use super::data::{Data, Maker};

/// A series of matrices of two rows and columns on the log scale: an expression of shape `[length]` an element.
struct Matrices {
    length: usize,
    elements: [[Expr; 2]; 2],
}

pub(super) fn build(data: &Data<'_>) -> Result<Model, String> {
    let (n, states) = (data.size("N")?, data.size("K")?);
    if states != 2 || n < 2 {
        return Err(format!("expected 2 states and at least 2 outcomes, found {states} and {n}"));
    }
    let mut model = ModelBuilder::new();
    model.data("y", data.real("y")?);
    model.rv("theta1", dirichlet([1.0, 1.0]));
    model.rv("theta2", dirichlet([1.0, 1.0]));
    let order = TransformSpec::PositiveOrdered;
    model.rv("mu", normal([3.0, 10.0], 1.0)).transform(order);
    let emission = |k: usize| (Expr::name("y") - Expr::name("mu").at(k)).square() * -0.5;
    let emission = [emission(0), emission(1)];
    let step = |j: usize, k: usize| {
        let row = Expr::name(["theta1", "theta2"][j]).at(k).log();
        row + emission[k].clone().slice(1, n)
    };
    let elements = [[step(0, 0), step(0, 1)], [step(1, 0), step(1, 1)]];
    let product = product(Matrices { length: n - 1, elements });
    let path = |j: usize, k: usize| emission[j].clone().at(0) + product[j][k].clone();
    let ends = [0, 1].map(|k| log_add(path(0, k), path(1, k)));
    let [first, second] = ends;
    model.potential("likelihood", log_add(first, second));
    model.build().map_err(|e| e.to_string())
}

fn log_add(a: Expr, b: Expr) -> Expr {
    Expr::call("log_add_exp", [a, b])
}

/// The product of all matrices, first to last.
fn product(mut factors: Matrices) -> [[Expr; 2]; 2] {
    while factors.length > 1 {
        let pairs = factors.length / 2;
        let split = |x: &Expr| {
            let rows = x.clone().slice(0, 2 * pairs).reshape([pairs, 2]).transpose();
            (rows.clone().at(0), rows.at(1))
        };
        let split = factors.elements.each_ref().map(|row| row.each_ref().map(split));
        let multiply = |j: usize, k: usize| {
            let through = |i: usize| split[j][i].0.clone() + split[i][k].1.clone();
            let paired = log_add(through(0), through(1));
            if factors.length.is_multiple_of(2) {
                return paired;
            }
            let alone = factors.elements[j][k].clone().slice(2 * pairs, factors.length);
            Expr::call("concat", [paired, alone])
        };
        let elements = [[multiply(0, 0), multiply(0, 1)], [multiply(1, 0), multiply(1, 1)]];
        factors = Matrices { length: factors.length.div_ceil(2), elements };
    }
    factors.elements.map(|row| row.map(|x| x.at(0)))
}

pub(super) fn data() -> DataSet {
    const N: usize = 100;
    let mut maker = Maker::new(43);
    let (mut state, mut y) = (0, Vec::with_capacity(N));
    for _ in 0..N {
        let stays = if state == 0 { 0.7 } else { 0.9 };
        if maker.uniform() > stays {
            state = 1 - state;
        }
        y.push([3.0, 9.0][state] + maker.normal());
    }
    maker.size("N", N).size("K", 2).reals("y", &y).finish()
}
