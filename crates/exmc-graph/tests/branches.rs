//! Branches that are not taken, ties and empty sums: derivatives are exact where the formula has a
//! hole.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "expected values are computed independently")]

use crate::support::{Build, check_derivatives, expression, values, weighted_sum};
use exmc_graph::{
    DType, Graph, NodeId, Op, Reduction, Role, Shape, Tensor, differentiate, differentiate_density,
};

/// Gradient of the (weighted) sum of an expression of one parameter vector.
fn gradient(x: &[f64], build: Build<'_>) -> Vec<f64> {
    let (mut g, inputs, y) = expression(&[[x.len()].into()], build);
    let scalar = g.sum(y);
    let gradient = differentiate(&mut g, scalar, &inputs).unwrap();
    values(&g, &gradient, &[Tensor::vector(x)])[0].values().to_vec()
}

/// `f(x)` where x is positive, else `x`.
fn guarded(f: impl Fn(&mut Graph, NodeId) -> NodeId) -> impl Fn(&mut Graph, &[NodeId]) -> NodeId {
    move |g, p| {
        let zero = g.scalar(0.0);
        let positive = g.lt(zero, p[0]);
        let branch = f(g, p[0]);
        g.select(positive, branch, p[0])
    }
}

#[test]
fn an_untaken_branch_contributes_exactly_zero() {
    // Infinite slope, NaN value, NaN slope beneath further operations, overflow.
    assert_eq!(gradient(&[0.0, -1.0, 2.0], &guarded(|g, x| g.log(x))), [1.0, 1.0, 0.5]);
    assert_eq!(gradient(&[0.0, -1.0, 4.0], &guarded(|g, x| g.sqrt(x))), [1.0, 1.0, 0.25]);
    let deep = guarded(|g, x| {
        let log = g.log(x);
        let square = g.square(log);
        let product = g.mul(square, log);
        let root = g.sqrt(product);
        g.exp(root)
    });
    assert_eq!(gradient(&[0.0, -1.0, -f64::INFINITY], &deep), [1.0; 3]);
    let overflowing = guarded(|g, x| {
        let large = g.scalar(f64::INFINITY);
        g.mul(x, large)
    });
    assert_eq!(gradient(&[-1.0, 0.0], &overflowing), [1.0, 1.0]);
}

#[test]
fn masks_pass_through_moves_sums_and_reductions() {
    // log(x) is infinite at the elements that the select leaves out, behind every kind of move.
    let wrap = |inner: &'static dyn Fn(&mut Graph, NodeId) -> NodeId| {
        guarded(move |g, x| {
            let log = g.log(x);
            inner(g, log)
        })
    };
    let x = [0.0, 2.0, -3.0, 0.5];
    let expected = [1.0, 0.5, 1.0, 2.0];
    assert_eq!(
        gradient(
            &x,
            &wrap(&|g, l| {
                let square = g.reshape(l, [2, 2]);
                let turned = g.transpose(square);
                let back = g.transpose(turned);
                g.reshape(back, [4])
            })
        ),
        expected
    );
    assert_eq!(
        gradient(
            &x,
            &wrap(&|g, l| {
                let (first, second) = (g.slice(l, 0, 0, 2), g.slice(l, 0, 2, 4));
                g.concat(&[first, second], 0)
            })
        ),
        expected
    );
    assert_eq!(
        gradient(
            &x,
            &wrap(&|g, l| {
                let index = g.constant(Tensor::indices(&[3, 2, 1, 0]));
                let turned = g.gather(l, index);
                g.apply(Op::ScatterAdd { len: 4 }, &[turned, index]).unwrap()
            })
        ),
        expected
    );
    assert_eq!(
        gradient(
            &x,
            &wrap(&|g, l| {
                let rows = g.reshape(l, [4, 1]);
                g.sum_last(rows)
            })
        ),
        expected
    );
    assert_eq!(
        gradient(
            &x,
            &wrap(&|g, l| {
                let rows = g.reshape(l, [4, 1]);
                g.log_sum_exp(rows, 1)
            })
        ),
        expected
    );
    // A whole branch: its matrix operations and sums run over NaN.
    let branch_gradient = |x: f64| {
        gradient(&[x, 1.0], &|g: &mut Graph, p: &[NodeId]| {
            let root = g.sqrt(p[0]);
            let matrix = g.reshape(root, [1, 2]);
            let product = g.matmul(matrix, root);
            let product = g.reshape(product, Shape::scalar());
            let first = g.slice(p[0], 0, 0, 1);
            let first = g.reshape(first, Shape::scalar());
            let zero = g.scalar(0.0);
            let positive = g.lt(zero, first);
            g.select(positive, product, first)
        })
    };
    assert_eq!(branch_gradient(-1.0), [1.0, 0.0]);
    assert_eq!(branch_gradient(4.0), [1.0, 1.0]);
}

