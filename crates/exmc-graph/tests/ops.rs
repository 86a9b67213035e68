//! The table of operations: one row for each, with its meaning and derivatives against independent
//! values (50-digit arithmetic, closed forms, differences). A variant without a row fails the test.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "expected values are computed independently")]

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{check_derivatives, expression, five_point, values};
use exmc_graph::{Binary, Graph, NodeId, Op, Shape, Tensor, Ternary, Unary, differentiate};

/// One line of `data/ops.csv`.
struct Row {
    args: Vec<f64>,
    value: f64,
    partials: Vec<f64>,
}

fn rows() -> BTreeMap<String, Vec<Row>> {
    let mut rows: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for line in include_str!("data/ops.csv").lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let numbers = |range: std::ops::Range<usize>| -> Vec<f64> {
            let given = cells[range].iter().filter(|c| !c.is_empty());
            given.map(|c| c.parse().unwrap()).collect()
        };
        let row = Row { args: numbers(1..4), value: numbers(4..5)[0], partials: numbers(5..8) };
        rows.entry(cells[0].to_owned()).or_default().push(row);
    }
    rows
}

/// Every elementwise operation by name.
fn elementwise() -> BTreeMap<&'static str, Op> {
    let unary = Unary::ALL.iter().map(|&f| (f.name(), Op::Unary(f)));
    let binary = Binary::ALL.iter().map(|&f| (f.name(), Op::Binary(f)));
    let ternary = Ternary::ALL.iter().map(|&f| (f.name(), Op::Ternary(f)));
    unary.chain(binary).chain(ternary).collect()
}

/// An elementwise operation of scalar parameters, with its gradient.
fn scalar_op(op: &Op, arity: usize) -> (Graph, Vec<NodeId>, NodeId) {
    let op = op.clone();
    expression(&vec![Shape::scalar(); arity], &move |g, inputs| {
        g.apply(op.clone(), inputs).unwrap()
    })
}

fn values_at(g: &Graph, nodes: &[NodeId], args: &[f64]) -> Vec<f64> {
    let parameters: Vec<_> = args.iter().map(|&x| Tensor::scalar(x)).collect();
    values(g, nodes, &parameters).iter().map(|t| t.as_scalar().unwrap()).collect()
}

/// Special functions reach 1e-13 relative (their own tables in exmc-math are finer); derivatives
/// with respect to shape parameters of incomplete functions are promised to 1e-10.
fn tolerance(name: &str) -> f64 {
    if name.ends_with("_da") || name.ends_with("_db") { 1e-10 } else { 1e-13 }
}

fn agrees(found: f64, expected: f64, tolerance: f64) -> bool {
    found == expected || (found - expected).abs() <= tolerance * expected.abs()
}

