//! Every density of `golden_densities.txt` (made by `golden_densities.py`): value, gradient, lanes;
//! what is dropped; what is checked.

use exmc_graph::{DType, Dependence, Graph, NodeId, Role, Shape, Tensor};
use exmc_model::{KnownSupports, Support};
use exmc_stan::library::{Argument, Density, LibraryError, density};
use exmc_stan::typed::Type;

use crate::library::harness::{
    Make, Row, arguments, check_gradient, check_lanes, near, rows, scaled, tensors, values,
};

fn table() -> Vec<Row> {
    rows(include_str!("golden_densities.txt"))
}

fn call(g: &mut Graph, name: &str, args: &[Argument]) -> Result<Density, LibraryError> {
    density(g, &mut KnownSupports::default(), name, args)
}

#[test]
fn values_are_those_of_scipy() {
    for row in table() {
        let mut g = Graph::new();
        let args = arguments(&mut g, &row.args, &|_| false, 0);
        let found = call(&mut g, &row.name, &args).unwrap_or_else(|e| panic!("{}: {e}", row.name));
        let number = found.number(&mut g);
        let mut nodes = vec![number.node];
        nodes.extend(found.checks.iter().map(|check| check.holds));
        let all = values(&g, &nodes, &tensors(&row.args));
        let (value, wanted) = (all[0].as_scalar().unwrap(), row.value.values[0]);
        // SciPy's own values are good to about 1e-13, its multivariate ones to about 1e-11.
        assert!(near(value, wanted, 1e-10), "{} {:?}: {value} {wanted}", row.name, row.args);
        for (check, holds) in found.checks.iter().zip(&all[1..]) {
            assert_eq!(holds.as_scalar(), Some(1.0), "{}: {}", row.name, check.message);
        }
    }
}

#[test]
fn gradients_are_those_of_differences() {
    // Differences move one element of a symmetric matrix at a time; factors read the lower triangle
    // only, and so do their derivatives.
    for row in table() {
        let make: Make<'_> = &|g, args| call(g, &row.name, args).map(|found| found.number(g));
        check_gradient(&row, make);
    }
}

#[test]
fn lanes_are_single_calls_stacked() {
    let mut singly = Vec::new();
    for row in table() {
        let vary = |lane: usize| scaled(&row.args, 1.0 + 0.01 * lane as f64);
        let make: Make<'_> = &|g, args| call(g, &row.name, args).map(|found| found.number(g));
        let made = check_lanes(&row.name, &row.args, &vary, make, 1e-10);
        let real = row.args.iter().filter(|a| !a.is_int()).count();
        if made != (1 << real) - 1 {
            singly.push(row.name.clone());
        }
    }
    singly.dedup();
    assert_eq!(singly, ["gaussian_dlm_obs_lpdf"], "these ask for one call a lane");
}

fn parameter(g: &mut Graph, name: &str, extents: &[usize]) -> NodeId {
    g.input(name, Role::Parameter, Shape::from(extents), DType::Real).unwrap()
}

fn argument(node: NodeId, ty: Type) -> Argument {
    Argument { node, ty, batched: false }
}

/// Value of a density of `y ~ normal(p0, sigma)` for an outcome and a scale that are constants.
fn with_known_scale(name: &str, mu: f64, sigma: f64) -> f64 {
    let mut g = Graph::new();
    let y = g.constant(Tensor::vector(&[0.4, -1.3]));
    let (mean, scale) = (parameter(&mut g, "p0", &[]), g.scalar(sigma));
    let args = [argument(y, Type::Vector), argument(mean, Type::Real), argument(scale, Type::Real)];
    let found = call(&mut g, name, &args).unwrap();
    assert!(found.checks.is_empty(), "a known positive scale needs no check");
    let number = found.number(&mut g);
    values(&g, &[number.node], &[Tensor::scalar(mu)])[0].as_scalar().unwrap()
}

