//! A hidden Markov chain of two states (posteriordb's `hmm_example`): outcomes -> a model.

use exmc::distributions::{dirichlet, normal};
use exmc::model::{DataSet, Expr, Scan, TransformSpec};
use exmc::{Model, ModelBuilder};

use super::data::{Data, Maker};

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
    let seen = (Expr::name("y").reshape([n, 1]) - "mu").square() * -0.5;
    let moves = Expr::call("stack", ["theta1".into(), "theta2".into()]).log();
    let pairs = Expr::name("state").reshape([2, 1]) + moves;
    let last = Scan::new()
        .sequence("seen", seen.clone().slice(1, n))
        .carry("state", seen.at(0), pairs.log_sum_exp_over(0) + "seen")
        .last("state");
    model.potential("likelihood", last.log_sum_exp());
    model.build().map_err(|e| e.to_string())
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