#[test]
fn extremes_leave_out_the_other_side() {
    // log(max(x, 0)) has an infinite slope at 0, but the outer max takes x there.
    let both = |g: &mut Graph, p: &[NodeId]| {
        let zero = g.scalar(0.0);
        let part = g.max(p[0], zero);
        let log = g.log(part);
        g.max(log, p[0])
    };
    assert_eq!(gradient(&[-1.0, 1e3], &both), [1.0, 1.0]);
    let tie = |op: Reduction| {
        move |g: &mut Graph, p: &[NodeId]| g.apply(Op::Reduce(op, vec![0]), &[p[0]]).unwrap()
    };
    assert_eq!(gradient(&[2.0, 1.0, 2.0], &tie(Reduction::Max)), [0.5, 0.0, 0.5]);
    assert_eq!(gradient(&[2.0, 1.0, 1.0], &tie(Reduction::Min)), [0.0, 0.5, 0.5]);
}

#[test]
fn an_empty_log_sum_has_no_slope() {
    let sum = |g: &mut Graph, p: &[NodeId]| g.log_sum_exp(p[0], 0);
    assert_eq!(gradient(&[f64::NEG_INFINITY; 3], &sum), [0.0; 3]);
    assert_eq!(gradient(&[f64::NEG_INFINITY, 1.0], &sum), [0.0, 1.0]);
    assert_eq!(gradient(&[0.0, 0.0], &sum), [0.5, 0.5]);
}

#[test]
fn second_derivatives_pass_the_taken_branch_where_the_first_is_zero() {
    // (log x)^2 has slope zero at 1, which must not be mistaken for a branch that is left out.
    let square = guarded(|g, x| {
        let log = g.log(x);
        g.square(log)
    });
    check_derivatives("guarded square", &[Tensor::vector(&[1.0, 2.0, -1.5])], 2, &square);
    let (mut g, inputs, y) = expression(&[[1].into()], &square);
    let scalar = g.sum(y);
    let first = differentiate(&mut g, scalar, &inputs).unwrap()[0];
    let first = g.sum(first);
    let second = differentiate(&mut g, first, &inputs).unwrap()[0];
    assert_eq!(values(&g, &[second], &[Tensor::vector(&[1.0])])[0].values(), [2.0]);
}

#[test]
fn what_is_not_used_has_zeros_and_what_has_no_slope_is_named() {
    let mut g = Graph::new();
    let x = g.input("x", Role::Parameter, [2].into(), DType::Real).unwrap();
    let y = g.input("y", Role::Parameter, [3].into(), DType::Real).unwrap();
    let sum = g.sum(x);
    let gradient = differentiate(&mut g, sum, &[y, x]).unwrap();
    let found = values(&g, &gradient, &[]);
    assert_eq!((found[0].values(), found[1].values()), (&[0.0; 3][..], &[1.0; 2][..]));
    assert!(differentiate(&mut g, x, &[x]).is_err(), "a vector has no gradient");
    let steep = g.unary(exmc_graph::Unary::Tetragamma, x);
    let scalar = weighted_sum(&mut g, steep, 1.0);
    let error = differentiate(&mut g, scalar, &[x]).unwrap_err();
    assert_eq!(error.message(), "tetragamma has no derivative");
}

