//! One rule at a time: text of a graph -> what a pass makes of it.

use std::sync::Arc;

use exmc_graph::{
    DType, Graph, Limits, NodeId, Op, Role, ScanBody, Shape, Tensor, Unary, drop_clamps, evaluate,
    join_logs, optimise, parse, print,
};

use crate::optimise::models::*;
use crate::optimise::only;

/// Text without the indentation of this file.
fn lines(text: &str) -> String {
    text.lines().map(str::trim).filter(|l| !l.is_empty()).map(|l| format!("{l}\n")).collect()
}

/// What one pass makes of the last node.
pub(super) fn rewritten(pass: &str, text: &str) -> String {
    let graph = parse(text).unwrap();
    let root = graph.ids().last().unwrap();
    lines(&print(&optimise(&graph, root, &only(pass)).0))
}

#[test]
fn logs_of_exponentials_are_their_arguments() {
    let before = r#"
        %0 = input "x" : real[2] param
        %1 = exp(%0) : real[2] param
        %2 = log(%1) : real[2] param
        %3 = inv_logit(%0) : real[2] param
        %4 = neg(%3) : real[2] param
        %5 = log1p(%4) : real[2] param
        %6 = add(%2, %5) : real[2] param
    "#;
    let after = r#"
        %0 = input "x" : real[2] param
        %1 = softplus(%0) : real[2] param
        %2 = neg(%1) : real[2] param
        %3 = add(%0, %2) : real[2] param
    "#;
    assert_eq!(rewritten("cancel-inverses", before), lines(after));
}

#[test]
fn quotients_by_exponentials_are_products() {
    let before = r#"
        %0 = input "x" : real[2] param
        %1 = input "y" : real[2] param
        %2 = exp(%1) : real[2] param
        %3 = div(%0, %2) : real[2] param
    "#;
    let after = r#"
        %0 = input "x" : real[2] param
        %1 = input "y" : real[2] param
        %2 = neg(%1) : real[2] param
        %3 = exp(%2) : real[2] param
        %4 = mul(%0, %3) : real[2] param
    "#;
    assert_eq!(rewritten("cancel-inverses", before), lines(after));
    // One number costs no more as it is.
    let one = before.replace("[2]", "[]");
    assert_eq!(rewritten("cancel-inverses", &one), lines(&one));
}

/// `softplus(x) - x` would be 0 from x = 37 on, and the logarithm of a rate made so minus infinity.
#[test]
fn a_softplus_of_the_negative_keeps_its_digits() {
    let text = r#"
        %0 = input "z" : real[] param
        %1 = softplus(%0) : real[] param
        %2 = neg(%0) : real[] param
        %3 = softplus(%2) : real[] param
        %4 = log(%3) : real[] param
        %5 = add(%1, %4) : real[] param
    "#;
    let graph = parse(text).unwrap();
    let root = graph.ids().last().unwrap();
    let (optimised, root, _) = optimise(&graph, root, &[]);
    let z = |_: &str| Some(Tensor::scalar(40.0));
    let found = evaluate(&optimised, &[root], &z).unwrap()[0].as_scalar().unwrap();
    // softplus(40) = 40 + e^-40 and log(softplus(-40)) = -40 - e^-40 / 2, so the sum is 1.5 e^-40,
    // lost in 40 - 40.
    assert!(found.abs() < 1e-13, "{found}");
}

#[test]
fn constants_add_up_and_short_sums_join() {
    let before = r#"
        %0 = input "x" : real[2] param
        %1 = input "s" : real[] param
        %2 = constant 3.0 : real[] const
        %3 = add(%1, %2) : real[] param
        %4 = sum(%0) {axes=[0]} : real[] param
        %5 = sub(%4, %3) : real[] param
        %6 = sin(%0) : real[2] param
        %7 = sum(%6) {axes=[0]} : real[] param
        %8 = sub(%5, %7) : real[] param
        %9 = constant -4.0 : real[] const
        %10 = sub(%1, %9) : real[] param
        %11 = mul(%9, %10) : real[] param
        %12 = add(%8, %11) : real[] param
    "#;
    let after = r#"
        %0 = input "x" : real[2] param
        %1 = input "s" : real[] param
        %2 = sin(%0) : real[2] param
        %3 = constant -19.0 : real[] const
        %4 = neg(%2) : real[2] param
        %5 = add(%0, %4) : real[2] param
        %6 = sum(%5) {axes=[0]} : real[] param
        %7 = add(%3, %6) : real[] param
        %8 = constant -5.0 : real[] const
        %9 = mul(%8, %1) : real[] param
        %10 = add(%7, %9) : real[] param
    "#;
    assert_eq!(rewritten("collect-terms", before), lines(after));
}

