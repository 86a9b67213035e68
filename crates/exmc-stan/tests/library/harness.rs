//! Rows of `golden.txt` -> calls over parameters, over lanes, and their values.

use exmc_graph::{DType, Graph, NodeId, Role, Shape, Tensor, differentiate, evaluate};
use exmc_stan::library::{Argument, LibraryError, Output};
use exmc_stan::typed::Type;

/// One call with its value.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) args: Vec<Known>,
    pub(crate) value: Known,
}

/// An array of numbers with its type.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) ty: Type,
    pub(crate) shape: Shape,
    pub(crate) values: Vec<f64>,
}

impl Known {
    /// Whether it is made of integers, which are constants in every call.
    pub(crate) fn is_int(&self) -> bool {
        self.ty.array_parts().1 == &Type::Int
    }

    fn read(text: &str) -> Self {
        let (head, numbers) = text.trim().split_once(']').expect("kind[extents] numbers");
        let (kind, extents) = head.split_once('[').expect("kind[extents");
        let ty = match kind {
            "int" => Type::Int,
            "real" | "value" => Type::Real,
            "vector" => Type::Vector,
            "row_vector" => Type::RowVector,
            "matrix" => Type::Matrix,
            "ints" => Type::Int.array(1),
            "reals" => Type::Real.array(1),
            "vectors" => Type::Vector.array(1),
            other => panic!("kind {other}"),
        };
        let extents: Vec<usize> =
            extents.split(',').filter(|e| !e.is_empty()).map(|e| e.parse().unwrap()).collect();
        let values: Vec<f64> = numbers.split_whitespace().map(|n| n.parse().unwrap()).collect();
        let shape = Shape::from(extents);
        assert_eq!(shape.len(), values.len(), "{text}");
        Self { ty, shape, values }
    }
}

/// The rows of a golden file.
pub(crate) fn rows(text: &str) -> Vec<Row> {
    text.lines()
        .map(|line| {
            let parts: Vec<&str> = line.split('|').collect();
            let &[name, args, value] = parts.as_slice() else { panic!("{line}") };
            let args = args.split(';').filter(|a| !a.trim().is_empty()).map(Known::read).collect();
            Row { name: name.trim().to_owned(), args, value: Known::read(value) }
        })
        .collect()
}

/// A library call: from a graph and arguments to a node.
pub(crate) type Make<'a> = &'a dyn Fn(&mut Graph, &[Argument]) -> Result<Output, LibraryError>;

/// The call's arguments as parameters `p0, p1, …` (integers as constants); those of `batched` have
/// `lanes` lanes.
pub(crate) fn arguments(
    g: &mut Graph,
    args: &[Known],
    batched: &dyn Fn(usize) -> bool,
    lanes: usize,
) -> Vec<Argument> {
    let argument = |(k, arg): (usize, &Known)| {
        if arg.is_int() {
            let tensor = Tensor::int(arg.shape.clone(), arg.values.clone()).unwrap();
            return Argument { node: g.constant(tensor), ty: arg.ty.clone(), batched: false };
        }
        let batched = batched(k);
        let shape = if batched {
            Shape::from([lanes]).join(arg.shape.extents())
        } else {
            arg.shape.clone()
        };
        let node = g.input(&format!("p{k}"), Role::Parameter, shape, DType::Real).unwrap();
        Argument { node, ty: arg.ty.clone(), batched }
    };
    args.iter().enumerate().map(argument).collect()
}

/// Values of nodes, given those of the parameters.
pub(crate) fn values(g: &Graph, nodes: &[NodeId], parameters: &[Tensor]) -> Vec<Tensor> {
    let lookup =
        |name: &str| parameters.get(name.strip_prefix('p')?.parse::<usize>().ok()?).cloned();
    evaluate(g, nodes, &lookup).unwrap()
}

/// The arguments' values as tensors.
pub(crate) fn tensors(args: &[Known]) -> Vec<Tensor> {
    args.iter().map(|a| Tensor::real(a.shape.clone(), a.values.clone()).unwrap()).collect()
}

/// Whether two numbers are the same or differ by `tolerance` of the larger one (or of one).
pub(crate) fn near(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0)
}

/// The arguments with every real number times a factor.
pub(crate) fn scaled(args: &[Known], factor: f64) -> Vec<Known> {
    let scale = |arg: &Known| {
        let factor = if arg.is_int() { 1.0 } else { factor };
        Known { values: arg.values.iter().map(|v| v * factor).collect(), ..arg.clone() }
    };
    args.iter().map(scale).collect()
}