#[test]
fn unnormalised_forms_drop_what_no_parameter_changes() {
    for mu in [0.0, 0.7] {
        let squares = (0.4_f64 - mu).powi(2) + (-1.3_f64 - mu).powi(2);
        let (normalised, kernel) =
            (with_known_scale("normal_lpdf", mu, 1.5), with_known_scale("normal_lupdf", mu, 1.5));
        assert!(near(kernel, -0.5 * squares / 2.25, 1e-14), "{kernel}");
        let constant = -2.0 * (1.5_f64.ln() + 0.5 * (2.0 * std::f64::consts::PI).ln());
        assert!(near(normalised, kernel + constant, 1e-14), "{normalised}");
    }
    // Stan's lognormal keeps the constant of the normal.
    let mut g = Graph::new();
    let (y, mu, sigma) = (g.scalar(2.0), parameter(&mut g, "p0", &[]), g.scalar(1.5));
    let args = [y, mu, sigma].map(|node| argument(node, Type::Real));
    let nodes = ["lognormal_lpdf", "lognormal_lupdf"].map(|name| {
        let found = call(&mut g, name, &args).unwrap();
        found.number(&mut g).node
    });
    let found = values(&g, &nodes, &[Tensor::scalar(0.3)]);
    let [normalised, kept] = [0, 1].map(|k| found[k].as_scalar().unwrap());
    assert!(near(normalised - kept, -(2.0_f64.ln()) - 1.5_f64.ln(), 1e-14), "{normalised} {kept}");
    // Nothing is left where no argument depends on a parameter.
    let mut g = Graph::new();
    let (y, zero, one) = (g.scalar(0.3), g.scalar(0.0), g.scalar(1.0));
    let args = [y, zero, one].map(|node| argument(node, Type::Real));
    let found = call(&mut g, "normal_lupdf", &args).unwrap();
    assert_eq!(g.as_uniform(found.value.node), Some(0.0));
}

#[test]
fn every_unnormalised_density_differs_by_a_constant() {
    for row in table().iter().filter(|row| row.name.ends_with("df") || row.name.ends_with("mf")) {
        let Some((base, kind)) = row.name.rsplit_once("_lp") else { continue };
        let dropped = format!("{base}_lup{kind}");
        // The last real argument is a parameter, all others are constants.
        let Some(last) = row.args.iter().rposition(|arg| !arg.is_int()) else { continue };
        let difference_at = |factor: f64| {
            let mut g = Graph::new();
            let mut args = arguments(&mut g, &row.args, &|_| false, 0);
            for (k, arg) in args.iter_mut().enumerate().filter(|(k, _)| *k != last) {
                let known = &row.args[k];
                let (shape, values) = (known.shape.clone(), known.values.clone());
                let tensor = if known.is_int() {
                    Tensor::int(shape, values)
                } else {
                    Tensor::real(shape, values)
                };
                arg.node = g.constant(tensor.unwrap());
            }
            let both = [row.name.as_str(), dropped.as_str()].map(|name| {
                let found = call(&mut g, name, &args).unwrap();
                found.number(&mut g).node
            });
            let changed = scaled(&row.args, factor);
            let found = values(&g, &both, &tensors(&changed));
            found[0].as_scalar().unwrap() - found[1].as_scalar().unwrap()
        };
        let (original, rescaled) = (difference_at(1.0), difference_at(1.01));
        assert!(near(original, rescaled, 1e-10), "{}: {original} {rescaled}", row.name);
    }
}

#[test]
fn checks_say_what_must_hold() {
    let mut g = Graph::new();
    let y = g.constant(Tensor::vector(&[0.4, -1.3]));
    let (mu, sigma) = (parameter(&mut g, "p0", &[]), parameter(&mut g, "p1", &[]));
    let args = [argument(y, Type::Vector), argument(mu, Type::Real), argument(sigma, Type::Real)];
    let found = call(&mut g, "normal_lpdf", &args).unwrap();
    let [check] = found.checks.as_slice() else { panic!("{:?}", found.checks) };
    assert_eq!(check.message, "parameter `sigma` of normal must be positive");
    let holds = |sigma: f64| {
        let inputs = [Tensor::scalar(0.0), Tensor::scalar(sigma)];
        values(&g, &[check.holds], &inputs)[0].as_scalar().unwrap()
    };
    assert_eq!([holds(1.0), holds(-1.0), holds(0.0)], [1.0, 0.0, 0.0]);

    // What is proven is not checked.
    let mut known = KnownSupports::default();
    known.state(sigma, Support::Positive);
    let proven = density(&mut g, &mut known, "normal_lpdf", &args).unwrap();
    assert!(proven.checks.is_empty());

    // A constant that is wrong is a check that is known not to hold.
    let negative = g.scalar(-2.0);
    let args =
        [argument(y, Type::Vector), argument(mu, Type::Real), argument(negative, Type::Real)];
    let wrong = call(&mut g, "normal_lpdf", &args).unwrap();
    assert_eq!(g.dependence(wrong.checks[0].holds), Dependence::Constant);
    assert_eq!(values(&g, &[wrong.checks[0].holds], &[])[0].as_scalar(), Some(0.0));
}

