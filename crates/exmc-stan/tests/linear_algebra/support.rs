//! Values of a type, calls by the host and as graphs.

use exmc_graph::{DType, Graph, Role, Shape, Tensor, differentiate, evaluate};
use exmc_stan::check::check;
use exmc_stan::host::error::Fault;
use exmc_stan::host::{Interpreter, Settings};
use exmc_stan::library::{Argument, LibraryError, function};
use exmc_stan::source::Sources;
use exmc_stan::syntax::{NoIncludes, parse};
use exmc_stan::typed::Type;
use exmc_stan::value::{Numbers, Value};

/// Whether it holds complex numbers.
pub(crate) fn is_complex(ty: &Type) -> bool {
    use Type::{Complex, ComplexMatrix, ComplexRowVector, ComplexVector};
    matches!(ty.array_parts().1, Complex | ComplexVector | ComplexRowVector | ComplexMatrix)
}

/// The host's value of a call.
pub(crate) fn on_host(name: &str, args: &[(Type, Value)], returns: &Type) -> Result<Value, Fault> {
    let mut sources = Sources::single("empty.stan", "model { }");
    let (tree, _) = parse(&mut sources, &mut NoIncludes);
    let (program, _) = check(sources, &tree);
    let program = program.unwrap();
    let mut host = Interpreter::new(&program, Settings::default());
    let types: Vec<&Type> = args.iter().map(|(ty, _)| ty).collect();
    let values: Vec<Value> = args.iter().map(|(_, value)| value.clone()).collect();
    host.call_library(name, &values, &types, returns)
}

/// All numbers of a value, complex ones in pairs.
pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Int(i) => vec![*i as f64],
        Value::Real(x) => vec![*x],
        Value::Complex(z) => z.to_vec(),
        Value::Ints(n) => n.values.iter().map(|i| *i as f64).collect(),
        Value::Reals(n) => n.values.to_vec(),
        Value::Complexes(n) => n.values.as_flattened().to_vec(),
        Value::Tuple(slots) => slots.iter().flat_map(numbers).collect(),
        Value::Tuples(n) => n.values.iter().flat_map(numbers).collect(),
    }
}

fn is_int(ty: &Type) -> bool {
    *ty.array_parts().1 == Type::Int
}

/// The arguments as nodes: parameters `p0, p1, …`, integers as constants.
fn nodes(g: &mut Graph, args: &[(Type, Value)]) -> (Vec<Argument>, Vec<Tensor>) {
    let mut tensors = Vec::new();
    let mut made = Vec::new();
    for (k, (ty, value)) in args.iter().enumerate() {
        let mut shape = Shape::from(value.shape());
        if is_complex(ty) {
            shape = shape.join(&[2]);
        }
        let node = if is_int(ty) {
            g.constant(Tensor::int(shape.clone(), numbers(value)).unwrap())
        } else {
            g.input(&format!("p{k}"), Role::Parameter, shape.clone(), DType::Real).unwrap()
        };
        tensors.push(Tensor::real(shape, numbers(value)).unwrap());
        made.push(Argument { node, ty: ty.clone(), batched: false });
    }
    (made, tensors)
}

/// The value of a call of parameters, or why it has none.
pub(crate) fn on_graph(name: &str, args: &[(Type, Value)]) -> Result<Vec<f64>, LibraryError> {
    let mut g = Graph::new();
    let (nodes, tensors) = nodes(&mut g, args);
    let output = function(&mut g, name, &nodes)?;
    let read = |name: &str| tensors.get(name.strip_prefix('p')?.parse::<usize>().ok()?).cloned();
    let values = evaluate(&g, &[output.node], &read);
    let values = values.map_err(|error| LibraryError::Mistake(error.to_string()))?;
    Ok(values[0].values().to_vec())
}

/// The values of a call whose real arguments differ among lanes, lane after lane.
pub(crate) fn on_lanes(name: &str, lanes: &[Vec<(Type, Value)>]) -> Result<Vec<f64>, LibraryError> {
    let mut g = Graph::new();
    let (mut nodes, first) = nodes(&mut g, &lanes[0]);
    let mut tensors = Vec::new();
    for (k, (node, tensor)) in nodes.iter_mut().zip(&first).enumerate() {
        let all: Vec<f64> = lanes.iter().flat_map(|args| numbers(&args[k].1)).collect();
        let shape = Shape::from([lanes.len()]).join(tensor.shape().extents());
        if !is_int(&node.ty) {
            node.node =
                g.input(&format!("l{k}"), Role::Parameter, shape.clone(), DType::Real).unwrap();
            node.batched = true;
        }
        tensors.push(Tensor::real(shape.clone(), all[..shape.len()].to_vec()).unwrap());
    }
    let output = function(&mut g, name, &nodes)?;
    let read = |name: &str| tensors.get(name.strip_prefix('l')?.parse::<usize>().ok()?).cloned();
    let values = evaluate(&g, &[output.node], &read);
    let values = values.map_err(|error| LibraryError::Mistake(error.to_string()))?;
    let found = values[0].values();
    Ok(if output.batched { found.to_vec() } else { found.repeat(lanes.len()) })
}

/// Value of a weighted sum of a call's result with its derivatives by all real arguments.
pub(crate) fn slopes(name: &str, args: &[(Type, Value)], weights: &[f64]) -> (f64, Vec<f64>) {
    let mut g = Graph::new();
    let (nodes, tensors) = nodes(&mut g, args);
    let output = function(&mut g, name, &nodes).unwrap();
    let shape = g.shape(output.node).clone();
    let weights = g.constant(Tensor::real(shape, weights.to_vec()).unwrap());
    let terms = g.mul(output.node, weights);
    let total = g.sum(terms);
    let wrt: Vec<_> = nodes.iter().filter(|arg| !is_int(&arg.ty)).map(|arg| arg.node).collect();
    let gradient = differentiate(&mut g, total, &wrt).unwrap();
    let read = |name: &str| tensors.get(name.strip_prefix('p')?.parse::<usize>().ok()?).cloned();
    let all: Vec<_> = std::iter::once(total).chain(gradient).collect();
    let found = evaluate(&g, &all, &read).unwrap();
    let slopes = found[1..].iter().flat_map(|t| t.values().to_vec()).collect();
    (found[0].as_scalar().unwrap(), slopes)
}

/// A value of a type and extents.
pub(crate) fn value(ty: &Type, shape: &[usize], values: Vec<f64>) -> Value {
    if is_complex(ty) {
        let pairs: Vec<[f64; 2]> = values.as_chunks::<2>().0.to_vec();
        return match shape {
            [] => Value::Complex(pairs[0]),
            _ => Value::Complexes(Numbers::new(shape, pairs)),
        };
    }
    if is_int(ty) {
        let ints: Vec<i64> = values.iter().map(|x| *x as i64).collect();
        return match shape {
            [] => Value::Int(ints[0]),
            _ => Value::Ints(Numbers::new(shape, ints)),
        };
    }
    match shape {
        [] => Value::Real(values[0]),
        _ => Value::Reals(Numbers::new(shape, values)),
    }
}
