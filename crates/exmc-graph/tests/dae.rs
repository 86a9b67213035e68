//! `dae`: solutions and gradients as closed forms have them, starts that depend on parameters, and
//! its text.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test fails by panicking")]

use crate::support::{check_derivatives, expression, values, weighted_sum};
use exmc_graph::{
    DType, DaeArguments, Graph, NodeId, Op, Role, Shape, Tensor, dae, differentiate, parse, print,
    verify,
};
use exmc_math::OdeControl;

const TIGHT: OdeControl = OdeControl { relative: 1e-12, absolute: 1e-12, max_steps: 1_000_000 };
const TIMES: [f64; 3] = [0.4, 1.0, 3.0];

fn input(g: &mut Graph, name: &str, shape: &[usize]) -> NodeId {
    g.input(name, Role::Parameter, Shape::from(shape), DType::Real).unwrap()
}

fn element(g: &mut Graph, x: NodeId, k: usize) -> NodeId {
    let part = g.slice(x, 0, k, k + 1);
    g.reshape(part, [])
}

fn vector(g: &mut Graph, elements: &[NodeId]) -> NodeId {
    let elements: Vec<NodeId> = elements.iter().map(|&x| g.reshape(x, [1])).collect();
    g.concat(&elements, 0)
}

/// $(\dot y_1 + v_0 y_1,\; y_2 - v_1 y_1^2 - t)$
fn residual() -> (Graph, NodeId) {
    let mut g = Graph::new();
    let (t, y) = (input(&mut g, "t", &[]), input(&mut g, "y", &[2]));
    let (slopes, v) = (input(&mut g, "yp", &[2]), input(&mut g, "values", &[2]));
    let (rate, factor) = (element(&mut g, v, 0), element(&mut g, v, 1));
    let (first, second) = (element(&mut g, y, 0), element(&mut g, y, 1));
    let slope = element(&mut g, slopes, 0);
    let lost = g.mul(rate, first);
    let motion = g.add(slope, lost);
    let square = g.square(first);
    let square = g.mul(factor, square);
    let rest = g.sub(second, square);
    let tie = g.sub(rest, t);
    let residual = vector(&mut g, &[motion, tie]);
    (g, residual)
}

/// The solution whose first state begins with a parameter and whose second one follows, and its
/// closed form.
fn decay(g: &mut Graph, p: &[NodeId], control: OdeControl, closed: bool) -> NodeId {
    let (first, rate, factor) = (element(g, p[0], 0), element(g, p[0], 1), element(g, p[0], 2));
    if closed {
        let mut rows = Vec::new();
        for t in TIMES {
            let fallen = g.scale(rate, -t);
            let fallen = g.exp(fallen);
            let y = g.mul(first, fallen);
            let square = g.square(y);
            let square = g.mul(factor, square);
            let tied = g.shift(square, t);
            let row = vector(g, &[y, tied]);
            rows.push(g.reshape(row, [1, 2]));
        }
        return g.concat(&rows, 0);
    }
    let (graph, residual) = residual();
    let square = g.square(first);
    let square = g.mul(factor, square);
    let start = vector(g, &[first, square]);
    // The slopes there depend on parameters too.
    let lost = g.mul(rate, first);
    let slope = g.neg(lost);
    let by_square = g.mul(square, rate);
    let by_square = g.scale(by_square, -2.0);
    let tied = g.shift(by_square, 1.0);
    let slope = vector(g, &[slope, tied]);
    let values = vec![vector(g, &[rate, factor])];
    let times = [g.scalar(0.0), g.constant(Tensor::vector(&TIMES))];
    let arguments = DaeArguments { graph, residual, control, start, slope, values, times };
    dae(g, arguments).unwrap()
}

#[test]
fn solutions_and_gradients_are_those_of_the_closed_form() {
    let parameters = [Tensor::vector(&[1.4, 0.8, 0.6])];
    let (mut g, inputs, solved) = expression(&[[3].into()], &|g, p| decay(g, p, TIGHT, false));
    assert_eq!(verify(&g), Ok(()));
    let closed = decay(&mut g, &inputs, TIGHT, true);
    let found = values(&g, &[solved, closed], &parameters);
    // Some hundred steps, each allowed 1e-12.
    for (a, b) in found[0].values().iter().zip(found[1].values()) {
        assert!((a - b).abs() < 1e-9, "{found:?}");
    }
    let gradients = [solved, closed].map(|root| {
        let sum = weighted_sum(&mut g, root, 1.0);
        differentiate(&mut g, sum, &inputs).unwrap()[0]
    });
    let found = values(&g, &gradients, &parameters);
    for (a, b) in found[0].values().iter().zip(found[1].values()) {
        assert!((a - b).abs() < 1e-8, "{found:?}");
    }
}

#[test]
fn gradients_are_differences_of_solutions() {
    let parameters = [Tensor::vector(&[1.4, 0.8, 0.6])];
    check_derivatives("dae", &parameters, 1, &|g, p| decay(g, p, TIGHT, false));
}

#[test]
fn few_steps_have_no_solution_and_times_are_data() {
    let few = OdeControl { max_steps: 2, ..TIGHT };
    let parameters = [Tensor::vector(&[1.4, 0.8, 0.6])];
    let (g, _, solved) = expression(&[[3].into()], &|g, p| decay(g, p, few, false));
    assert!(values(&g, &[solved], &parameters)[0].values().iter().all(|x| x.is_nan()));
    let (graph, residual) = residual();
    let mut g = Graph::new();
    let [start, slope, known] = [(); 3].map(|()| g.constant(Tensor::vector(&[0.0, 0.0])));
    let times = [g.scalar(0.0), input(&mut g, "times", &[2])];
    let (control, values) = (TIGHT, vec![known]);
    let arguments = DaeArguments { graph, residual, control, start, slope, values, times };
    let error = dae(&mut g, arguments).unwrap_err();
    assert_eq!(error.message(), "dae: times that depend on parameters");
}

#[test]
fn its_text_reads_back() {
    let (g, _, solved) = expression(&[[3].into()], &|g, p| decay(g, p, TIGHT, false));
    let text = print(&g);
    assert!(
        text.contains("{solver=\"dae 1e-12 1e-12 1000000\", layout=[2, 4, 2, 1, 0, 0]"),
        "{text}"
    );
    let read = parse(&text).unwrap();
    assert_eq!(verify(&read), Ok(()));
    assert_eq!(read, g);
    assert!(matches!(g.node(solved).op, Op::OdeSolution(_)));
}
