//! A program and its data -> data twice as long: does the graph of the density grow with the number
//! of observations?

use exmc_stan::data::{read_data, write_data};
use exmc_stan::diagnostic::Diagnostic;
use exmc_stan::host::{Environment, Interpreter, Settings};
use exmc_stan::lower::{Options, lower};
use exmc_stan::typed::{Declaration, DeclaredType, Expr, ExprKind, Program, Type, VariableId};
use exmc_stan::value::{Numbers, Value};

/// Nodes of a density's graph before and after doubling.
#[derive(Clone, Debug)]
pub struct Growth {
    /// The size that was doubled.
    pub size: String,
    /// Its value.
    pub count: i64,
    /// Nodes with the data as they are.
    pub nodes: usize,
    /// Nodes with twice the observations.
    pub doubled: usize,
}

/// Doubles the largest size of the data (a scalar that is an extent of some array) and every extent
/// that is declared by it alone, the elements repeated; counts the nodes of the density's graph.
///
/// # Errors
/// No such size, or data that the program does not take any more: other sizes depend on this one.
pub fn double(program: &Program, data: &str) -> Result<Growth, String> {
    let sentence = |all: &[Diagnostic]| all.first().map_or_else(String::new, |d| d.message.clone());
    let read = |text: &str| read_data(program, "data", text).map_err(|e| sentence(&e.diagnostics));
    let nodes = |mut env: Environment| {
        Interpreter::new(program, Settings::default())
            .transform_data(&mut env)
            .map_err(|e| e.message)?;
        let lowered = lower(program, &env, Options::default()).map_err(|e| sentence(&e))?.lowered;
        let used = lowered.graph.reachable(&[lowered.logp]);
        Ok::<usize, String>(used.into_iter().filter(|used| *used).count())
    };
    let known = read(data)?;
    let (size, count) = largest_size(program, &known).ok_or("no size among the data")?;
    let mut twice = known.clone();
    for declaration in &program.data {
        let id = declaration.variable;
        let Some(value) = known.get(id) else { continue };
        let axes = axes_of(declaration, size);
        let value = if id == size { Value::Int(2 * count) } else { repeated(value.clone(), &axes) };
        twice.set(id, value);
    }
    let twice = read(&write_data(program, &twice))?;
    Ok(Growth {
        size: program.variable(size).name.to_string(),
        count,
        nodes: nodes(known)?,
        doubled: nodes(twice)?,
    })
}

/// The scalar of the largest value among those that are an extent of other data.
fn largest_size(program: &Program, known: &Environment) -> Option<(VariableId, i64)> {
    let is_extent = |id| program.data.iter().any(|d| !axes_of(d, id).is_empty());
    let sizes = program.data.iter().filter_map(|declaration| {
        let id = declaration.variable;
        let is_int = program.variable(id).ty == Type::Int;
        let value = known.get(id)?.as_int()?;
        (is_int && is_extent(id)).then_some((id, value))
    });
    sizes.max_by_key(|(_, value)| *value)
}

/// The axes of a variable whose extent is this size and nothing else.
fn axes_of(declaration: &Declaration, size: VariableId) -> Vec<usize> {
    let mut extents: Vec<&Expr> = Vec::new();
    let mut declared = &declaration.ty;
    loop {
        match declared {
            DeclaredType::Array { sizes, element } => {
                extents.extend(sizes);
                declared = element;
            }
            DeclaredType::Leaf { sizes, .. } => {
                extents.extend(sizes);
                break;
            }
            DeclaredType::Tuple(_) => break,
        }
    }
    let is_it = |e: &&Expr| matches!(e.kind, ExprKind::Variable(id) if id == size);
    (0..extents.len()).filter(|axis| is_it(&extents[*axis])).collect()
}

/// A value with its elements repeated along axes.
fn repeated(value: Value, axes: &[usize]) -> Value {
    match value {
        Value::Ints(n) => Value::Ints(axes.iter().fold(n, along)),
        Value::Reals(n) => Value::Reals(axes.iter().fold(n, along)),
        Value::Complexes(n) => Value::Complexes(axes.iter().fold(n, along)),
        Value::Tuples(n) => Value::Tuples(axes.iter().fold(n, along)),
        scalar => scalar,
    }
}

fn along<T: Clone>(numbers: Numbers<T>, axis: &usize) -> Numbers<T> {
    let mut shape = numbers.shape.clone();
    let block: usize = shape[*axis..].iter().product();
    let mut values = Vec::with_capacity(2 * numbers.len());
    if block > 0 {
        for part in numbers.values.chunks(block) {
            values.extend_from_slice(part);
            values.extend_from_slice(part);
        }
    }
    shape[*axis] *= 2;
    Numbers::new(shape, values)
}

#[cfg(test)]
mod tests {
    use exmc::StanProgram;

    use super::*;

    const PROGRAM: &str = "data { int N; int J; array[N] int<lower=1, upper=J> g; matrix[J, N] y; }
        parameters { vector[J] a; real b; }
        model { for (n in 1 : N) { y[ : , n] ~ normal(a[g[n]], 1); BODY } }";

    fn growth(body: &str) -> Growth {
        let program = StanProgram::from_text("p.stan", &PROGRAM.replace("BODY", body)).unwrap();
        let data = r#"{"N": 3, "J": 2, "g": [1, 2, 2], "y": [[1, 2, 3], [4, 5, 6]]}"#;
        double(program.typed(), data).unwrap()
    }

    #[test]
    fn a_regular_loop_does_not_grow() {
        let found = growth("");
        assert_eq!((found.size.as_str(), found.count, found.nodes), ("N", 3, found.doubled));
    }

    #[test]
    fn elements_are_repeated_along_the_doubled_axis() {
        let y = Value::Reals(Numbers::new([2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
        let columns = [1., 2., 3., 1., 2., 3., 4., 5., 6., 4., 5., 6.].to_vec();
        assert_eq!(repeated(y.clone(), &[1]), Value::Reals(Numbers::new([2, 6], columns)));
        let rows = [1., 2., 3., 4., 5., 6., 1., 2., 3., 4., 5., 6.].to_vec();
        assert_eq!(repeated(y, &[0]), Value::Reals(Numbers::new([4, 3], rows)));
    }
}
