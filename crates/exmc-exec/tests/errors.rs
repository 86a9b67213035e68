//! Sources that cannot be compiled: each says what kind of mistake it is.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_exec::{CompileErrorKind, DensitySource, Executor, compile};
use exmc_graph::{DType, Graph, NodeId, Op, Role};

/// A density of a 2 by 2 matrix; `make` gives the log density and what the front end says the
/// position's length is.
fn kind(make: impl Fn(&mut Graph, NodeId) -> (NodeId, usize)) -> CompileErrorKind {
    let mut graph = Graph::new();
    let x = graph.input("x", Role::Parameter, [2, 2].into(), DType::Real).unwrap();
    let (logp, dim) = make(&mut graph, x);
    let source = DensitySource { graph, logp, parameters: vec![(x, 0)], dim };
    let kinds = [Executor::Native, Executor::Reference]
        .map(|executor| compile(executor, &source).unwrap_err().kind());
    assert_eq!(kinds[0], kinds[1]);
    kinds[0]
}

#[test]
fn only_what_has_no_derivative_is_told_so() {
    let without = kind(|g, x| {
        let factors = g.apply(Op::Lu, &[x]).unwrap();
        (g.sum(factors), 4)
    });
    assert_eq!(without, CompileErrorKind::NoDerivative);
    // A log density that is no number, and parameters that do not tile the position: faults of a
    // front end.
    assert_eq!(kind(|_, x| (x, 4)), CompileErrorKind::Malformed);
    assert_eq!(kind(|g, x| (g.sum(x), 5)), CompileErrorKind::Malformed);
}