#[test]
fn degrees_of_freedom_of_matrices_are_checked() {
    let mut g = Graph::new();
    let w = g.constant(Tensor::real([2, 2], [1.4, -0.2, -0.2, 2.1]).unwrap());
    let nu = parameter(&mut g, "p0", &[]);
    let args = [argument(w, Type::Matrix), argument(nu, Type::Real), argument(w, Type::Matrix)];
    for name in ["wishart_lpdf", "inv_wishart_lpdf"] {
        let found = call(&mut g, name, &args).unwrap();
        let holds = |nu: f64| {
            let nodes: Vec<_> = found.checks.iter().map(|check| check.holds).collect();
            let found = values(&g, &nodes, &[Tensor::scalar(nu)]);
            found.iter().all(|holds| holds.as_scalar() == Some(1.0))
        };
        assert_eq!([holds(1.5), holds(1.0), holds(0.5)], [true, false, false], "{name}");
    }
}

fn identity() -> Tensor {
    Tensor::real([2, 2], [1.0, 0.0, 0.0, 1.0]).unwrap()
}

#[test]
fn matrices_without_a_factor_are_rejected() {
    let mut g = Graph::new();
    let y = g.constant(Tensor::vector(&[0.4, -1.3]));
    let (mu, sigma) = (parameter(&mut g, "p0", &[2]), parameter(&mut g, "p1", &[2, 2]));
    let args =
        [argument(y, Type::Vector), argument(mu, Type::Vector), argument(sigma, Type::Matrix)];
    for name in ["multi_normal_lpdf", "multi_normal_prec_lpdf"] {
        let found = call(&mut g, name, &args).unwrap();
        let nodes: Vec<_> = found.checks.iter().map(|check| check.holds).collect();
        let holds = |off: f64| {
            let sigma = Tensor::real([2, 2], [1.0, off, off, 1.0]).unwrap();
            let found = values(&g, &nodes, &[Tensor::vector(&[0.0, 0.0]), sigma]);
            found.iter().all(|holds| holds.as_scalar() == Some(1.0))
        };
        assert_eq!([holds(0.5), holds(1.5)], [true, false], "{name}");
        // Known matrices that have a factor leave no check behind.
        let (mu, unit) = (g.constant(Tensor::vector(&[0.0, 0.0])), g.constant(identity()));
        let args =
            [argument(y, Type::Vector), argument(mu, Type::Vector), argument(unit, Type::Matrix)];
        assert!(call(&mut g, name, &args).unwrap().checks.is_empty(), "{name}");
    }
}

#[test]
fn impossible_outcomes_of_mixtures_have_no_density() {
    let mut g = Graph::new();
    let (y, low, high) = (parameter(&mut g, "p0", &[]), g.scalar(0.0), g.scalar(2.0));
    let args = [y, low, high].map(|node| argument(node, Type::Real));
    let found = call(&mut g, "uniform_lpdf", &args).unwrap();
    let density_at =
        |y: f64| values(&g, &[found.value.node], &[Tensor::scalar(y)])[0].as_scalar().unwrap();
    assert!(near(density_at(1.0), -(2.0_f64.ln()), 1e-15));
    assert_eq!(density_at(3.0), f64::NEG_INFINITY);
}

#[test]
fn sizes_that_do_not_fit_are_told() {
    let mut g = Graph::new();
    let (y, mu) = (parameter(&mut g, "p0", &[3]), parameter(&mut g, "p1", &[2]));
    let one = g.scalar(1.0);
    let args = [argument(y, Type::Vector), argument(mu, Type::Vector), argument(one, Type::Real)];
    let error = call(&mut g, "normal_lpdf", &args).unwrap_err().to_string();
    assert_eq!(error, "sizes [3] and [2] do not match");
    let error = call(&mut g, "wiener_lpdf", &args).unwrap_err().to_string();
    assert_eq!(error, "the distribution `wiener` is not available for parameters yet");
}
