//! A family and numbers -> its log density, distribution functions and gradients, through the
//! graph.

use exmc_graph::{DType, Graph, NodeId, Role, Shape, Tensor, differentiate, evaluate};
use exmc_model::Support;
use exmc_model::distribution::{Distribution, find_family};

/// What is asked of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    Lpdf,
    Lcdf,
    Lccdf,
}

/// A graph of one quantity: a vector of outcomes `y`, numbers `p0`, `p1`, …, and the gradients of
/// the quantity's sum.
pub(crate) struct Compiled {
    graph: Graph,
    value: NodeId,
    gradients: Vec<NodeId>,
}

pub(crate) fn family(name: &str) -> &'static dyn Distribution {
    find_family(name).unwrap_or_else(|| panic!("{name} is not registered"))
}

/// The graph of one quantity of `count` outcomes; `None` where the family has no formula for it.
pub(crate) fn compile(name: &str, quantity: Quantity, count: usize) -> Option<Compiled> {
    let f = family(name);
    let mut graph = Graph::new();
    let mut declare =
        |name: &str, shape: Shape| graph.input(name, Role::Parameter, shape, DType::Real).unwrap();
    let y = declare("y", Shape::from([count]));
    let args: Vec<_> =
        (0..f.parameters().len()).map(|k| declare(&format!("p{k}"), Shape::scalar())).collect();
    let value = match quantity {
        Quantity::Lpdf => Some(f.lpdf(&mut graph, y, &args)),
        Quantity::Lcdf => f.lcdf(&mut graph, y, &args),
        Quantity::Lccdf => f.lccdf(&mut graph, y, &args),
    }?;
    assert_eq!(*graph.shape(value), Shape::from([count]), "{name} {quantity:?}");
    let sum = graph.sum(value);
    let wrt: Vec<_> = [y].into_iter().chain(args).collect();
    let gradients = differentiate(&mut graph, sum, &wrt).unwrap();
    Some(Compiled { graph, value, gradients })
}

impl Compiled {
    fn evaluate(&self, nodes: &[NodeId], y: &[f64], parameters: &[f64]) -> Vec<Tensor> {
        let find = |name: &str| match name.strip_prefix('p') {
            Some(k) => Some(Tensor::scalar(parameters[k.parse::<usize>().unwrap()])),
            None => Some(Tensor::vector(y)),
        };
        evaluate(&self.graph, nodes, &find).unwrap()
    }

    /// One value an outcome.
    pub(crate) fn values(&self, y: &[f64], parameters: &[f64]) -> Vec<f64> {
        self.evaluate(&[self.value], y, parameters)[0].values().to_vec()
    }

    /// Derivatives with respect to the (one) outcome and each parameter.
    pub(crate) fn gradient(&self, y: f64, parameters: &[f64]) -> Vec<f64> {
        let tensors = self.evaluate(&self.gradients, &[y], parameters);
        tensors.iter().map(|t| t.values()[0]).collect()
    }
}

/// One value.
pub(crate) fn value(name: &str, quantity: Quantity, y: f64, parameters: &[f64]) -> f64 {
    compile(name, quantity, 1).expect("the family has a formula").values(&[y], parameters)[0]
}

/// Whether `x` lies in a support, by the graph's predicate.
pub(crate) fn inside(support: Support, x: f64, parameters: &[f64]) -> bool {
    let mut g = Graph::new();
    let x = g.scalar(x);
    let args: Vec<_> = parameters.iter().map(|p| g.scalar(*p)).collect();
    let predicate = support.predicate(&mut g, x, &args);
    let value = evaluate(&g, &[predicate], &|_| None).unwrap()[0].as_scalar().unwrap();
    assert!(value == 0.0 || value == 1.0);
    value == 1.0
}
