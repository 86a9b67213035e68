//! Sparse matrices in compressed rows (m, n, w, v, u): calls -> products, dense matrices, and their
//! parts.
//!
//! **Reference**: Stan functions reference, "Sparse matrix operations".

use exmc_graph::{DType, Graph, NodeId, Op, Shape, Tensor, evaluate};

use super::align::{ints, known, lanes, size, with_lanes};
use super::elementwise::wrong;
use super::{Answer, Argument, LibraryError, Output};

/// The call, if the name is one of these.
pub(super) fn call(g: &mut Graph, name: &str, args: &[Argument]) -> Answer {
    Some(match (name, args) {
        ("csr_matrix_times_vector", [_, _, _, _, _, _]) => product(g, args),
        ("csr_to_dense_matrix", [_, _, _, _, _]) => dense(g, args),
        ("csr_extract_w" | "csr_extract_v" | "csr_extract_u", [a]) => extracted(g, name, a),
        _ => return None,
    })
}

/// Row and column of each element of (m, n, w, v, u), and the numbers of both.
struct Places {
    row: Vec<usize>,
    column: Vec<usize>,
    rows: usize,
    columns: usize,
}

fn places(g: &Graph, args: &[Argument]) -> Result<Places, LibraryError> {
    let (rows, columns) = (size(g, args, 0)?, size(g, args, 1)?);
    let (of_columns, starts) = (ints(g, args, 3)?, ints(g, args, 4)?);
    if args[3].batched || args[4].batched {
        return Err(LibraryError::Unbatchable);
    }
    let count = of_columns.len();
    let ascending = starts.is_sorted() && starts.first() == Some(&1);
    let is_complete = starts.len() == rows + 1 && starts.last() == Some(&(count as i64 + 1));
    let inside = of_columns.iter().all(|c| (1..=columns as i64).contains(c));
    if !(ascending && is_complete && inside) || args[2].extents(g) != [count] {
        return Err(LibraryError::Mistake("the compressed rows do not fit together".to_owned()));
    }
    let column = of_columns.iter().map(|c| (c - 1) as usize).collect();
    let row = (0..rows)
        .flat_map(|row| std::iter::repeat_n(row, (starts[row + 1] - starts[row]) as usize))
        .collect();
    Ok(Places { row, column, rows, columns })
}

/// The matrix times a vector.
fn product(g: &mut Graph, args: &[Argument]) -> Result<Output, LibraryError> {
    let Places { row, column, rows, columns } = places(g, args)?;
    let (w, b) = (&args[2], &args[5]);
    if b.extents(g) != [columns] {
        return Err(LibraryError::Mistake("the compressed rows do not fit together".to_owned()));
    }
    let (column_of, row_of) =
        (g.constant(Tensor::indices(&column)), g.constant(Tensor::indices(&row)));
    let lanes = lanes(g, args);
    let scatter = Op::ScatterAdd { len: rows };
    let fits = "one row for each element that is there";
    let node = if lanes.is_none() {
        let factors = g.gather(b.node, column_of);
        let terms = g.mul(w.node, factors);
        g.apply(scatter, &[terms, row_of]).expect(fits)
    } else {
        // Gathers and scatters work on the outermost axis, so the lanes go last.
        let (w, b) = (with_lanes(g, w, lanes), with_lanes(g, b, lanes));
        let (w, b) = (g.transpose(w), g.transpose(b));
        let factors = g.gather(b, column_of);
        let terms = g.mul(w, factors);
        let sums = g.apply(scatter, &[terms, row_of]).expect(fits);
        g.transpose(sums)
    };
    Ok(Output::new(node, lanes.is_some()))
}

/// The same elements with zeros between them; of several in one place, the last.
fn dense(g: &mut Graph, args: &[Argument]) -> Result<Output, LibraryError> {
    let Places { row, column, rows, columns } = places(g, args)?;
    let w = &args[2];
    if w.batched {
        return Err(LibraryError::Unbatchable);
    }
    // The element behind all others is zero.
    let mut positions = vec![row.len(); rows * columns];
    for (k, (row, column)) in row.iter().zip(&column).enumerate() {
        positions[row * columns + column] = k;
    }
    let zero = g.filled(&Shape::from([1]), 0.0);
    let elements = g.concat(&[w.node, zero], 0);
    let positions = g.constant(Tensor::indices(&positions));
    let flat = g.gather(elements, positions);
    Ok(Output::new(g.reshape(flat, [rows, columns]), false))
}

/// The elements that are not zero, their columns, or where rows start.
fn extracted(g: &mut Graph, name: &str, a: &Argument) -> Result<Output, LibraryError> {
    if a.batched {
        return Err(LibraryError::Unbatchable);
    }
    let &[rows, columns] = a.extents(g) else { return Err(wrong(name)) };
    let is_there = pattern(g, a.node)?;
    let places: Vec<usize> = (0..rows * columns).filter(|k| is_there[*k]).collect();
    let numbers: Vec<f64> = match name {
        "csr_extract_w" => {
            let flat = g.reshape(a.node, [rows * columns]);
            let positions = g.constant(Tensor::indices(&places));
            return Ok(Output::new(g.gather(flat, positions), false));
        }
        "csr_extract_v" => places.iter().map(|k| (k % columns + 1) as f64).collect(),
        _ => {
            let before = |row: usize| places.iter().filter(|k| **k < row * columns).count();
            (0..=rows).map(|row| (before(row) + 1) as f64).collect()
        }
    };
    let numbers = Tensor::int([numbers.len()], numbers).expect("small integers");
    Ok(Output::new(g.constant(numbers), false))
}

/// Which elements are not zero: of a known matrix, those; of one that depends on parameters, those
/// that are not zero at irregular values of them, which must be the same at several.
fn pattern(g: &Graph, node: NodeId) -> Result<Vec<bool>, LibraryError> {
    if let Some(values) = known(g, node) {
        return Ok(values.iter().map(|x| *x != 0.0).collect());
    }
    let what = "the non-zero elements of a matrix whose zeros depend on parameters";
    let unsupported = || LibraryError::Unsupported(what.to_owned());
    let mut found: Option<Vec<bool>> = None;
    for (low, width) in [(0.2, 0.7), (-0.9, 0.7), (-1.7, 3.1)] {
        let inputs = |name: &str| {
            let input = g.find_input(name)?;
            let shape = g.shape(input).clone();
            if g.node(input).dtype == DType::Int {
                return None;
            }
            // Weyl's sequence: no two alike, no zero.
            let start = name.bytes().map(usize::from).sum::<usize>();
            let value =
                |k: usize| low + width * ((start + k) as f64 * 0.618_033_988_749_894_9).fract();
            Tensor::real(shape.clone(), (0..shape.len()).map(value).collect::<Vec<_>>())
        };
        let values = evaluate(g, &[node], &inputs).map_err(|_| unsupported())?;
        let now: Vec<bool> = values[0].values().iter().map(|x| *x != 0.0).collect();
        if found.as_ref().is_some_and(|before| *before != now) {
            return Err(unsupported());
        }
        found = Some(now);
    }
    found.ok_or_else(unsupported)
}
