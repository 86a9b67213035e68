//! Whole models against log densities written by hand in numpy (`tests/data/oracle.py`): with and
//! without Jacobians, through the lowered inverse; gradients; and the same bits for any order of
//! declaration.

use exmc_graph::{DType, Shape, Tensor, differentiate, evaluate};
use exmc_model::distributions as d;
use exmc_model::{
    Expr, LowerOptions, Lowered, ModelBuilder, Support, TransformSpec, lower, rewrite,
};

use crate::adversarial::harness::{Values, at_position, position};

const ORACLE: &str = include_str!("../data/oracle.csv");

/// One declaration; a model is a list of them, so that they can be shuffled.
type Declare = Box<dyn Fn(&mut ModelBuilder)>;

fn n(name: &str) -> Expr {
    Expr::name(name)
}

fn matrix(rows: usize, columns: usize, values: &[f64]) -> Tensor {
    Tensor::real([rows, columns], values).unwrap()
}

fn ints(values: &[f64]) -> Tensor {
    Tensor::int([values.len()], values).unwrap()
}

fn x() -> Tensor {
    matrix(5, 2, &[1.0, 0.5, 0.2, -1.0, -0.7, 0.3, 1.5, 2.0, 0.0, 1.0])
}

const Y: [f64; 5] = [0.3, -1.2, 0.8, 2.5, 0.1];

macro_rules! declare {
    ($(|$m:ident| $body:expr),* $(,)?) => {
        vec![$(Box::new(|$m: &mut ModelBuilder| {
            let _ = $body;
        }) as Declare),*]
    };
}

