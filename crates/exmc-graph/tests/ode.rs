//! `ode`: solutions and gradients as closed forms have them, for every method; what it refuses; its
//! text.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test fails by panicking")]

use crate::support::{check_derivatives, expression, values, weighted_sum};
use exmc_graph::{
    DType, Graph, NodeId, OdeArguments, Op, Role, Shape, Tensor, differentiate, ode, parse, print,
    root, simplify, verify,
};
use exmc_math::{OdeControl, OdeMethod, RootControl};

const TIGHT: OdeControl = OdeControl { relative: 1e-12, absolute: 1e-12, max_steps: 1_000_000 };

fn input(g: &mut Graph, name: &str, shape: &[usize]) -> NodeId {
    g.input(name, Role::Parameter, Shape::from(shape), DType::Real).unwrap()
}

fn element(g: &mut Graph, x: NodeId, k: usize) -> NodeId {
    let part = g.slice(x, 0, k, k + 1);
    g.reshape(part, [])
}

/// Logistic growth `dy = v0 y (1 - y / v1)` per state.
fn logistic(n: usize) -> (Graph, NodeId) {
    let mut g = Graph::new();
    let y = input(&mut g, "y", &[n]);
    let v = input(&mut g, "values", &[2]);
    let (rate, capacity) = (element(&mut g, v, 0), element(&mut g, v, 1));
    let shape = Shape::from([n]);
    let (rate, capacity) = (g.broadcast_to(rate, &shape), g.broadcast_to(capacity, &shape));
    let (grown, share) = (g.mul(rate, y), g.div(y, capacity));
    let one = g.filled(&shape, 1.0);
    let left = g.sub(one, share);
    let slope = g.mul(grown, left);
    (g, slope)
}

/// A solution whose start, values, initial time and output times are all parameters.
fn growth(g: &mut Graph, p: &[NodeId], method: OdeMethod, control: OdeControl) -> NodeId {
    let (graph, slope) = logistic(2);
    let [start, values, initial_time, times] = *p else { panic!("four parameters") };
    let values = vec![values];
    ode(g, OdeArguments { graph, slope, method, control, start, values, initial_time, times })
        .unwrap()
}

fn parameters() -> Vec<Tensor> {
    vec![
        Tensor::vector(&[0.3, 2.5]),
        Tensor::vector(&[0.9, 1.8]),
        Tensor::scalar(0.25),
        Tensor::vector(&[0.25, 0.7, 1.9, 1.9, 6.0]),
    ]
}

/// The closed form of the same, made of ordinary operations: $K / (1 + (K/y_0 - 1) e^{-r (t -
/// t_0)})$.
fn closed_form(g: &mut Graph, p: &[NodeId]) -> NodeId {
    let [start, values, initial_time, times] = *p else { panic!("four parameters") };
    let shape = Shape::from([5, 2]);
    let (rate, capacity) = (element(g, values, 0), element(g, values, 1));
    let all = |g: &mut Graph, x: NodeId| g.broadcast_to(x, &shape);
    let times = g.reshape(times, [5, 1]);
    let [start, times, rate, capacity, initial] =
        [start, times, rate, capacity, initial_time].map(|x| all(g, x));
    let elapsed = g.sub(times, initial);
    let grown = g.mul(rate, elapsed);
    let fallen = g.neg(grown);
    let decay = g.exp(fallen);
    let ratio = g.div(capacity, start);
    let one = g.filled(&shape, 1.0);
    let excess = g.sub(ratio, one);
    let excess = g.mul(excess, decay);
    let below = g.add(one, excess);
    g.div(capacity, below)
}

#[test]
fn solutions_and_gradients_are_those_of_the_closed_form_by_every_method() {
    let parameters = parameters();
    let shapes: Vec<_> = parameters.iter().map(|t| t.shape().clone()).collect();
    for method in OdeMethod::ALL {
        // Multistep methods control steps that are mostly of their highest order, Runge-Kutta ones
        // of the fifth: a few hundred steps of 1e-12 each.
        let (g, inputs, solved) = expression(&shapes, &|g, p| growth(g, p, method, TIGHT));
        let (mut g, mut roots) = (g, vec![solved]);
        assert_eq!(verify(&g), Ok(()));
        roots.push(closed_form(&mut g, &inputs));
        let found = values(&g, &roots, &parameters);
        for (k, (a, b)) in found[0].values().iter().zip(found[1].values()).enumerate() {
            assert!((a - b).abs() < 1e-9, "{method:?}: element {k} is {a}, not {b}");
        }
        let gradients: Vec<Vec<NodeId>> = roots
            .iter()
            .map(|&root| {
                let sum = weighted_sum(&mut g, root, 1.0);
                differentiate(&mut g, sum, &inputs).unwrap()
            })
            .collect();
        for (k, (a, b)) in gradients[0].iter().zip(&gradients[1]).enumerate() {
            let found = values(&g, &[*a, *b], &parameters);
            for (a, b) in found[0].values().iter().zip(found[1].values()) {
                assert!((a - b).abs() < 1e-8, "{method:?}: parameter {k} has {a}, not {b}");
            }
        }
    }
}