#[test]
fn a_sum_that_is_read_twice_is_one_term() {
    let text = r#"
        %0 = input "a" : real[] param
        %1 = input "b" : real[] param
        %2 = add(%0, %1) : real[] param
        %3 = exp(%2) : real[] param
        %4 = add(%2, %3) : real[] param
    "#;
    assert_eq!(rewritten("collect-terms", text), lines(text));
}

#[test]
fn clamps_go_with_their_limits() {
    let before = r#"
        %0 = input "z" : real[2] param
        %1 = constant 200.0 : real[] const
        %2 = broadcast(%1) : real[2] const
        %3 = min(%0, %2) : real[2] param
        %4 = constant -150.0 : real[] const
        %5 = broadcast(%4) : real[2] const
        %6 = max(%3, %5) : real[2] param
        %7 = exp(%6) : real[2] param
        %8 = constant 2.0 : real[] const
        %9 = broadcast(%8) : real[2] const
        %10 = mul(%9, %3) : real[2] param
        %11 = sub(%10, %0) : real[2] param
        %12 = add(%7, %11) : real[2] param
        %13 = constant 0.0 : real[] const
        %14 = broadcast(%13) : real[2] const
        %15 = max(%0, %14) : real[2] param
        %16 = mul(%15, %12) : real[2] param
    "#;
    let graph = parse(before).unwrap();
    let root = graph.ids().last().unwrap();
    let (inside, root, limits) = drop_clamps(&graph, root).unwrap();
    let expected = Limits { input: "z".to_owned(), low: -150.0, high: 200.0 };
    assert_eq!(limits, [expected]);
    let after = r#"
        %0 = input "z" : real[2] param
        %1 = constant 0.0 : real[] const
        %2 = broadcast(%1) : real[2] const
        %3 = max(%0, %2) : real[2] param
        %4 = exp(%0) : real[2] param
        %5 = add(%4, %0) : real[2] param
        %6 = mul(%3, %5) : real[2] param
    "#;
    let (inside, root, _) = optimise(&inside, root, &[]);
    let kept: Vec<&str> = inside.nodes().iter().map(|node| node.op.name()).collect();
    assert_eq!(kept.iter().filter(|name| **name == "max").count(), 1, "{inside}");
    assert!(!kept.contains(&"min") && !kept.contains(&"sub"), "{inside}");
    let value = |g: &Graph, root| {
        let z = Tensor::vector(&[-1.5, 2.5]);
        evaluate(g, &[root], &|_| Some(z.clone())).unwrap()[0].values().to_vec()
    };
    let plain = parse(&lines(after)).unwrap();
    assert_eq!(value(&inside, root), value(&plain, plain.ids().last().unwrap()));
    assert_eq!(drop_clamps(&inside, root), None);
}