fn declarations(model: &str) -> Vec<Declare> {
    match model {
        "schools" => declare![
            |m| m.rv("mu", d::normal(0.0, 5.0)),
            |m| m.rv("tau", d::half_cauchy(5.0)),
            |m| m.plate("J", 8),
            |m| m.rv("theta", d::normal("mu", "tau")).over(["J"]),
            |m| m.rv("y", d::normal("theta", [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])),
            |m| m.observe("o", "y", [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]),
        ],
        "groups" => declare![
            |m| m.data("X", x()),
            |m| m.data("group", ints(&[0.0, 2.0, 1.0, 1.0, 0.0])),
            |m| m.rv("s", d::half_normal(1.0)),
            |m| m.rv("sigma", d::exponential(1.0)),
            |m| m.rv("alpha", d::normal(0.0, "s")).shape([3]),
            |m| m.rv("beta", d::student_t(4.0, 0.0, 2.5)).shape([2]),
            |m| m.det("eta", n("alpha").gather("group") + n("X").matmul("beta")),
            |m| m.rv("y", d::normal("eta", "sigma")),
            |m| m.observe("o", "y", Y),
        ],
        "ordered" => declare![
            |m| m.rv("b", d::normal(0.0, 2.0)),
            |m| m.rv("cut", d::normal(0.0, 3.0)).shape([3]).transform(TransformSpec::Ordered),
            |m| m.rv(
                "y",
                d::ordered_logistic(n("b") * Expr::from([0.5, -1.0, 0.3, 2.0, 1.0]), "cut")
            ),
            |m| m.observe("o", "y", ints(&[0.0, 3.0, 1.0, 2.0, 1.0])),
        ],
        "mixture" => declare![
            |m| m.rv("w", d::dirichlet([2.0, 3.0, 4.0])),
            |m| m.rv("mu", d::normal(0.0, 2.0)).shape([3]).transform(TransformSpec::Ordered),
            |m| m.rv("sigma", d::gamma(2.0, 3.0)),
            |m| m
                .rv(
                    "y",
                    d::mixture("w", [0, 1, 2].map(|k| d::normal(n("mu").at(k), "sigma")).to_vec())
                )
                .shape([5]),
            |m| m.observe("o", "y", Y),
        ],
        "truncated" => declare![
            |m| m.rv("mu", d::normal(0.0, 1.0)),
            |m| m.rv("y", d::truncated(d::normal("mu", 1.5), Some(0.0.into()), None)).shape([3]),
            |m| m.observe("o", "y", [0.2, 1.7, 3.0]),
            |m| m.rv(
                "z",
                d::truncated(d::normal("mu", 2.0), Some((-1.0).into()), Some(n("mu") + 4.0))
            ),
        ],
        "missing" => declare![
            |m| m.rv("a", d::exponential(1.0)),
            |m| m.rv("x", d::gamma("a", 1.5)).shape([4]),
            |m| m.observe_partly("o", "x", &[Some(0.7), None, Some(1.9), None]),
        ],
        "plates" => declare![
            |m| m.plate("rows", 2),
            |m| m.plate("columns", 3),
            |m| m.rv("mu", d::normal(0.0, 1.0)).over(["columns"]),
            |m| m.rv("row", d::normal(0.0, 2.0)).over(["rows"]),
            |m| m.rv("s", d::lognormal(0.0, 0.5)),
            |m| m.rv("x", d::normal("mu", "s")).over(["rows", "columns"]),
            |m| m.rv("y", d::normal(n("x") + n("row").reshape([2, 1]), 0.8)),
            |m| m.observe("o", "y", matrix(2, 3, &[0.1, 0.2, 0.3, 1.0, 2.0, 3.0])),
        ],
        "transforms" => declare![
            |m| m.rv("a", d::half_normal(2.0)).transform(TransformSpec::Log),
            |m| m.rv("b", d::exponential(2.0)).transform(TransformSpec::Softplus),
            |m| m
                .rv("c", d::beta(2.0, 3.0))
                .transform(TransformSpec::Interval(0.0.into(), 1.0.into())),
            |m| m.rv("d", d::normal(1.0, 2.0)).transform(TransformSpec::Lower(2.0.into())),
            |m| m.rv("e", d::normal("a", 1.0)).transform(TransformSpec::Upper(0.5.into())),
        ],
        "nested" => declare![
            |m| m.rv("s", d::half_normal(1.0)),
            |m| m.rv("t", d::weibull(2.0, 1.5)),
            |m| m.rv("a", d::normal(0.0, 1.0)),
            |m| m.rv("b", d::normal("a", "s")).shape([2]).non_centred(),
            |m| m.rv("c", d::laplace("b", "t")).non_centred(),
            |m| m.rv("d", d::normal("c", n("s") * n("t"))).non_centred(),
            |m| m.rv("y", d::normal("d", 1.0)),
            |m| m.observe("o", "y", [0.5, -0.5]),
        ],
        "bounds" => declare![
            |m| m.rv("a", d::uniform(-1.0, 3.0)),
            |m| m.rv("b", d::uniform("a", n("a") + 5.0)),
            |m| m.rv("c", d::beta(2.0, "b")),
            |m| m.rv("y", d::normal(n("a") * n("b"), "c")),
            |m| m.observe("o", "y", 0.5),
        ],
        "indices" => declare![
            |m| m.data("k", ints(&[1.0, 3.0, 2.0, 3.0])),
            |m| m.det("from_zero", n("k") - 1),
            |m| m.det("alias", n("from_zero")),
            |m| m.rv("theta", d::normal(0.0, 1.0)).shape([3]),
            |m| m.rv("s", d::half_normal(1.0)),
            |m| m.rv("y", d::normal(n("theta").gather("alias"), "s")),
            |m| m.det("again", n("y")),
            |m| m.det("and_again", n("again")),
            |m| m.observe("o", "and_again", [0.0, 1.0, 2.0, 3.0]),
        ],
        "potential" => declare![
            |m| m.rv("x", d::normal(0.0, "s")).shape([3]),
            |m| m.rv("s", d::exponential(1.0)),
            |m| m.potential("p", n("x").square() * -0.3),
            |m| m.potential("q", Expr::call("log_add_exp", [n("x").at(0), n("s")])),
        ],
        "custom" => declare![
            |m| m.rv("b", d::exponential(1.0)),
            |m| m.rv("x", gompertz()).shape([2]),
            |m| m.rv("y", gompertz()).shape([3]),
            |m| m.observe("o", "y", [0.3, 0.9, 1.4]),
        ],
        "slope" => declare![
            |m| m.rv("a", d::exponential(1.0)),
            |m| m.rv("b", d::normal(0.0, 1.0)),
            |m| m.rv("x", d::student_t(5.0, 0.0, 1.0)),
            |m| m.det("y", n("a") * n("x") + n("b")),
            |m| m.observe("o", "y", 1.7),
        ],
        "lkj" => declare![
            |m| m.rv("L", d::lkj_corr_cholesky(1.5)).shape([3, 3]),
            |m| m.rv("mu", d::normal(0.0, 2.0)).shape([3]),
            |m| m.rv("scale", d::lognormal(0.0, 0.5)).shape([3]),
            |m| m.det("S", n("scale").reshape([3, 1]) * n("L")),
            |m| m.rv("y", d::multi_normal_cholesky("mu", "S")).shape([4, 3]),
            |m| m.observe(
                "o",
                "y",
                matrix(4, 3, &[0.1, 0.4, -1.0, 1.0, 2.0, 0.0, 0.3, 0.1, 0.2, -1.0, -1.0, 1.0])
            ),
        ],
        "autoregression" => declare![
            |m| m.rv("phi", d::normal(0.0, 0.5)).shape([2]),
            |m| m.rv("sigma", d::half_normal(1.0)),
            |m| m.rv("c", d::normal(0.0, 1.0)),
            |m| m.rv("y", d::family("ar", vec![n("phi"), n("sigma"), n("c")])).shape([6]),
            |m| m.observe("o", "y", [0.3, 0.1, -0.4, 0.9, 1.1, 0.2]),
        ],
        "walk" => declare![
            |m| m.rv("s", d::half_normal(1.0)),
            |m| m.rv("x", d::gaussian_random_walk("s", 1.2)).shape([5]),
            |m| m.rv("y", d::poisson_log("x")),
            |m| m.observe("o", "y", [0.0, 1.0, 3.0, 2.0, 5.0]),
        ],
        "matrix" => declare![
            |m| m.rv("s", d::half_normal(1.0)),
            |m| m.rv("mu", d::normal(0.0, 1.0)),
            |m| m.rv("x", d::normal([0.0, 0.0], "s")),
            |m| m.det("y", Expr::from(matrix(2, 2, &[2.0, 1.0, 0.0, 3.0])).matmul("x") + n("mu")),
            |m| m.observe("o", "y", [1.0, 1.5]),
        ],
        "counts" => declare![
            |m| m.rv("p", d::beta(1.0, 2.0)),
            |m| m.rv("m", d::gamma(2.0, 1.0)),
            |m| m.rv("phi", d::exponential(1.0)),
            |m| m.rv("k", d::zero_inflated(d::poisson("m"), "p")).shape([4]),
            |m| m.observe("o", "k", ints(&[0.0, 3.0, 0.0, 1.0])).weight([1.0, 0.5, 2.0, 1.0]),
            |m| m.rv("l", d::negative_binomial("m", "phi")).shape([4]),
            |m| m.observe("q", "l", [0.0, 3.0, 0.0, 1.0]).mask([1.0, 1.0, 0.0, 1.0]),
        ],
        "lifetimes" => declare![
            |m| m.rv("k", d::exponential(1.0)),
            |m| m.rv("s", d::exponential(1.0)),
            |m| m.rv("y", d::weibull("k", "s")).shape([4]),
            |m| m
                .observe("o", "y", [0.5, 1.2, 0.3, 1.0])
                .censoring([0.0, 1.0, -1.0, 2.0], Some([9.0, 9.0, 9.0, 2.0].into())),
        ],
        "softmax" => declare![
            |m| m.declare_data("X", DType::Real, Shape::from([5, 2])),
            |m| m.rv("B", d::normal(0.0, 1.0)).shape([2, 3]),
            |m| m.rv("y", d::categorical_logit(n("X").matmul("B"))),
            |m| m.observe("o", "y", ints(&[0.0, 2.0, 1.0, 1.0, 0.0])),
        ],
        "directions" => declare![
            |m| m.rv("t", d::von_mises(0.5, 2.0)),
            |m| m.rv("kappa", d::exponential(1.0)),
            |m| m.rv("xi", d::skew_normal(0.5, 1.5, 2.0)),
            |m| m.rv("g", d::gumbel("xi", 2.0)),
            |m| m.rv("y", d::von_mises("t", "kappa")).shape([2]),
            |m| m.observe("o", "y", [0.1, -2.0]),
        ],
        "trials" => declare![
            |m| m.rv("p", d::beta("a", 2.0)),
            |m| m.rv("a", d::inverse_gamma(3.0, 2.0)),
            |m| m.rv("q", d::pareto(1.0, "a")),
            |m| m.rv("u", d::logistic(0.0, 1.0)),
            |m| m.rv("k", d::binomial([5.0, 9.0], "p")),
            |m| m.observe("o", "k", [2.0, 9.0]),
            |m| m.rv("v", d::bernoulli_logit("u")).shape([3]),
            |m| m.observe("ov", "v", [0.0, 1.0, 1.0]),
        ],
        "sums" => declare![
            |m| m.rv("a", d::normal(0.0, 1.0)),
            |m| m.rv("b", d::normal(0.0, 2.0)),
            |m| m.det("sum", n("a") + n("b")),
            |m| m.observe("o", "sum", 1.5),
            |m| m.rv("c", d::normal("b", 1.3)),
        ],
        other => panic!("the oracle has a model `{other}` that is not here"),
    }
}

