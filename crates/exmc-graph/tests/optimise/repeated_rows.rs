//! Merging rows: which are the same, what is left of the others, and where nothing is gained.

use exmc_graph::{Dependence, Graph, NodeId, Op, Shape, Tensor, Unary, evaluate, optimise, print};

use crate::optimise::models::*;
use crate::optimise::{elements, only};

/// What merging alone makes of a sum, and whether it did anything.
fn merged(graph: &Graph, root: NodeId) -> (Graph, NodeId, bool) {
    let (graph, root, applied) = optimise(graph, root, &only("merge-rows"));
    (graph, root, !applied.is_empty())
}

/// Extents of the longest array that depends on parameters.
fn longest(graph: &Graph) -> Shape {
    let varying = graph.nodes().iter().filter(|node| node.dependence == Dependence::Parameter);
    varying.map(|node| node.shape.clone()).max_by_key(Shape::len).unwrap()
}

#[test]
fn repeated_rows_leave_no_work_that_grows_with_them() {
    type Make = fn(usize) -> Model;
    let makers: [(&str, Make); 6] = [
        ("logistic", |n| repeated(n, Unary::Softplus, false, false)),
        ("Poisson", |n| repeated(n, Unary::Exp, false, false)),
        ("logistic by group", |n| repeated(n, Unary::Softplus, true, false)),
        ("Poisson by group", |n| repeated(n, Unary::Exp, true, false)),
        ("weights that are data", |n| repeated(n, Unary::Softplus, true, true)),
        ("counts and classes", counted),
    ];
    for (name, make) in makers {
        let work = [840, 4200].map(|n| {
            let model = make(n);
            let (graph, logp, applied) = optimise(&model.graph, model.logp, &[]);
            let of_rows = applied.iter().find(|a| a.pass == "merge-rows").unwrap();
            assert!(of_rows.after < of_rows.before, "{name}: {of_rows:?}");
            model.check(&graph, logp, "merged");
            elements(&graph, logp)
        });
        assert_eq!(work[0], work[1], "{name}");
        assert!(work[0] < 700, "{name}: {} elements", work[0]);
    }
}

#[test]
fn a_distinct_row_has_the_number_of_its_rows() {
    // Thirty-six rows of three kinds: twenty, ten and six.
    let mut x: Vec<f64> = (0..36).map(|r| [3.0, 2.0, 3.0, 2.0, 3.0, 7.0][r % 6]).collect();
    (x[1], x[3]) = (3.0, 3.0);
    let mut b = Build::new();
    let t = b.parameter("t", []);
    let x = b.g.constant(Tensor::vector(&x));
    let rows = b.g.mul(t, x);
    let rows = b.g.sin(rows);
    let sum = b.g.sum(rows);
    let (graph, _, _) = merged(&b.g, sum);
    let expected = "\
%0 = input \"t\" : real[] param
%1 = broadcast(%0) : real[3] param
%2 = constant [3.0, 7.0, 2.0] : real[3] const
%3 = mul(%1, %2) : real[3] param
%4 = sin(%3) : real[3] param
%5 = constant [20.0, 6.0, 10.0] : real[3] const
%6 = mul(%5, %4) : real[3] param
%7 = sum(%6) {axes=[0]} : real[] param
";
    assert_eq!(print(&graph), expected);
}