#[test]
fn logarithms_with_coefficients_that_are_multiples_are_those_of_one_product() {
    let before = r#"
        %0 = input "v" : real[3] param
        %1 = input "x" : real[] param
        %2 = input "y" : real[] param
        %3 = log(%0) : real[3] param
        %4 = constant -0.5 : real[] const
        %5 = broadcast(%4) : real[3] const
        %6 = mul(%5, %3) : real[3] param
        %7 = square(%0) : real[3] param
        %8 = sub(%6, %7) : real[3] param
        %9 = sum(%8) {axes=[0]} : real[] param
        %10 = log1p(%1) : real[] param
        %11 = sub(%9, %10) : real[] param
        %12 = log(%2) : real[] param
        %13 = constant 0.25 : real[] const
        %14 = mul(%13, %12) : real[] param
        %15 = add(%11, %14) : real[] param
    "#;
    let graph = parse(before).unwrap();
    let root = graph.ids().last().unwrap();
    let (joined, root_joined) = join_logs(&graph, root).unwrap();
    // The quarter has the other sign.
    let after = r#"
        %0 = input "v" : real[3] param
        %1 = input "x" : real[] param
        %2 = constant 1.0 : real[] const
        %3 = add(%1, %2) : real[] param
        %4 = log_product(%0, %3) {powers=[1, 2]} : real[] param
        %5 = constant -0.5 : real[] const
        %6 = mul(%4, %5) : real[] param
        %7 = square(%0) : real[3] param
        %8 = neg(%7) : real[3] param
        %9 = sum(%8) {axes=[0]} : real[] param
        %10 = input "y" : real[] param
        %11 = log(%10) : real[] param
        %12 = constant 0.25 : real[] const
        %13 = mul(%12, %11) : real[] param
        %14 = add(%9, %13) : real[] param
        %15 = add(%14, %6) : real[] param
    "#;
    let value = |g: &Graph, root| {
        let data = |name: &str| {
            Some(match name {
                "v" => Tensor::vector(&[0.5, 2.5, 7.0]),
                "x" => Tensor::scalar(0.3),
                _ => Tensor::scalar(11.0),
            })
        };
        evaluate(g, &[root], &data).unwrap()[0].as_scalar().unwrap()
    };
    let plain = parse(&lines(after)).unwrap();
    let names = |g: &Graph| {
        let mut names: Vec<&str> = g.nodes().iter().map(|node| node.op.name()).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(names(&joined), names(&plain), "{joined}");
    let powers = |g: &Graph| {
        g.nodes().iter().find_map(|node| match &node.op {
            Op::LogProduct(powers) => Some(powers.clone()),
            _ => None,
        })
    };
    assert_eq!(powers(&joined), powers(&plain), "{joined}");
    // log(8.75) / -2 - 55.5 - log(1.3) + log(11) / 4.
    let expected = -56.24741729645266;
    assert!((value(&graph, root) - expected).abs() < 1e-13, "{}", value(&graph, root));
    assert!((value(&joined, root_joined) - expected).abs() < 1e-13);
    assert!(join_logs(&joined, root_joined).is_none(), "one is left");
}

/// `a log(x) + b log(y) + sum of c log(v)`, where `v` has so many elements.
fn sum_of_logs(coefficients: [f64; 3], len: usize) -> (Graph, NodeId) {
    let mut g = Graph::new();
    let input = |g: &mut Graph, name: &str, shape: Shape| {
        g.input(name, Role::Parameter, shape, DType::Real).unwrap()
    };
    let parts = [
        input(&mut g, "x", Shape::scalar()),
        input(&mut g, "y", Shape::scalar()),
        input(&mut g, "v", [len].into()),
    ];
    let terms = std::array::from_fn::<_, 3, _>(|k| {
        let log = g.log(parts[k]);
        let term = g.scale(log, coefficients[k]);
        if k == 2 { g.sum(term) } else { term }
    });
    let sum = g.add(terms[0], terms[1]);
    let sum = g.add(sum, terms[2]);
    (g, sum)
}

/// The powers of the products of logarithms, and the logarithms that are left.
type Products = (Vec<Vec<usize>>, usize);

fn products(g: &Graph, root: NodeId) -> Products {
    let live = g.reachable(&[root]);
    let nodes = || g.ids().filter(|id| live[id.index()]).map(|id| &g.node(id).op);
    let powers = nodes().filter_map(|op| match op {
        Op::LogProduct(powers) => Some(powers.clone()),
        _ => None,
    });
    (powers.collect(), nodes().filter(|op| matches!(op, Op::Unary(Unary::Log))).count())
}

#[test]
fn logarithms_that_fit_into_no_product_stay() {
    let cases: [([f64; 3], usize, Products); 7] = [
        ([-1.0, -1.0, -1.0], 14, (vec![vec![1, 1, 1]], 0)),
        // A product has at most 16 factors.
        ([-1.0, -1.0, -1.0], 15, (vec![vec![1], vec![1, 1]], 0)),
        ([-2.0, -1.0, -0.5], 10, (vec![vec![4, 2, 1]], 0)),
        ([-2.0, -1.0, -0.5], 11, (vec![vec![1], vec![2, 1]], 0)),
        // More elements than factors.
        ([-1.0, -1.0, -1.0], 17, (vec![vec![1, 1]], 1)),
        // No multiples, and other signs.
        ([-1.0, -0.75, -0.5], 1, (vec![vec![2, 1]], 1)),
        ([1.0, -1.0, -1.5], 1, (vec![], 3)),
    ];
    for (coefficients, len, expected) in cases {
        let (graph, root) = sum_of_logs(coefficients, len);
        let (joined, root) = join_logs(&graph, root).unwrap_or((graph, root));
        let (mut powers, left) = products(&joined, root);
        powers.sort_unstable();
        assert_eq!((powers, left), expected, "{coefficients:?} {len}: {joined}");
    }
    // One that somebody else reads is computed in any case.
    let (mut g, sum) = sum_of_logs([1.0, 1.0, 1.0], 3);
    let log = g.find_input("x").map(|x| g.log(x)).unwrap();
    let sine = g.sin(log);
    let root = g.add(sum, sine);
    let (joined, root) = join_logs(&g, root).unwrap();
    assert_eq!(products(&joined, root).1, 1, "{joined}");
}

#[test]
fn functions_move_from_rows_to_tables() {
    let before = r#"
        %0 = input "t" : real[2] param
        %1 = input "i" : int[9] data
        %2 = gather(%0, %1) : real[9] param
        %3 = exp(%2) : real[9] param
        %4 = input "s" : real[] param
        %5 = broadcast(%4) : real[9] param
        %6 = mul(%5, %3) : real[9] param
        %7 = input "y" : real[9] data
        %8 = sub(%7, %6) : real[9] param
    "#;
    let after = r#"
        %0 = input "t" : real[2] param
        %1 = input "i" : int[9] data
        %2 = exp(%0) : real[2] param
        %3 = input "s" : real[] param
        %4 = broadcast(%3) : real[2] param
        %5 = mul(%4, %2) : real[2] param
        %6 = gather(%5, %1) : real[9] param
        %7 = input "y" : real[9] data
        %8 = sub(%7, %6) : real[9] param
    "#;
    assert_eq!(rewritten("hoist-gathers", before), lines(after));
    // A table that is longer than the rows, and a pole that no row may read, stay.
    let stay = [
        before
            .replace("real[9]", "real[1, 2]")
            .replace("int[9]", "int[1, 2]")
            .replace("[2] param\n        %1", "[5] param\n        %1"),
        r#"
            %0 = input "t" : real[2] param
            %1 = input "i" : int[9] data
            %2 = gather(%0, %1) : real[9] param
            %3 = log(%2) : real[9] param
        "#
        .to_owned(),
    ];
    for text in stay {
        assert_eq!(rewritten("hoist-gathers", &text), lines(&text));
    }
}

#[test]
fn what_belongs_to_one_of_a_pair_is_computed_once_for_it() {
    let model = pairs(3, 2);
    let (graph, _, applied) = optimise(&model.graph, model.logp, &[]);
    assert!(applied.iter().any(|applied| applied.pass == "hoist-gathers"));
    let text = print(&graph);
    let (_, body) = text.split_once("scan(").unwrap();
    let (body, _) = body.split_once("\n}").unwrap();
    // The pairs are left with where they come from, and how likely the way is.
    let pairs: Vec<&str> = body
        .lines()
        .filter(|line| line.contains("real[4]") || line.contains("real[2, 2]"))
        .collect();
    let operations: Vec<&str> = pairs
        .iter()
        .filter_map(|line| line.split_once(" = ")?.1.split(['(', ' ']).next())
        .filter(|name| !["input", "reshape"].contains(name))
        .collect();
    assert_eq!(operations, ["gather", "add"], "{text}");
    assert!(body.contains("x0\" : real[1]") && body.contains("x1\" : real[2]"), "{text}");
}

#[test]
fn sums_of_gathered_elements_are_products_with_counts() {
    let before = r#"
        %0 = input "t" : real[2] param
        %1 = input "i" : int[9] data
        %2 = gather(%0, %1) : real[9] param
        %3 = input "s" : real[] param
        %4 = broadcast(%3) : real[9] param
        %5 = add(%2, %4) : real[9] param
        %6 = sin(%2) : real[9] param
        %7 = sub(%5, %6) : real[9] param
        %8 = sum(%7) {axes=[0]} : real[] param
    "#;
    let after = r#"
        %0 = input "t" : real[2] param
        %1 = input "i" : int[9] data
        %2 = gather(%0, %1) : real[9] param
        %3 = input "s" : real[] param
        %4 = sin(%2) : real[9] param
        %5 = constant 1.0 : real[] const
        %6 = broadcast(%5) : real[9] const
        %7 = scatter_add(%6, %1) {len=2} : real[2] data
        %8 = mul(%7, %0) : real[2] param
        %9 = sum(%8) {axes=[0]} : real[] param
        %10 = constant 9.0 : real[] const
        %11 = mul(%3, %10) : real[] param
        %12 = neg(%4) : real[9] param
        %13 = sum(%12) {axes=[0]} : real[] param
        %14 = add(%13, %9) : real[] param
        %15 = add(%14, %11) : real[] param
    "#;
    assert_eq!(rewritten("count-gathers", before), lines(after));
}

/// One index reads tables of three and of four elements: no table of their products.
#[test]
fn tables_of_two_lengths_are_not_counted_together() {
    let product = r#"
        %0 = input "a" : real[3] param
        %1 = input "b" : real[4] param
        %2 = constant [2.0, 1.0, 0.0, 2.0, 1.0] : int[5] const
        %3 = gather(%0, %2) : real[5] param
        %4 = gather(%1, %2) : real[5] param
        %5 = mul(%3, %4) : real[5] param"#;
    let sum = format!("{product}\n%6 = sum(%5) {{axes=[0]}} : real[] param");
    assert_eq!(rewritten("count-gathers", &sum), lines(&sum));
    let weighted_square = format!(
        "{product}
        %6 = input \"x\" : real[] param
        %7 = input \"y\" : real[5] data
        %8 = broadcast(%6) : real[5] param
        %9 = sub(%7, %8) : real[5] param
        %10 = square(%9) : real[5] param
        %11 = mul(%5, %10) : real[5] param
        %12 = sum(%11) {{axes=[0]}} : real[] param"
    );
    assert_eq!(rewritten("collapse-gaussian", &weighted_square), lines(&weighted_square));
}

#[test]
fn a_question_about_scalars_is_asked_once() {
    let before = r#"
        %0 = input "x" : real[9] param
        %1 = input "s" : real[] param
        %2 = constant 0.0 : real[] const
        %3 = lt(%2, %1) : real[] param
        %4 = broadcast(%3) : real[9] param
        %5 = constant -inf : real[] const
        %6 = broadcast(%5) : real[9] const
        %7 = select(%4, %0, %6) : real[9] param
        %8 = sum(%7) {axes=[0]} : real[] param
    "#;
    let after = r#"
        %0 = input "x" : real[9] param
        %1 = input "s" : real[] param
        %2 = constant 0.0 : real[] const
        %3 = lt(%2, %1) : real[] param
        %4 = constant -inf : real[] const
        %5 = sum(%0) {axes=[0]} : real[] param
        %6 = select(%3, %5, %4) : real[] param
    "#;
    assert_eq!(rewritten("hoist-selects", before), lines(after));
    // A question that each row answers for itself stays.
    let by_row = before.replace("broadcast(%3)", "sin(%0)");
    let stays = |line: &str| line.contains("= select(") && line.ends_with("real[9] param");
    assert!(rewritten("hoist-selects", &by_row).lines().any(stays));
}

#[test]
fn a_mean_is_one_row() {
    let before = r#"
        %0 = input "mu" : real[] param
        %1 = input "y" : real[20] data
        %2 = broadcast(%0) : real[20] param
        %3 = sub(%1, %2) : real[20] param
        %4 = square(%3) : real[20] param
        %5 = sum(%4) {axes=[0]} : real[] param
    "#;
    let after = rewritten("collapse-gaussian", before);
    assert!(after.contains("least_squares(%"), "{after}");
    assert!(!after.contains("[20] param"), "{after}");
    // The sign moves to the data.
    assert!(!after.contains("= neg(%0)"), "{after}");
    // Three rows are as quick as they are.
    let few = before.replace("[20]", "[3]");
    assert_eq!(rewritten("collapse-gaussian", &few), lines(&few));
}

#[test]
fn outcomes_leave_the_rows() {
    let before = r#"
        %0 = input "b" : real[2] param
        %1 = input "X" : real[9, 2] data
        %2 = input "y" : real[9] data
        %3 = matmul(%1, %0) : real[9] param
        %4 = mul(%2, %3) : real[9] param
        %5 = sum(%4) {axes=[0]} : real[] param
    "#;
    let after = r#"
        %0 = input "b" : real[2] param
        %1 = input "X" : real[9, 2] data
        %2 = input "y" : real[9] data
        %3 = permute(%1) {order=[1, 0]} : real[2, 9] data
        %4 = matmul(%3, %2) : real[2] data
        %5 = mul(%4, %0) : real[2] param
        %6 = sum(%5) {axes=[0]} : real[] param
    "#;
    assert_eq!(rewritten("collapse-linear", before), lines(after));
}

#[test]
fn expressions_that_double_at_every_step_take_no_time() {
    // Sums and products of a node with itself, sixty deep, and a long chain, each summed and as a
    // table.
    let mut b = Build::new();
    let t = b.parameter("t", [5]);
    let (i, y) = (b.index("i", 50, 5, 3), b.rows("y", 50, 3));
    let (mut sum, mut product, mut both, mut chain) = (t, t, t, t);
    for k in 0..60 {
        sum = b.g.add(sum, sum);
        product = b.g.mul(product, product);
        let square = b.g.square(both);
        both = b.g.mul(square, both);
        both = b.g.tanh(both);
        let exp = b.g.exp(both);
        both = b.g.add(exp, both);
        let next = b.g.scale(t, f64::from(k));
        chain = b.g.add(chain, next);
    }
    for _ in 0..20_000 {
        let next = b.g.sin(chain);
        chain = b.g.add(chain, next);
        chain = b.g.mul(next, chain);
    }
    for table in [sum, product, both, chain] {
        let rows = b.g.gather(table, i);
        let residual = b.g.sub(y, rows);
        let square = b.g.square(residual);
        let weighted = b.g.mul(y, rows);
        let all = b.g.add(square, weighted);
        let (total, of_table) = (b.g.sum(all), b.g.sum(table));
        let logp = b.g.add(total, of_table);
        let (graph, root, _) = optimise(&b.g, logp, &[]);
        assert!(graph.shape(root).is_scalar());
    }
}

#[test]
fn what_is_not_affine_or_not_square_stays() {
    // An array of parameters, an odd power, a square of a product of parameters.
    let mut b = Build::new();
    let (x, t, u) = (b.parameter("x", [50]), b.parameter("t", [5]), b.parameter("u", [4]));
    let (i, j, y) = (b.index("i", 50, 5, 3), b.index("j", 50, 4, 1), b.rows("y", 50, 3));
    let (of_t, of_u) = (b.g.gather(t, i), b.g.gather(u, j));
    let first = b.g.sub(y, x);
    let first = b.g.square(first);
    let second = b.g.sub(y, of_t);
    let cube = b.g.square(second);
    let cube = b.g.mul(second, cube);
    let product = b.g.mul(of_t, of_u);
    let third = b.g.sub(y, product);
    let third = b.g.square(third);
    let weighted = b.g.square(second);
    let weighted = b.g.mul(y, weighted);
    for (k, rows) in [first, cube, third, weighted].into_iter().enumerate() {
        let sum = b.g.sum(rows);
        let (graph, root, applied) = optimise(&b.g, sum, &[]);
        let count = graph.nodes().iter().filter(|n| matches!(n.op, Op::LeastSquares { .. }));
        assert_eq!((count.count(), applied.len()), (0, 0), "{k}: {}", print(&graph));
        assert!(graph.shape(root).is_scalar());
    }
}

#[test]
fn loops_carry_variances_for_scales_that_only_their_squares_are_read_of() {
    let count = |model: &Model, f: Unary| {
        let (graph, logp, _) = optimise(&model.graph, model.logp, &[]);
        let live = graph.reachable(&[logp]);
        let bodies =
            graph.ids().filter(|id| live[id.index()]).filter_map(|id| match &graph.node(id).op {
                Op::Scan { body, .. } => Some(body.0.clone()),
                _ => None,
            });
        let of_body = |body: Arc<ScanBody>| {
            let live = body.graph.reachable(&body.next);
            let ids = body.graph.ids().filter(|id| live[id.index()]);
            ids.filter(|id| body.graph.node(*id).op == Op::Unary(f)).count()
        };
        bodies.map(of_body).sum::<usize>()
    };
    let model = scales(9, false);
    // The level's next value takes the scale, so one root stays; the square is of the data.
    let found = [Unary::Exp, Unary::Log, Unary::Square, Unary::Sqrt].map(|f| count(&model, f));
    assert_eq!(found, [0, 0, 1, 1]);
}