fn gompertz() -> exmc_model::DistSpec {
    let (b, v) = (n("b"), n("value"));
    let logp = b.clone().log() + v.clone() - b * v.expm1();
    d::custom([("b", n("b"))], Support::Positive, logp, None)
}

fn lowered(model: &str, jacobian: bool, order: impl Fn(usize) -> usize) -> Lowered {
    let parts = declarations(model);
    let mut m = ModelBuilder::new();
    (0..parts.len()).for_each(|k| parts[order(k)](&mut m));
    let mut options = LowerOptions::default();
    options.jacobian = jacobian;
    lower(&rewrite(&m.build().unwrap(), &[]).unwrap(), options).unwrap()
}

struct Row {
    model: String,
    logp: [f64; 2],
    values: Vec<(String, Vec<f64>)>,
}

fn rows() -> Vec<Row> {
    let read = |text: &str| text.parse::<f64>().unwrap();
    let lines = ORACLE.lines().skip(1);
    let rows = lines.map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let pairs = fields[3].split(';').map(|pair| {
            let (name, values) = pair.split_once('=').unwrap();
            (name.to_owned(), values.split(' ').map(read).collect())
        });
        Row {
            model: fields[0].to_owned(),
            logp: [read(fields[1]), read(fields[2])],
            values: pairs.collect(),
        }
    });
    rows.collect()
}