#[test]
fn rows_of_groups_come_in_the_order_of_the_groups() {
    let mut b = Build::new();
    let (t, s) = (b.parameter("t", [4]), b.parameter("s", []));
    let index: Vec<usize> = (0..80).map(|r| 3 - r % 4).collect();
    let x: Vec<f64> = (0..80).map(|r| (r / 4 % 2) as f64).collect();
    let (index, x) = (b.g.constant(Tensor::indices(&index)), b.g.constant(Tensor::vector(&x)));
    let (of_group, of_x) = (b.g.gather(t, index), b.g.mul(s, x));
    let rows = b.g.add(of_group, of_x);
    let rows = b.g.exp(rows);
    let sum = b.g.sum(rows);
    let (graph, _, _) = merged(&b.g, sum);
    let gathers: Vec<&[NodeId]> = graph
        .nodes()
        .iter()
        .filter(|node| node.op == Op::Gather)
        .map(|node| &node.args[..])
        .collect();
    let &[&[_, index]] = &gathers[..] else { panic!("{}", print(&graph)) };
    let index = graph.as_constant(index).unwrap();
    assert_eq!(index.values(), [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
    // Every kind has ten rows, so their sum has one factor.
    assert!(print(&graph).contains("constant 10.0 : real[]"), "{}", print(&graph));
    // One row for each group needs no index.
    let rows = b.g.exp(of_group);
    let sum = b.g.sum(rows);
    let (graph, _, _) = merged(&b.g, sum);
    assert!(graph.nodes().iter().all(|node| node.op != Op::Gather), "{}", print(&graph));
}

/// Zeros of either sign are two kinds of rows, and numbers that are none are one kind.
#[test]
fn rows_are_compared_by_their_bits() {
    let mut b = Build::new();
    let t = b.parameter("t", []);
    b.inputs[0].1 = Tensor::scalar(1.0);
    let x: Vec<f64> =
        (0..90).map(|r| [0.0, -0.0, f64::NAN][usize::from(r % 9 > 3) + r % 2]).collect();
    let seen: Vec<f64> = x.iter().map(|x| f64::from(u8::from(!x.is_nan()))).collect();
    let x = b.g.constant(Tensor::vector(&x));
    let seen = b.g.constant(Tensor::int([90], seen).unwrap());
    let rows = b.g.mul(t, x);
    let rows = b.g.reciprocal(rows);
    let rows = b.g.atan(rows);
    let nothing = b.g.scalar(0.0);
    let rows = b.g.select(seen, rows, nothing);
    let sum = b.g.sum(rows);
    let (graph, root, found) = merged(&b.g, sum);
    assert!(found);
    assert_eq!(longest(&graph), [3].into(), "{}", print(&graph));
    let value = |graph: &Graph, root| {
        let t = |_: &str| Some(Tensor::scalar(1.0));
        evaluate(graph, &[root], &t).unwrap()[0].as_scalar().unwrap()
    };
    let (found, expected) = (value(&graph, root), value(&b.g, sum));
    // Twenty rows at pi/2 and twenty-five at -pi/2, added up one by one or multiplied.
    assert!((found - expected).abs() < 1e-13 && expected < -7.0, "{found}, not {expected}");
}

#[test]
fn only_the_left_matrix_of_a_product_has_rows() {
    // Forty rows, and as many columns: the same constant is both the rows and the other matrix.
    let mut b = Build::new();
    let t = b.parameter("t", [40, 40]);
    let entries: Vec<f64> = (0..1600).map(|k| f64::from(u8::from(k / 40 % 4 == k % 4))).collect();
    let square = b.g.constant(Tensor::real([40, 40], entries).unwrap());
    let product = b.g.matmul(square, t);
    let sum = b.g.add(product, square);
    let rows = b.g.tanh(sum);
    let total = b.g.sum(rows);
    let model = b.finish("square", &[total]);
    let (graph, root, found) = merged(&model.graph, model.logp);
    assert!(found);
    assert_eq!(graph.nodes().iter().filter(|n| n.shape == [4, 40].into()).count(), 4);
    model.check(&graph, root, "square");
    let mut b = Build::new();
    let t = b.parameter("t", []);
    let entries: Vec<f64> = (0..1600).map(|k| f64::from(u8::from(k / 40 % 4 == k % 4))).collect();
    let square = b.g.constant(Tensor::real([40, 40], entries).unwrap());
    let scaled = b.g.mul(t, square);
    let product = b.g.matmul(scaled, scaled);
    let rows = b.g.tanh(product);
    let total = b.g.sum(rows);
    let model = b.finish("square of a square", &[total]);
    let (graph, root, found) = merged(&model.graph, model.logp);
    assert!(found);
    model.check(&graph, root, "square of a square");
}

#[test]
fn rows_stay_where_nothing_is_known_or_gained() {
    type Rows = fn(&mut Build, NodeId, NodeId) -> NodeId;
    let cases: [(&str, Rows); 6] = [
        ("different", |b, t, _| {
            let x = b.g.constant(Tensor::vector(&series(100, 3)));
            b.g.mul(t, x)
        }),
        ("data", |b, t, _| {
            let x = b.data("x", Tensor::vector(&[1.0; 100]));
            b.g.mul(t, x)
        }),
        ("an index that is data", |b, _, table| {
            let index = b.index("i", 100, 3, 1);
            b.g.gather(table, index)
        }),
        ("few", |b, t, _| {
            let x: Vec<f64> = (0..30).map(|r| (r % 2) as f64).collect();
            let x = b.g.constant(Tensor::vector(&x));
            b.g.mul(t, x)
        }),
        ("most different", |b, t, _| {
            let x: Vec<f64> = (0..100).map(|r| (r % 51) as f64).collect();
            let x = b.g.constant(Tensor::vector(&x));
            b.g.mul(t, x)
        }),
        ("parameters of their own", |b, t, _| {
            let factors = b.parameter("own", [100]);
            b.g.mul(t, factors)
        }),
    ];
    for (name, rows) in cases {
        let mut b = Build::new();
        let (t, table) = (b.parameter("t", []), b.parameter("table", [200]));
        let rows = rows(&mut b, t, table);
        let rows = b.g.sin(rows);
        let sum = b.g.sum(rows);
        let (graph, _, found) = merged(&b.g, sum);
        assert!(!found, "{name}: {}", print(&graph));
    }
}

#[test]
fn rows_stay_where_others_need_all_of_them() {
    // Of the product the sum of squares needs every row, because it has weights that are
    // parameters.
    let mut b = Build::new();
    let (t, weights) = (b.parameter("t", [6]), b.parameter("own", [60]));
    let rows = (0..60).flat_map(|r| (0..6).map(move |k| (r / 2 * (k + 1) % 7) as f64));
    let matrix = b.g.constant(Tensor::real([60, 6], rows.collect::<Vec<f64>>()).unwrap());
    let eta = b.g.matmul(matrix, t);
    let eta = b.g.tanh(eta);
    let square = b.g.square(eta);
    let alone = b.g.sum(square);
    let weighted = b.g.mul(weights, eta);
    let weighted = b.g.sum(weighted);
    let both = b.g.add(alone, weighted);
    let (_, _, found) = merged(&b.g, both);
    assert!(!found);
    let (_, _, found) = merged(&b.g, alone);
    assert!(found);
}

#[test]
fn a_long_chain_of_rows_takes_no_time() {
    let mut b = Build::new();
    let t = b.parameter("t", []);
    let x: Vec<f64> = (0..64).map(|r| (r % 4) as f64).collect();
    let x = b.g.constant(Tensor::vector(&x));
    let mut rows = b.g.mul(t, x);
    for _ in 0..50_000 {
        rows = b.g.sin(rows);
    }
    let sum = b.g.sum(rows);
    let (_, _, found) = merged(&b.g, sum);
    assert!(!found);
}
