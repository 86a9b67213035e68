//! Densities of categories whose probabilities are a softmax's: text of a graph -> the same without
//! exponentials.

use exmc_graph::{Tensor, evaluate, parse};

use crate::optimise::rules::rewritten;

/// A categorical density of a softmax's probabilities, by rows: what is looked up has its logarithm
/// without exponentials, and what is asked of all of them is whether they are numbers.
#[test]
fn probabilities_of_a_softmax_are_looked_up_as_logarithms() {
    let before = r#"
        %0 = input "x" : real[2, 3] param
        %1 = log_sum_exp(%0) {axes=[1]} : real[2] param
        %2 = reshape(%1) : real[2, 1] param
        %3 = broadcast(%2) : real[2, 3] param
        %4 = sub(%0, %3) : real[2, 3] param
        %5 = exp(%4) : real[2, 3] param
        %6 = reshape(%5) : real[6] param
        %7 = input "place" : int[2] data
        %8 = gather(%6, %7) : real[2] param
        %9 = log(%8) : real[2] param
        %10 = sum(%5) {axes=[1]} : real[2] param
        %11 = constant 0.0 : real[] const
        %12 = broadcast(%11) : real[2, 3] const
        %13 = le(%12, %5) : real[2, 3] param
        %14 = min_of(%13) {axes=[1]} : real[2] param
        %15 = mul(%10, %14) : real[2] param
        %16 = add(%9, %15) : real[2] param
    "#;
    let after = rewritten("cancel-inverses", before);
    assert!(!after.contains(" = exp(") && !after.contains(" = log("), "{after}");
    let (graph, found) = (parse(before).unwrap(), parse(&after).unwrap());
    let roots = [graph.ids().last().unwrap(), found.ids().last().unwrap()];
    let infinity = f64::INFINITY;
    for x in [
        [0.3, -1.0, 2.0, 100.0, 99.0, 98.5],
        [-700.0, 0.0, 3.0, 5.0, 5.0, 5.0],
        [f64::NAN, 0.0, 1.0, 0.0, 1.0, 2.0],
        [infinity, 0.0, 1.0, 0.0, 1.0, 2.0],
        [-infinity, 0.0, 1.0, 0.0, 1.0, 2.0],
        [-infinity, -infinity, -infinity, 0.0, 1.0, 2.0],
    ] {
        for places in [[0, 5], [2, 3], [1, 4]] {
            let value = |name: &str| match name {
                "x" => Some(Tensor::real([2, 3], x.to_vec()).unwrap()),
                _ => Some(Tensor::int([2], places.map(f64::from).to_vec()).unwrap()),
            };
            let before = evaluate(&graph, &[roots[0]], &value).unwrap()[0].values().to_vec();
            let after = evaluate(&found, &[roots[1]], &value).unwrap()[0].values().to_vec();
            for (before, after) in before.iter().zip(&after) {
                let same = before == after || before.is_nan() && after.is_nan();
                assert!(same || (before - after).abs() < 1e-13, "{x:?}: {before} {after}");
            }
        }
    }
    // A logarithm over the other axis has another sum.
    let other = before.replace(
        "%1 = log_sum_exp(%0) {axes=[1]} : real[2]",
        "%1 = log_sum_exp(%0) {axes=[0]} : real[3]",
    );
    let other = other.replace("%2 = reshape(%1) : real[2, 1]", "%2 = reshape(%1) : real[1, 3]");
    assert!(rewritten("cancel-inverses", &other).contains("= exp("));
}