/// The row's values as tensors of the model's shapes, and all data.
fn values(row: &Row, lowered: &Lowered) -> Values {
    let mut all = Values::from([
        ("X".to_owned(), x()),
        ("group".to_owned(), ints(&[0.0, 2.0, 1.0, 1.0, 0.0])),
        ("k".to_owned(), ints(&[1.0, 3.0, 2.0, 3.0])),
    ]);
    for (name, values) in &row.values {
        let graph = &lowered.inverse.graph;
        let input = graph.find_input(name);
        let shape = input.map_or(Shape::from([values.len()]), |id| graph.shape(id).clone());
        all.insert(name.clone(), Tensor::real(shape, values.as_slice()).unwrap());
    }
    all
}

/// Ten digits: numpy's own special functions have twelve to fourteen.
#[test]
fn densities_equal_those_written_by_hand() {
    let rows = rows();
    assert!(rows.len() >= 70);
    for row in rows {
        for (jacobian, expected) in [(false, row.logp[0]), (true, row.logp[1])] {
            let lowered = lowered(&row.model, jacobian, |k| k);
            let values = values(&row, &lowered);
            let position = position(&lowered, &values);
            let found = at_position(&lowered, &position, &values);
            assert!(
                (found - expected).abs() <= 1e-10 * (1.0 + expected.abs()),
                "{}, Jacobian {jacobian}: {found} against {expected} at {:?}",
                row.model,
                row.values
            );
        }
    }
}