/// Irregular weights, so that no error cancels in a sum.
fn weights(len: usize) -> Vec<f64> {
    (0..len).map(|k| ((k as f64 + 1.0) * 12.9898).sin() + 0.2).collect()
}

/// Derivatives of a weighted sum of the call's value with respect to every real argument are those
/// that five-point differences give, whose own error is about h^4 of the fifth derivative.
pub(crate) fn check_gradient(row: &Row, make: Make<'_>) {
    let mut g = Graph::new();
    let args = arguments(&mut g, &row.args, &|_| false, 0);
    let output = make(&mut g, &args).unwrap();
    let shape = g.shape(output.node).clone();
    let w = g.constant(Tensor::real(shape.clone(), weights(shape.len())).unwrap());
    let product = g.mul(w, output.node);
    let scalar = g.sum(product);
    let real: Vec<usize> = (0..args.len()).filter(|k| !row.args[*k].is_int()).collect();
    if real.is_empty() {
        return;
    }
    let wrt: Vec<_> = real.iter().map(|k| args[*k].node).collect();
    let gradient = differentiate(&mut g, scalar, &wrt).unwrap();
    let inputs = tensors(&row.args);
    let found = values(&g, &gradient, &inputs);
    let f =
        |parameters: &[Tensor]| values(&g, &[scalar], parameters).remove(0).as_scalar().unwrap();
    for (&k, found) in real.iter().zip(&found) {
        for element in 0..row.args[k].values.len() {
            let moved = |by: f64| {
                let mut parameters = inputs.clone();
                let mut changed = row.args[k].values.clone();
                changed[element] += by;
                parameters[k] = Tensor::real(row.args[k].shape.clone(), changed).unwrap();
                f(&parameters)
            };
            let h = 1e-3;
            let difference =
                (moved(-2.0 * h) - 8.0 * moved(-h) + 8.0 * moved(h) - moved(2.0 * h)) / (12.0 * h);
            let derivative = found.values()[element];
            assert!(
                near(derivative, difference, 2e-7),
                "{}, argument {k}, element {element}: {derivative} {difference}",
                row.name
            );
        }
    }
}

/// The call with each subset of the arguments that `may_batch` allows differing among lanes: each
/// lane's value is that of the call alone. `vary` gives the arguments of a lane. Returns how many
/// subsets gave a node; `Unbatchable` ones give none.
pub(crate) fn check_lanes(
    label: &str,
    args: &[Known],
    vary: &dyn Fn(usize) -> Vec<Known>,
    make: Make<'_>,
    tolerance: f64,
) -> usize {
    const LANES: usize = 3;
    let real: Vec<usize> = (0..args.len()).filter(|k| !args[*k].is_int()).collect();
    let mut made = 0;
    for subset in 1_usize..1 << real.len() {
        let batched =
            |k: usize| real.iter().position(|r| *r == k).is_some_and(|bit| subset >> bit & 1 == 1);
        let mut g = Graph::new();
        let nodes = arguments(&mut g, args, &batched, LANES);
        let output = match make(&mut g, &nodes) {
            Ok(output) => output,
            Err(LibraryError::Unbatchable) => continue,
            Err(error) => panic!("{label}: {error}"),
        };
        made += 1;
        let of_lanes: Vec<Vec<Known>> = (0..LANES).map(vary).collect();
        let mut inputs = tensors(args);
        for (k, input) in inputs.iter_mut().enumerate().filter(|(k, _)| batched(*k)) {
            let stacked: Vec<f64> =
                of_lanes.iter().flat_map(|lane| lane[k].values.clone()).collect();
            *input =
                Tensor::real(Shape::from([LANES]).join(args[k].shape.extents()), stacked).unwrap();
        }
        let together = values(&g, &[output.node], &inputs).remove(0);
        for (lane, of_lane) in of_lanes.iter().enumerate() {
            let mixed: Vec<Known> = (0..args.len())
                .map(|k| if batched(k) { of_lane[k].clone() } else { args[k].clone() })
                .collect();
            let mut single = Graph::new();
            let nodes = arguments(&mut single, args, &|_| false, 0);
            let alone = make(&mut single, &nodes).unwrap();
            let alone = values(&single, &[alone.node], &tensors(&mixed)).remove(0);
            let width = alone.values().len();
            let start = if output.batched { lane * width } else { 0 };
            let found = &together.values()[start..start + width];
            for (a, b) in found.iter().zip(alone.values()) {
                assert!(near(*a, *b, tolerance), "{label}, lanes {subset:b}: {found:?} {alone:?}");
            }
        }
    }
    made
}
