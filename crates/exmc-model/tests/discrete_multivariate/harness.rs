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

impl Quantity {
    pub(crate) fn from_name(name: &str) -> Self {
        match name {
            "lpdf" => Self::Lpdf,
            "lcdf" => Self::Lcdf,
            "lccdf" => Self::Lccdf,
            other => panic!("no quantity {other}"),
        }
    }
}

/// A graph of one quantity with inputs `y` and `p0`, `p1`, …
pub(crate) struct Compiled {
    pub(crate) graph: Graph,
    pub(crate) value: NodeId,
    pub(crate) y: NodeId,
    pub(crate) parameters: Vec<NodeId>,
    inputs: Vec<(String, Tensor)>,
}

pub(crate) fn family(name: &str) -> &'static dyn Distribution {
    find_family(name).unwrap_or_else(|| panic!("{name} is not registered"))
}

/// The shape of one event's argument with `len` elements.
pub(crate) fn event_shape(rank: usize, len: usize) -> Shape {
    match rank {
        0 => Shape::scalar(),
        1 => Shape::from([len]),
        _ => {
            let n = (0..).find(|n| n * n >= len).unwrap();
            Shape::from([n, n])
        }
    }
}

/// One event: shapes follow from the ranks.
pub(crate) fn compile(
    name: &str,
    quantity: Quantity,
    y: &[f64],
    parameters: &[&[f64]],
) -> Compiled {
    let f = family(name);
    assert_eq!(parameters.len(), f.parameters().len(), "{name}");
    let shape = event_shape(f.event_rank(), y.len());
    let parameters: Vec<_> = f
        .parameters()
        .iter()
        .zip(parameters)
        .map(|(p, v)| (event_shape(p.rank, v.len()), v.to_vec()))
        .collect();
    compile_shaped(name, quantity, (shape, y.to_vec()), &parameters)
}

/// Any shapes. Counts, trials and categories are integer data, everything else real parameters.
pub(crate) fn compile_shaped(
    name: &str,
    quantity: Quantity,
    y: (Shape, Vec<f64>),
    parameters: &[(Shape, Vec<f64>)],
) -> Compiled {
    let f = family(name);
    let mut graph = Graph::new();
    let mut inputs = Vec::new();
    let mut declare = |graph: &mut Graph, name: String, (shape, values): (Shape, Vec<f64>), int| {
        let (role, dtype) =
            if int { (Role::Data, DType::Int) } else { (Role::Parameter, DType::Real) };
        let tensor = if int {
            Tensor::int(shape.clone(), values).unwrap()
        } else {
            Tensor::real(shape.clone(), values).unwrap()
        };
        let id = graph.input(&name, role, shape, dtype).unwrap();
        inputs.push((name, tensor));
        id
    };
    let int = f.support().is_discrete() && quantity == Quantity::Lpdf;
    let y = declare(&mut graph, "y".into(), y, int);
    let parameters: Vec<_> = parameters
        .iter()
        .enumerate()
        .map(|(k, v)| {
            let int = f.parameters()[k].support == Support::Count;
            declare(&mut graph, format!("p{k}"), v.clone(), int)
        })
        .collect();
    let value = match quantity {
        Quantity::Lpdf => f.lpdf(&mut graph, y, &parameters),
        Quantity::Lcdf => f.lcdf(&mut graph, y, &parameters).expect("a distribution function"),
        Quantity::Lccdf => f.lccdf(&mut graph, y, &parameters).expect("a survival function"),
    };
    Compiled { graph, value, y, parameters, inputs }
}

impl Compiled {
    /// The values of some nodes.
    pub(crate) fn values(&self, nodes: &[NodeId]) -> Vec<Tensor> {
        let find = |name: &str| {
            self.inputs.iter().find(|(n, _)| n == name).map(|(_, tensor)| tensor.clone())
        };
        evaluate(&self.graph, nodes, &find).unwrap()
    }

    /// The quantity itself.
    pub(crate) fn result(&self) -> Vec<f64> {
        self.values(&[self.value])[0].values().to_vec()
    }

    /// The quantity with another value of an input.
    pub(crate) fn result_at(&self, input: &str, values: Vec<f64>) -> f64 {
        let find = |name: &str| {
            let (_, tensor) = self.inputs.iter().find(|(n, _)| n == name)?;
            let tensor = tensor.clone();
            Some(if name == input {
                Tensor::real(tensor.shape().clone(), values.clone()).unwrap()
            } else {
                tensor
            })
        };
        evaluate(&self.graph, &[self.value], &find).unwrap()[0].as_scalar().unwrap()
    }

    /// The gradient of the (scalar) quantity with respect to an input.
    pub(crate) fn gradient(&self, wrt: NodeId) -> Vec<f64> {
        let mut graph = self.graph.clone();
        let gradient = differentiate(&mut graph, self.value, &[wrt]).unwrap()[0];
        let compiled = Compiled { graph, inputs: self.inputs.clone(), parameters: vec![], ..*self };
        compiled.values(&[gradient])[0].values().to_vec()
    }

    /// The value that an input was given.
    pub(crate) fn input(&self, name: &str) -> Vec<f64> {
        self.inputs.iter().find(|(n, _)| n == name).unwrap().1.values().to_vec()
    }
}

/// One number of one event.
pub(crate) fn value(name: &str, quantity: Quantity, y: &[f64], parameters: &[&[f64]]) -> f64 {
    let result = compile(name, quantity, y, parameters).result();
    assert_eq!(result.len(), 1, "{name}: one event has one density");
    result[0]
}

/// Log densities of several outcomes with one set of parameters.
pub(crate) fn lpdf_batch(name: &str, outcomes: &[Vec<f64>], parameters: &[&[f64]]) -> Vec<f64> {
    let f = family(name);
    let event = event_shape(f.event_rank(), outcomes[0].len());
    let shape = Shape::from([outcomes.len()]).join(event.extents());
    let parameters: Vec<_> = f
        .parameters()
        .iter()
        .zip(parameters)
        .map(|(p, v)| (event_shape(p.rank, v.len()), v.to_vec()))
        .collect();
    compile_shaped(name, Quantity::Lpdf, (shape, outcomes.concat()), &parameters).result()
}

/// Whether `x` lies in a support, by the graph's predicate.
pub(crate) fn inside(support: Support, x: (Shape, Vec<f64>), args: &[&[f64]]) -> bool {
    let mut g = Graph::new();
    let x = g.constant(Tensor::real(x.0, x.1).unwrap());
    let args: Vec<_> = args
        .iter()
        .map(|a| {
            g.constant(match a {
                [one] => Tensor::scalar(*one),
                many => Tensor::vector(many),
            })
        })
        .collect();
    let predicate = support.predicate(&mut g, x, &args);
    let value = evaluate(&g, &[predicate], &|_| None).unwrap()[0].as_scalar().unwrap();
    assert!(value == 0.0 || value == 1.0);
    value == 1.0
}