#[test]
fn elementwise_values_agree_with_fifty_digits() {
    let rows = rows();
    let ops = elementwise();
    let missing: Vec<_> = ops.keys().filter(|name| !rows.contains_key(**name)).collect();
    assert!(missing.is_empty(), "no rows for {missing:?}");
    let mut wrong = Vec::new();
    for (name, rows) in &rows {
        let op = &ops[name.as_str()];
        for row in rows {
            let (g, _, y) = scalar_op(op, row.args.len());
            let found = values_at(&g, &[y], &row.args)[0];
            let (args, value) = (&row.args, row.value);
            if !agrees(found, value, tolerance(name)) {
                wrong.push(format!("{name}{args:?}: {found}, not {value}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn elementwise_derivatives_agree_with_fifty_digits() {
    let ops = elementwise();
    let (mut without, mut wrong) = (BTreeSet::new(), Vec::new());
    for (name, rows) in rows() {
        for row in &rows {
            if row.partials.is_empty() {
                without.insert(name.clone());
                continue;
            }
            let (mut g, inputs, y) = scalar_op(&ops[name.as_str()], row.args.len());
            let gradient = differentiate(&mut g, y, &inputs).unwrap();
            let found = values_at(&g, &gradient, &row.args);
            for (k, (&found, &expected)) in found.iter().zip(&row.partials).enumerate() {
                // Rules are built from other operations: a few roundings each, absolute below one.
                let near = (found - expected).abs() <= 1e-10 * expected.abs().max(1e-2);
                let args = &row.args;
                if !near {
                    wrong.push(format!("{name}{args:?}, argument {k}: {found}, not {expected}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // Constant between steps, or without a derivative.
    let expected = [
        "and",
        "ceil",
        "eq",
        "floor",
        "is_finite",
        "le",
        "log_beta_inc_da",
        "log_beta_inc_db",
        "log_gamma_p_da",
        "log_gamma_q_da",
        "lt",
        "ne",
        "not",
        "or",
        "round",
        "sign",
        "tetragamma",
    ];
    assert!(without.iter().map(String::as_str).eq(expected), "{without:?}");
}

/// Where second differences are well conditioned: a domain for each argument.
fn smooth_domain(name: &str) -> Option<Vec<[f64; 2]>> {
    Some(match name {
        "neg" | "exp" | "expm1" | "square" | "sin" | "cos" | "atan" | "sinh" | "cosh" | "tanh"
        | "inv_logit" | "softplus" | "erf" | "erfc" | "std_normal_lcdf" | "log_bessel_i0" => {
            vec![[-2.0, 2.0]]
        }
        "abs" | "sqrt" | "log" | "reciprocal" | "lgamma" => vec![[0.5, 3.0]],
        "log1p" | "bessel_i1_i0" => vec![[0.2, 3.0]],
        // Its second derivative needs the fourth polygamma function.
        "digamma" | "lambert_w0" => vec![[0.5, 3.0]],
        "lambert_wm1" => vec![[-0.2, -0.18]],
        "tan" => vec![[-1.0, 1.0]],
        "asin" | "acos" => vec![[-0.7, 0.7]],
        "log1m_exp" => vec![[-3.0, -0.4]],
        "inv_Phi" => vec![[0.15, 0.85]],
        "add" | "sub" | "mul" | "log_add_exp" | "log_add_exp_share" => vec![[-2.0, 2.0]; 2],
        "min" => vec![[-2.0, -0.1], [0.1, 2.0]],
        "max" => vec![[-2.0, -0.1], [0.1, 2.0]],
        "div" => vec![[-2.0, 2.0], [0.5, 2.0]],
        "pow" => vec![[0.5, 2.0], [-2.0, 2.0]],
        "log_diff_exp" => vec![[1.0, 3.0], [-2.0, 0.0]],
        "atan2" => vec![[-2.0, 2.0], [0.5, 2.0]],
        "lbeta" | "digamma_rise" => vec![[0.6, 3.0]; 2],
        "owens_t" => vec![[-2.0, 2.0], [-1.5, 1.5]],
        "select" => vec![[0.1, 1.0], [-2.0, 2.0], [-2.0, 2.0]],
        _ => return None,
    })
}

/// Numbers in (0, 1) that look irregular.
fn fraction(k: usize) -> f64 {
    (k as f64 * 0.618_033_988_749_894_9 + 0.137).fract()
}

#[test]
fn second_derivatives_agree_with_differences() {
    let mut without = BTreeSet::new();
    for (name, op) in elementwise() {
        let Some(domain) = smooth_domain(name) else {
            without.insert(name);
            continue;
        };
        let parameters: Vec<_> = domain
            .iter()
            .enumerate()
            .map(|(k, [lo, hi])| {
                let value = |i: usize| lo + (hi - lo) * fraction(7 * i + 31 * k + 1);
                Tensor::vector(&(0..6).map(value).collect::<Vec<_>>())
            })
            .collect();
        check_derivatives(name, &parameters, 2, &|g, inputs| g.apply(op.clone(), inputs).unwrap());
    }
    let expected = [
        "and",
        // Its order is whole.
        "bessel_j",
        "bessel_y",
        "beta_inc_inverse",
        "ceil",
        "eq",
        "floor",
        "fmod",
        "is_finite",
        "le",
        "log_beta_inc",
        "log_beta_inc_da",
        "log_beta_inc_db",
        "log_gamma_p",
        "log_gamma_p_da",
        "log_gamma_q",
        "log_gamma_q_da",
        "lt",
        "ne",
        "not",
        "or",
        "round",
        "sign",
        "std_normal_log_qf",
        "student_t_quantile",
        "tetragamma",
        "trigamma",
    ];
    assert!(without.iter().copied().eq(expected), "{without:?}");
}

#[test]
fn derivatives_with_respect_to_the_last_argument_go_on() {
    // d log P / dx is made of graph operations, so it can be differentiated in x, though not in a.
    for (name, args) in [
        ("log_gamma_p", vec![2.3, 1.7]),
        ("log_gamma_q", vec![1.4, 2.2]),
        ("log_beta_inc", vec![1.6, 2.4, 0.35]),
    ] {
        let (mut g, inputs, y) = scalar_op(&elementwise()[name], args.len());
        let x = *inputs.last().unwrap();
        let first = differentiate(&mut g, y, &[x]).unwrap()[0];
        let second = differentiate(&mut g, first, &[x]).unwrap()[0];
        let f = |x: f64| {
            let mut moved = args.clone();
            *moved.last_mut().unwrap() = x;
            values_at(&g, &[first], &moved)[0]
        };
        let expected = five_point(&f, *args.last().unwrap(), 1e-3);
        let found = values_at(&g, &[second], &args)[0];
        assert!(
            (found - expected).abs() <= 1e-8 * expected.abs().max(1.0),
            "{name}: {found} {expected}"
        );
    }
    let (mut g, inputs, y) = scalar_op(&elementwise()["log_gamma_p"], 2);
    let first = differentiate(&mut g, y, &inputs).unwrap()[0];
    let error = differentiate(&mut g, first, &inputs).unwrap_err();
    assert_eq!(error.message(), "log_gamma_p_da has no derivative");
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

fn same(found: f64, expected: f64) -> bool {
    found == expected || (found.is_nan() && expected.is_nan())
}

#[test]
fn edges_have_their_documented_values() {
    let table: &[(&str, &[f64], f64)] = &[
        ("abs", &[-INF], INF),
        ("sign", &[-0.0], 0.0),
        ("sign", &[NAN], NAN),
        ("round", &[-2.5], -3.0),
        ("not", &[NAN], 0.0),
        ("is_finite", &[NAN], 0.0),
        ("is_finite", &[-INF], 0.0),
        ("is_finite", &[1e308], 1.0),
        ("exp", &[-INF], 0.0),
        ("exp", &[710.0], INF),
        ("log", &[0.0], -INF),
        ("log", &[-1.0], NAN),
        ("log", &[5e-324], -744.440_071_921_381_2),
        ("log1p", &[-1.0], -INF),
        ("sqrt", &[-1.0], NAN),
        ("reciprocal", &[0.0], INF),
        ("inv_logit", &[-INF], 0.0),
        ("inv_logit", &[INF], 1.0),
        ("softplus", &[-INF], 0.0),
        ("softplus", &[INF], INF),
        ("log1m_exp", &[0.0], -INF),
        ("log1m_exp", &[1.0], NAN),
        ("log1m_exp", &[-INF], 0.0),
        ("lgamma", &[0.0], INF),
        ("lgamma", &[INF], INF),
        ("erfc", &[-INF], 2.0),
        ("std_normal_lcdf", &[-INF], -INF),
        ("std_normal_lcdf", &[INF], 0.0),
        ("inv_Phi", &[0.0], -INF),
        ("inv_Phi", &[1.0], INF),
        ("inv_Phi", &[2.0], NAN),
        ("bessel_i1_i0", &[0.0], 0.0),
        ("log_bessel_i0", &[0.0], 0.0),
        ("pow", &[0.0, 0.0], 1.0),
        ("pow", &[-2.0, 3.0], -8.0),
        ("min", &[NAN, 1.0], NAN),
        ("min", &[1.0, NAN], NAN),
        ("max", &[1.0, NAN], NAN),
        ("max", &[NAN, 1.0], NAN),
        ("log_add_exp", &[-INF, -INF], -INF),
        ("log_add_exp", &[-INF, 2.0], 2.0),
        ("log_add_exp", &[INF, 2.0], INF),
        ("log_diff_exp", &[1.0, 1.0], -INF),
        ("log_diff_exp", &[1.0, 2.0], NAN),
        ("log_diff_exp", &[1.0, -INF], 1.0),
        ("log_diff_exp", &[-INF, -INF], -INF),
        ("lt", &[NAN, 1.0], 0.0),
        ("ne", &[NAN, NAN], 1.0),
        ("and", &[NAN, 1.0], 1.0),
        ("select", &[0.0, NAN, 1.0], 1.0),
        ("select", &[NAN, 2.0, 1.0], 2.0),
        ("log_gamma_p", &[2.0, 0.0], -INF),
        ("log_gamma_q", &[2.0, 0.0], 0.0),
        ("log_beta_inc", &[2.0, 3.0, 0.0], -INF),
        ("log_beta_inc", &[2.0, 3.0, 1.0], 0.0),
        ("owens_t", &[1.0, 0.0], 0.0),
        ("digamma_rise", &[1.0, 0.0], 0.0),
        ("digamma_rise", &[0.0, 1.0], INF),
        ("digamma_rise", &[INF, 1.0], 0.0),
        ("digamma_rise", &[-1.0, 3.0], NAN),
        ("log_add_exp_share", &[-INF, -INF], 0.0),
        ("log_add_exp_share", &[-INF, 1.0], 0.0),
        ("log_add_exp_share", &[1.0, -INF], 1.0),
        ("log_add_exp_share", &[NAN, -INF], NAN),
    ];
    let mut wrong = Vec::new();
    for (name, args, expected) in table {
        let (g, _, y) = scalar_op(&elementwise()[name], args.len());
        let found = values_at(&g, &[y], args)[0];
        if !same(found, *expected) {
            wrong.push(format!("{name}{args:?} is {found}, expected {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn edges_have_their_documented_derivatives() {
    let table: &[(&str, &[f64], &[f64])] = &[
        ("abs", &[0.0], &[0.0]),
        ("abs", &[-0.0], &[0.0]),
        ("log", &[0.0], &[INF]),
        ("sqrt", &[0.0], &[0.0]),
        ("log1p", &[-1.0], &[INF]),
        ("log1m_exp", &[0.0], &[-INF]),
        ("log1m_exp", &[-0.0], &[-INF]),
        ("log1m_exp", &[-INF], &[0.0]),
        ("asin", &[1.0], &[INF]),
        ("floor", &[2.0], &[0.0]),
        ("inv_Phi", &[0.0], &[INF]),
        ("std_normal_lcdf", &[-INF], &[INF]),
        ("std_normal_lcdf", &[INF], &[0.0]),
        ("bessel_i1_i0", &[0.0], &[0.5]),
        ("min", &[1.0, 1.0], &[1.0, 0.0]),
        ("max", &[1.0, 1.0], &[1.0, 0.0]),
        ("pow", &[0.0, 2.0], &[0.0, 0.0]),
        ("pow", &[0.0, 1.0], &[1.0, 0.0]),
        ("pow", &[0.0, 0.0], &[0.0, 0.0]),
        ("pow", &[0.0, 0.5], &[INF, 0.0]),
        ("pow", &[-2.0, 3.0], &[12.0, NAN]),
        ("log_add_exp", &[-INF, -INF], &[0.0, 0.0]),
        ("log_add_exp", &[-INF, 2.0], &[0.0, 1.0]),
        ("log_add_exp", &[2.0, -INF], &[1.0, 0.0]),
        ("log_diff_exp", &[1.0, 1.0], &[INF, -INF]),
        ("log_diff_exp", &[1.0, -INF], &[1.0, 0.0]),
        ("div", &[1.0, 0.0], &[INF, -INF]),
        ("eq", &[1.0, 1.0], &[0.0, 0.0]),
        ("select", &[1.0, 2.0, 3.0], &[0.0, 1.0, 0.0]),
        ("log_gamma_q", &[1.0, 0.0], &[0.0, -1.0]),
    ];
    let mut wrong = Vec::new();
    for (name, args, expected) in table {
        let (mut g, inputs, y) = scalar_op(&elementwise()[name], args.len());
        let gradient = differentiate(&mut g, y, &inputs).unwrap();
        let found = values_at(&g, &gradient, args);
        let all = found.iter().zip(*expected).all(|(&f, &e)| same(f, e));
        if !all {
            wrong.push(format!("derivatives of {name}{args:?}: {found:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
