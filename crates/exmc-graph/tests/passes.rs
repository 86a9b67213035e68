//! Text form and simplification on small graphs: text in, text out.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use exmc_graph::{
    DType, Graph, NodeId, Op, Role, ScanBody, Shape, SharedBody, Tensor, differentiate, evaluate,
    fold_constants, merge_scans, parse, print, simplify, verify,
};

/// The last node of a graph.
fn last(graph: &Graph) -> NodeId {
    graph.ids().last().unwrap()
}

/// Text without the indentation of this file.
fn lines(text: &str) -> String {
    text.lines().map(str::trim).filter(|l| !l.is_empty()).map(|l| format!("{l}\n")).collect()
}

const EVERYTHING: &str = r#"
%0 = input "x \"y\"\n\u{7}α" : real[2, 3] param
%1 = input "i" : int[2] data
%2 = constant [-0.0, NaN, inf, -inf, 1e-300, 0.1] : real[2, 3] const
%3 = constant [] : real[0] const
%4 = constant nan:0x7ff8000000000001 : real[] const
%5 = constant 3.0 : int[] const
%6 = add(%0, %2) : real[2, 3] param
%7 = reshape(%6) : real[3, 2] param
%8 = permute(%7) {order=[1, 0]} : real[2, 3] param
%9 = slice(%8) {axis=1, start=0, step=2, len=2} : real[2, 2] param
%10 = unslice(%9) {axis=0, start=1, step=1, extent=4} : real[4, 2] param
%11 = concat(%9, %10) {axis=0} : real[6, 2] param
%12 = gather(%11, %1) : real[2, 2] param
%13 = scatter_add(%12, %1) {len=3} : real[3, 2] param
%14 = log_sum_exp(%13) {axes=[0, 1]} : real[] param
%15 = cumulative_sum(%13) {axis=1, reverse=true} : real[3, 2] param
%16 = matmul(%9, %9) : real[2, 2] param
%17 = cholesky(%16) : real[2, 2] param
%18 = triangular_solve(%17, %9) {transposed=true} : real[2, 2] param
%19 = lu(%16) : real[2, 3] param
%20 = lu_solve(%16, %19, %9) {transposed=false} : real[2, 2] param
%21 = log_abs_det(%16, %19) : real[] param
%22 = broadcast(%21) : real[4] param
%23 = select(%22, %22, %22) : real[4] param
%24 = scan(%21, %23) {length=4, reverse=true, counts=[1, 1, 0], next=[%2], stacked=[%0, %2]} : real[] param {
%0 = input "carry0" : real[] param
%1 = input "x0" : real[] param
%2 = mul(%0, %1) : real[] param
}
%25 = project(%24) {output=2} : real[4] param
%26 = constant [1.0, 2.0, 3.0, 4.0] : real[2, 2] const
%27 = constant [5.0, 6.0] : real[2] const
%28 = least_squares(%26, %27, %1) {groups=3, local=1} : real[16] data
%29 = log_product(%25, %21) {powers=[1, 2]} : real[] param
"#;

#[test]
fn text_of_every_operation_reads_back() {
    let text = lines(EVERYTHING);
    let graph = parse(&text).unwrap();
    assert_eq!(verify(&graph), Ok(()));
    assert_eq!(lines(&print(&graph)), text);
    assert_eq!(parse(&print(&graph)).unwrap(), graph);
    // Bodies are indented under their scan.
    assert!(print(&graph).contains("{\n  %0 = input \"carry0\" : real[] param\n"));
}

#[test]
fn the_display_form_abbreviates_long_constants() {
    let mut g = Graph::new();
    g.constant(Tensor::vector(&[0.5; 100]));
    let expected =
        "%0 = constant [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, ... 100 elements] : real[100] const\n";
    assert_eq!(g.to_string(), expected);
}

#[test]
fn text_that_contradicts_itself_is_an_error_with_its_line() {
    let cases = [
        ("%0 = exp(%1) : real[] param", "line 1: there is no %1"),
        ("%0 = what(%0) : real[] param", "line 1: there is no %0"),
        ("%1 = constant 1.0 : real[] const", "line 1: %1 is %0"),
        ("%0 = constant 1.5 : int[] const", "line 1: the elements do not fit the shape"),
        ("\n// a comment\n%0 = constant 1.0 : real[2] const", "line 3: the elements do not fit"),
        (
            "%0 = input \"x\" : real[2] param\n%1 = exp(%0) : real[3] param",
            "line 2: the text says real[3] param, but %1 = exp(%0) : real[2] param",
        ),
        (
            "%0 = input \"x\" : real[2] param\n%1 = input \"y\" : real[3] param\n%2 = add(%0, %1) : real[2] param",
            "line 3: add: shapes [2] and [3] differ",
        ),
        ("%0 = constant 1.0 : real[] const extra", "line 1: unexpected `extra`"),
        ("%0 = input \"x : real[] param", "line 1: a string is not closed"),
    ];
    for (text, message) in cases {
        let error = parse(text).unwrap_err();
        assert!(error.message().starts_with(message), "{text}: {error}");
    }
}