#[test]
fn only_what_depends_on_parameters_has_sensitivities() {
    let (graph, slope) = logistic(2);
    let mut g = Graph::new();
    let start = g.constant(Tensor::vector(&[0.3, 2.5]));
    let rate = g.input("p0", Role::Parameter, [1].into(), DType::Real).unwrap();
    let capacity = g.input("capacity", Role::Data, [1].into(), DType::Real).unwrap();
    let initial_time = g.scalar(0.0);
    let times = g.constant(Tensor::vector(&[1.0, 2.0]));
    let (method, control) = (OdeMethod::Rk45, TIGHT);
    let arguments = |values: Vec<NodeId>| OdeArguments {
        graph: graph.clone(),
        slope,
        method,
        control,
        start,
        values,
        initial_time,
        times,
    };
    let solved = ode(&mut g, arguments(vec![rate, capacity])).unwrap();
    let packed = g.node(solved).args[1];
    let (solution, problem) = (&g.node(solved).op, &g.node(packed).op);
    assert!(matches!((solution, problem), (Op::OdeSolution(_), Op::Ode(_))));
    // Two states and their derivatives by the rate.
    assert_eq!(*g.shape(packed), Shape::from([2, 4]));
    let error = ode(&mut g, arguments(vec![capacity, rate])).unwrap_err();
    assert_eq!(error.message(), "ode: values that depend on parameters must come first");
}

#[test]
fn a_function_of_time_with_a_branch_and_a_loop_has_its_derivatives() {
    // dy_i = -v_i y_i + (t < 1 ? v_2 : sum of squares of y by a scan)
    let mut body = Graph::new();
    let y = input(&mut body, "y", &[2]);
    let v = input(&mut body, "values", &[3]);
    let t = input(&mut body, "t", &[]);
    let rates = body.slice(v, 0, 0, 2);
    let lost = body.mul(rates, y);
    let mut step = Graph::new();
    let (sum, x) = (input(&mut step, "carry0", &[]), input(&mut step, "x0", &[]));
    let square = step.square(x);
    let next = step.add(sum, square);
    let scan =
        exmc_graph::ScanBody { graph: step, next: vec![next], stacked: vec![], counts: [1, 1, 0] };
    let scan = exmc_graph::SharedBody(std::sync::Arc::new(scan));
    let zero = body.scalar(0.0);
    let op = Op::Scan { length: 2, reverse: false, body: scan };
    let scan = body.apply(op, &[zero, y]).unwrap();
    let squares = body.apply(Op::Project(0), &[scan]).unwrap();
    let one = body.scalar(1.0);
    let early = body.lt(t, one);
    let source = element(&mut body, v, 2);
    let gained = body.select(early, source, squares);
    let slope = body.sub(gained, lost);
    let build = |g: &mut Graph, p: &[NodeId]| {
        let initial_time = g.scalar(0.0);
        let times = g.constant(Tensor::vector(&[0.5, 1.0, 1.7]));
        let arguments = OdeArguments {
            graph: body.clone(),
            slope,
            method: OdeMethod::Ckrk,
            control: TIGHT,
            start: p[0],
            values: vec![p[1]],
            initial_time,
            times,
        };
        ode(g, arguments).unwrap()
    };
    let parameters = [Tensor::vector(&[0.4, 0.1]), Tensor::vector(&[0.7, 1.9, 0.3])];
    let shapes: Vec<_> = parameters.iter().map(|t| t.shape().clone()).collect();
    let (mut g, _, output) = expression(&shapes, &build);
    check_derivatives("ode", &parameters, 1, &build);
    let scalar = weighted_sum(&mut g, output, 1.0);
    let before = values(&g, &[scalar], &parameters);
    let (simple, roots) = simplify(&g, &[scalar]);
    assert_eq!(values(&simple, &roots, &parameters), before);
    // The closed form while the branch holds: v2/r + (y0 - v2/r) e^{-r t}.
    let found = values(&g, &[output], &parameters);
    for (i, (rate, start)) in [(0.7, 0.4), (1.9, 0.1)].into_iter().enumerate() {
        let level: f64 = 0.3 / rate;
        let expected = level + (start - level) * (-rate * 0.5f64).exp();
        assert!((found[0].values()[i] - expected).abs() < 1e-10);
    }
}