/// Only where the output is finite do its slopes matter to a sampler.
#[test]
fn a_support_asks_nothing_of_the_slopes_inside() {
    // log x of positive x, else minus infinity: as a term of the output, negated twice, and beneath
    // an exponential.
    let support = |g: &mut Graph, x: NodeId| {
        let (zero, nothing) = (g.scalar(0.0), g.scalar(-f64::INFINITY));
        let inside = g.lt(zero, x);
        let log = g.log(x);
        g.select(inside, log, nothing)
    };
    let count = |build: &dyn Fn(&mut Graph, NodeId) -> NodeId| {
        let (mut g, inputs, y) = expression(&[[3].into()], &|g, p| build(g, p[0]));
        let total = g.sum(y);
        let before = g.len();
        let gradient = differentiate_density(&mut g, total, &inputs).unwrap();
        let selects = g.ids().skip(before).filter(|id| g.node(*id).op.name() == "select").count();
        (selects, values(&g, &gradient, &[Tensor::vector(&[0.5, 2.0, 4.0])])[0].clone())
    };
    let slopes = Tensor::vector(&[2.0, 0.5, 0.25]);
    assert_eq!(count(&support), (0, slopes.clone()));
    let twice = |g: &mut Graph, x| {
        let y = support(g, x);
        let minus = g.neg(y);
        g.neg(minus)
    };
    assert_eq!(count(&twice), (0, slopes));
    // x itself, whose slope is 1 inside and 0 outside.
    let exponential = |g: &mut Graph, x| {
        let y = support(g, x);
        g.exp(y)
    };
    assert_ne!(count(&exponential).0, 0);
    assert_eq!(gradient(&[0.0, -1.0, 2.0], &|g, p| exponential(g, p[0])), [0.0, 0.0, 1.0]);
    // Where slopes outside are asked for, they are zero.
    assert_eq!(gradient(&[0.0, -1.0, 2.0], &|g, p| support(g, p[0])), [0.0, 0.0, 0.5]);
    // A minus sign makes it plus infinity, which is no support.
    let negative = |g: &mut Graph, x| {
        let y = support(g, x);
        g.neg(y)
    };
    assert_ne!(count(&negative).0, 0);
}

#[test]
fn a_known_condition_of_zeros_and_ones_is_the_mask_itself() {
    // Rows of a product with [[2, 3], [5, 7]], of which the condition chooses some; a mask that
    // adds up to nothing would say that it chooses none.
    for (condition, slopes, negations) in [
        (Tensor::int([2], [0.0, 1.0]), [5.0, 7.0], 0),
        (Tensor::int([2], [1.0, 0.0]), [2.0, 3.0], 0),
        (Tensor::int([2], [-1.0, 1.0]), [7.0, 10.0], 2),
        (Tensor::real([2], [0.5, -0.5]), [7.0, 10.0], 2),
        (Tensor::real([2], [0.0, 1.0]), [5.0, 7.0], 2),
    ] {
        let condition = condition.unwrap();
        let (mut g, inputs, y) = expression(&[[2].into()], &|g, p| {
            let matrix = g.constant(Tensor::real([2, 2], [2.0, 3.0, 5.0, 7.0]).unwrap());
            let product = g.matmul(matrix, p[0]);
            let (condition, zero) = (g.constant(condition.clone()), g.scalar(0.0));
            g.select(condition, product, zero)
        });
        let total = g.sum(y);
        let gradient = differentiate(&mut g, total, &inputs).unwrap();
        let needed = g.reachable(&gradient);
        let is_negation = |id: &NodeId| needed[id.index()] && g.node(*id).op.name() == "not";
        assert_eq!(g.ids().filter(is_negation).count(), negations, "{condition:?}");
        let found = values(&g, &gradient, &[Tensor::vector(&[1.0, 1.0])]);
        assert_eq!(found[0].values(), slopes, "{condition:?}");
    }
}