/// Folds the expression of the last node.
fn folded(text: &str) -> String {
    let graph = parse(text).unwrap();
    let root = last(&graph);
    lines(&print(&fold_constants(&graph, &[root]).0))
}

#[test]
fn constants_fold_and_dead_nodes_go() {
    let before = r#"
        %0 = constant 2.0 : real[] const
        %1 = exp(%0) : real[] const
        %2 = log(%1) : real[] const
        %3 = input "x" : real[] param
        %4 = sin(%3) : real[] param
        %5 = mul(%3, %2) : real[] param
    "#;
    let after = r#"
        %0 = constant 2.0 : real[] const
        %1 = input "x" : real[] param
        %2 = mul(%1, %0) : real[] param
    "#;
    assert_eq!(folded(before), lines(after));
}

#[test]
fn neutral_elements_that_folding_finds_are_left_out() {
    let before = r#"
        %0 = input "x" : real[3] param
        %1 = constant 0.0 : real[] const
        %2 = exp(%1) : real[] const
        %3 = broadcast(%2) : real[3] const
        %4 = div(%0, %3) : real[3] param
        %5 = sum(%4) {axes=[0]} : real[] param
    "#;
    let after = r#"
        %0 = input "x" : real[3] param
        %1 = sum(%0) {axes=[0]} : real[] param
    "#;
    assert_eq!(folded(before), lines(after));
}

#[test]
fn moves_do_not_grow_memory_and_functions_are_computed_once() {
    // A stretched scalar stays one, also beneath an operation.
    let before = r#"
        %0 = constant 4.0 : real[] const
        %1 = broadcast(%0) : real[1000] const
        %2 = sqrt(%1) : real[1000] const
        %3 = input "x" : real[1000] param
        %4 = mul(%2, %3) : real[1000] param
    "#;
    let after = r#"
        %0 = constant 2.0 : real[] const
        %1 = broadcast(%0) : real[1000] const
        %2 = input "x" : real[1000] param
        %3 = mul(%1, %2) : real[1000] param
    "#;
    assert_eq!(folded(before), lines(after));
    let mut g = Graph::new();
    let few = g.constant(Tensor::vector(&[1.0, 2.0]));
    let wide = g.broadcast_to(few, &Shape::from([500, 2]));
    let turned = g.transpose(wide);
    let flat = g.exp(turned);
    let value = |g: &Graph, id| evaluate(g, &[id], &|_| None).unwrap();
    // What stretches and turns two numbers stays two numbers; their exponentials are stored.
    for (root, expected) in [(turned, 2), (flat, 1000)] {
        let (simple, roots) = fold_constants(&g, &[root]);
        let constants = simple.nodes().iter().filter(|n| matches!(n.op, Op::Constant(_)));
        assert_eq!(constants.map(|n| n.shape.len()).max(), Some(expected));
        assert_eq!(value(&g, root), value(&simple, roots[0]));
    }
}

#[test]
fn stretched_arguments_of_functions_are_read_where_they_belong() {
    let numbers =
        |count: usize, first: f64| -> Vec<f64> { (0..count).map(|k| first + k as f64).collect() };
    let mut g = Graph::new();
    let all = Shape::from([2, 4, 3]);
    let mut stretched = |shape: &[usize], first: f64| {
        let len = shape.iter().product();
        let known = g.constant(Tensor::real(shape, numbers(len, first)).unwrap());
        g.broadcast_to(known, &all)
    };
    let (a, b, c, d) = (
        stretched(&[2, 1, 3], 10.0),
        stretched(&[4, 1], 100.0),
        stretched(&[1], 7.0),
        stretched(&[2, 4, 1], -3.0),
    );
    let difference = g.sub(a, b);
    let power = g.min(difference, c);
    let chosen = g.select(d, power, b);
    let negative = g.neg(a);
    let (folded, roots) = fold_constants(&g, &[difference, chosen, negative]);
    let values_of = |root: usize| folded.as_constant(roots[root]).unwrap().values().to_vec();
    let each = |value: &dyn Fn(usize, usize, usize) -> f64| -> Vec<f64> {
        let places = (0..24).map(|k| (k / 12, k / 3 % 4, k % 3));
        places.map(|(i, j, k)| value(i, j, k)).collect()
    };
    let a = |i: usize, k: usize| 10.0 + (3 * i + k) as f64;
    let b = |j: usize| 100.0 + j as f64;
    assert_eq!(values_of(0), each(&|i, j, k| a(i, k) - b(j)));
    let taken = |i: usize, j: usize| 4 * i + j != 3;
    assert_eq!(
        values_of(1),
        each(&|i, j, k| if taken(i, j) { (a(i, k) - b(j)).min(7.0) } else { b(j) })
    );
    assert_eq!(values_of(2), each(&|i, _, k| -a(i, k)));
}