#[test]
fn what_has_no_solution_is_nan_and_what_has_no_derivative_is_an_error() {
    let parameters = parameters();
    let shapes: Vec<_> = parameters.iter().map(|t| t.shape().clone()).collect();
    let few = OdeControl { max_steps: 2, ..TIGHT };
    for method in OdeMethod::ALL {
        let (mut g, inputs, solved) = expression(&shapes, &|g, p| growth(g, p, method, few));
        assert!(values(&g, &[solved], &parameters)[0].values().iter().all(|x| x.is_nan()));
        // Times before the start have no solution either, and numbers that are none.
        let (early, _, solution) = expression(&shapes, &|g, p| growth(g, p, method, TIGHT));
        for (k, value) in [(2, 0.5), (2, f64::NAN), (2, f64::INFINITY)] {
            let mut moved = parameters.clone();
            moved[k] = Tensor::scalar(value);
            assert!(values(&early, &[solution], &moved)[0].values()[0].is_nan());
        }
        let sum = weighted_sum(&mut g, solved, 1.0);
        let gradient = differentiate(&mut g, sum, &inputs).unwrap();
        let again = weighted_sum(&mut g, gradient[0], 2.0);
        let error = differentiate(&mut g, again, &inputs).unwrap_err();
        assert_eq!(error.message(), "an ode has no second derivative");
    }
}

#[test]
fn a_solution_that_leaves_every_bound_is_nan() {
    // dy = y^2 reaches infinity at t = 1 / y0 = 1.
    let mut body = Graph::new();
    let y = input(&mut body, "y", &[1]);
    let slope = body.square(y);
    for method in OdeMethod::ALL {
        let (g, _, solved) = expression(&[Shape::from([1])], &|g, p| {
            let initial_time = g.scalar(0.0);
            let times = g.constant(Tensor::vector(&[0.5, 2.0]));
            let control = OdeControl { relative: 1e-6, absolute: 1e-6, max_steps: 1_000_000 };
            let (graph, start, values) = (body.clone(), p[0], Vec::new());
            let arguments =
                OdeArguments { graph, slope, method, control, start, values, initial_time, times };
            ode(g, arguments).unwrap()
        });
        let found = values(&g, &[solved], &[Tensor::vector(&[1.0])]);
        assert!(found[0].values().iter().all(|x| x.is_nan()), "{method:?}: {found:?}");
    }
}

#[test]
fn its_text_reads_back() {
    let (g, _, _) = expression(&[[2].into(), [2].into(), [].into(), [5].into()], &|g, p| {
        growth(g, p, OdeMethod::Adams, OdeControl { relative: 1e-6, ..TIGHT })
    });
    let text = print(&g);
    let line = "%6 = ode(%5) {solver=\"adams 1e-6 1e-12 1000000\", layout=[2, 2, 2, 1, 1, 1], slope=[%13]} \
                : real[5, 14] param {\n  %0 = input \"y\" : real[2] param\n";
    assert!(text.contains(line), "{text}");
    let read = parse(&text).unwrap();
    assert_eq!(verify(&read), Ok(()));
    assert_eq!(read, g);
    let wrong = text.replace("adams 1e-6", "euler 1e-6");
    let message = "`solver` must be a method, its tolerances and a number of steps";
    assert!(parse(&wrong).unwrap_err().message().ends_with(message));
}

/// $x_i^3 + v_0 x_i = v_1$ for two unknowns whose guesses are on one side.
fn cubic(g: &mut Graph, p: &[NodeId], tolerance: f64) -> NodeId {
    let mut body = Graph::new();
    let y = input(&mut body, "y", &[2]);
    let v = input(&mut body, "values", &[2]);
    let shape = Shape::from([2]);
    let [linear, constant] = [0, 1].map(|k| {
        let part = element(&mut body, v, k);
        body.broadcast_to(part, &shape)
    });
    let square = body.square(y);
    let sum = body.add(square, linear);
    let product = body.mul(y, sum);
    let residual = body.sub(product, constant);
    let control = RootControl { tolerance, max_steps: 100 };
    root(g, (body, residual), control, p[0], vec![p[1]]).unwrap()
}

#[test]
fn a_root_has_the_derivatives_of_the_implicit_function() {
    let parameters = [Tensor::vector(&[0.4, 3.0]), Tensor::vector(&[1.3, 2.1])];
    check_derivatives("root", &parameters, 1, &|g, p| cubic(g, p, 1e-6));
    let (mut g, inputs, found) =
        expression(&parameters.each_ref().map(|p| p.shape().clone()), &|g, p| cubic(g, p, 1e-6));
    let roots = values(&g, &[found], &parameters)[0].values().to_vec();
    for x in &roots {
        assert!((x * x * x + 1.3 * x - 2.1).abs() < 4e-16 * 4.0, "{x}");
    }
    // The root does not depend on the guess, nor does any derivative.
    let sum = g.sum(found);
    let gradient = differentiate(&mut g, sum, &inputs).unwrap();
    let gradient = values(&g, &gradient, &parameters);
    assert_eq!(gradient[0].values(), [0.0, 0.0]);
    // Its text reads back, and where nothing is small enough there is no root.
    let again = parse(&print(&g)).unwrap();
    assert_eq!(again, g);
    let (g, _, nothing) =
        expression(&parameters.each_ref().map(|p| p.shape().clone()), &|g, p| cubic(g, p, 1e-300));
    let lost = values(&g, &[nothing], &parameters);
    assert!(lost[0].values().iter().all(|x| x.is_nan()), "{lost:?}");
}