/// Five-point differences with step 1e-3 are right to about 1e-11 times a fifth derivative.
#[test]
fn gradients_equal_differences() {
    for row in rows() {
        let mut lowered = lowered(&row.model, true, |k| k);
        let values = values(&row, &lowered);
        let coordinates = position(&lowered, &values);
        let inputs: Vec<_> = lowered.layout.iter().map(|e| e.input).collect();
        let gradient = differentiate(&mut lowered.graph, lowered.logp, &inputs).unwrap();
        let look_up = |name: &str| {
            let entry = lowered.layout.iter().find(|e| e.name == name);
            let parameter = entry.map(|e| {
                let part = &coordinates[e.offset..e.offset + e.unconstrained.len()];
                Tensor::real(e.unconstrained.clone(), part).unwrap()
            });
            parameter.or_else(|| values.get(name).cloned())
        };
        let found = evaluate(&lowered.graph, &gradient, &look_up).unwrap();
        let found: Vec<f64> = found.iter().flat_map(|t| t.values().to_vec()).collect();
        assert_eq!(found.len(), lowered.dim);
        for k in 0..lowered.dim {
            let moved = |steps: f64| {
                let mut point = coordinates.clone();
                point[k] += steps * 1e-3;
                at_position(&lowered, &point, &values)
            };
            let expected =
                (8.0 * (moved(1.0) - moved(-1.0)) - (moved(2.0) - moved(-2.0))) / (12.0 * 1e-3);
            assert!(
                (found[k] - expected).abs() <= 1e-7 * (1.0 + expected.abs()),
                "{}: d/d[{k}] {} against {expected} at {coordinates:?}",
                row.model,
                found[k]
            );
        }
    }
}

/// Reversed and rotated declarations give the same layout and the same bits.
#[test]
fn the_order_of_declaration_changes_no_bit() {
    for row in rows() {
        let count = declarations(&row.model).len();
        let plain = lowered(&row.model, true, |k| k);
        let values = values(&row, &plain);
        let coordinates = position(&plain, &values);
        let expected = at_position(&plain, &coordinates, &values);
        let orders: [&dyn Fn(usize) -> usize; 3] =
            [&|k| count - 1 - k, &|k| (k + 1) % count, &|k| (k + count / 2) % count];
        for order in orders {
            let shuffled = lowered(&row.model, true, order);
            let places = |l: &Lowered| {
                let place = |e: &exmc_model::LayoutEntry| (e.name.clone(), e.offset);
                l.layout.iter().map(place).collect::<Vec<_>>()
            };
            assert_eq!(places(&shuffled), places(&plain), "{}", row.model);
            let again = position(&shuffled, &values);
            assert_eq!(again, coordinates, "{}", row.model);
            let found = at_position(&shuffled, &coordinates, &values);
            assert_eq!(found.to_bits(), expected.to_bits(), "{}", row.model);
        }
    }
}