#[test]
fn conditions_on_truth_values_are_those_or_computed() {
    let known = |g: &Graph, id: NodeId| {
        let (folded, roots) = fold_constants(g, &[id]);
        let value = folded.as_constant(roots[0]).unwrap();
        let bits: Vec<u64> = value.values().iter().map(|v| v.to_bits()).collect();
        (value.dtype(), bits)
    };
    let truth = |values: &[f64]| (DType::Int, values.iter().map(|v| v.to_bits()).collect());
    // Numbers that are no truth values become some; so does the negative zero.
    for numbers in [[0.0, 1.0, 1.0, 0.0], [0.0, 2.5, f64::NAN, 0.0], [-0.0, 1.0, 1.0, 0.0]] {
        let mut g = Graph::new();
        let x = g.constant(Tensor::real([2, 2], numbers.to_vec()).unwrap());
        let once = g.not(x);
        let twice = g.not(once);
        assert_eq!(known(&g, once), truth(&[1.0, 0.0, 0.0, 1.0]), "{numbers:?}");
        assert_eq!(known(&g, twice), truth(&[0.0, 1.0, 1.0, 0.0]), "{numbers:?}");
        for (rows, expected) in
            [([1.0, -3.0], [0.0, 1.0, 1.0, 0.0]), ([0.0, 1.0], [0.0, 0.0, 1.0, 0.0])]
        {
            let other = g.constant(Tensor::real([2, 1], rows.to_vec()).unwrap());
            for both in [g.and(x, other), g.and(other, x)] {
                assert_eq!(known(&g, both), truth(&expected), "{numbers:?} {rows:?}");
            }
        }
    }
}

/// x' = x * fixed + e^2 (a constant of the body), stacked x'.
fn chain(g: &mut Graph, start: NodeId, fixed: NodeId) -> NodeId {
    let mut body = Graph::new();
    let carry = body.input("carry0", Role::Parameter, Shape::scalar(), DType::Real).unwrap();
    let factor = body.input("fixed0", Role::Parameter, Shape::scalar(), DType::Real).unwrap();
    let two = body.scalar(2.0);
    let offset = body.exp(two);
    let product = body.mul(carry, factor);
    let squash = body.sin(product);
    let next = body.add(squash, offset);
    let (next, stacked) = (vec![next], vec![next]);
    let body = SharedBody(Arc::new(ScanBody { graph: body, next, stacked, counts: [1, 0, 1] }));
    g.apply(Op::Scan { length: 6, reverse: false, body }, &[start, fixed]).unwrap()
}

#[test]
fn the_forward_loop_of_a_derivative_runs_once() {
    let mut g = Graph::new();
    let start = g.input("a", Role::Parameter, Shape::scalar(), DType::Real).unwrap();
    let fixed = g.input("b", Role::Parameter, Shape::scalar(), DType::Real).unwrap();
    let scan = chain(&mut g, start, fixed);
    let again = chain(&mut g, start, fixed);
    assert_eq!(scan, again, "equal loops are one node");
    let (end, all) = (g.apply(Op::Project(0), &[scan]), g.apply(Op::Project(1), &[scan]));
    let all = g.sum(all.unwrap());
    let logp = g.mul(end.unwrap(), all);
    let mut roots = vec![logp];
    roots.extend(differentiate(&mut g, logp, &[start, fixed]).unwrap());
    let count = |g: &Graph| g.nodes().iter().filter(|n| matches!(n.op, Op::Scan { .. })).count();
    assert_eq!(count(&g), 3, "the loop, the loop with its states, the reverse loop");
    let (merged, merged_roots) = merge_scans(&g, &roots).unwrap();
    assert_eq!(count(&merged), 2);
    let (simple, simple_roots) = simplify(&g, &roots);
    assert_eq!(count(&simple), 2);
    // The constant of the body is folded.
    assert!(!print(&simple).contains(" = exp("));
    let inputs = |name: &str| Some(Tensor::scalar(if name == "a" { 0.4 } else { -0.7 }));
    let expected = evaluate(&g, &roots, &inputs).unwrap();
    assert_eq!(evaluate(&merged, &merged_roots, &inputs).unwrap(), expected);
    assert_eq!(evaluate(&simple, &simple_roots, &inputs).unwrap(), expected);
}

#[test]
fn the_gradient_of_a_loop_that_is_written_out_stays_linear() {
    let elements = |n: usize| {
        let mut g = Graph::new();
        let x = g.input("x", Role::Parameter, [n].into(), DType::Real).unwrap();
        let mut logp = g.scalar(0.0);
        for k in 0..n {
            let element = g.slice(x, 0, k, k + 1);
            let sine = g.sin(element);
            let sum = g.sum(sine);
            logp = g.add(logp, sum);
        }
        let gradient = differentiate(&mut g, logp, &[x]).unwrap();
        let (simple, roots) = simplify(&g, &gradient);
        let position = Tensor::vector(&vec![0.0; n]);
        let value = evaluate(&simple, &roots, &|_| Some(position.clone())).unwrap();
        assert_eq!(value[0].values(), vec![1.0; n]);
        simple.nodes().iter().map(|node| node.shape.len()).sum::<usize>()
    };
    assert!(elements(100) <= 10 * elements(10), "elements computed grow no faster than the loop");
}
