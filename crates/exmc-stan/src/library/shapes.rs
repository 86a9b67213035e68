//! Functions that make, cut, join and turn containers: arguments -> the same numbers elsewhere.
//!
//! Stan's matrices are column-major where users see an order (`to_vector`); ours are row-major.

use exmc_graph::{Graph, Op, Shape, Tensor};

use super::align::{align, int, lanes, permute, position, reshape, size, with_lanes};
use super::elementwise::wrong;
use super::matrix_parts::{diagonal, identity, rectangular_identity, transpose};
use super::{Answer, Argument, LibraryError, Output};
use crate::typed::Type;

/// The call, if the name is that of a function of shapes.
pub(super) fn call(g: &mut Graph, name: &str, args: &[Argument]) -> Answer {
    Some(match (name, args) {
        ("rep_vector" | "rep_row_vector", [x, _]) => sizes(g, args, 1).map(|to| repeat(g, x, &to)),
        ("rep_array", [x, ..]) => sizes(g, args, 1).map(|to| repeat(g, x, &to)),
        ("rep_matrix", [x, _, _]) => sizes(g, args, 1).map(|to| repeat(g, x, &to)),
        ("rep_matrix", [x, _]) => size(g, args, 1).map(|n| repeat_line(g, x, n)),
        ("zeros_vector" | "zeros_row_vector" | "zeros_array", [_]) => filled(g, args, 0.0),
        ("ones_vector" | "ones_row_vector" | "ones_array", [_]) => filled(g, args, 1.0),
        ("zeros_int_array" | "ones_int_array", [_]) => {
            let value = f64::from(u8::from(name.starts_with("ones")));
            size(g, args, 0).map(|n| known_ints(g, Shape::from([n]), vec![value; n]))
        }
        ("identity_matrix", [_]) => size(g, args, 0).map(|n| Output::new(identity(g, n), false)),
        ("linspaced_vector" | "linspaced_row_vector" | "linspaced_array", [_, _, _]) => {
            linspaced(g, args)
        }
        ("size" | "num_elements" | "rows" | "cols", [x]) => Ok(count(g, name, x)),
        ("dims", [x]) => {
            let extents: Vec<f64> = x.extents(g).iter().map(|e| *e as f64).collect();
            Ok(known_ints(g, Shape::from([extents.len()]), extents))
        }
        ("transpose", [x]) => Ok(match x.ty {
            Type::Matrix => Output::new(transpose(g, x.node, x.batched), x.batched),
            _ => Output::new(x.node, x.batched),
        }),
        ("to_vector" | "to_row_vector", [x]) => Ok(column_major(g, x)),
        ("to_array_1d", [x]) => Ok(match x.ty {
            Type::Array(_) => flat(g, x),
            _ => column_major(g, x),
        }),
        ("to_array_2d" | "to_int", [x]) => Ok(Output::new(x.node, x.batched)),
        ("to_matrix", [x]) => Ok(to_matrix(g, x)),
        ("to_matrix", [x, _, _]) => filled_matrix(g, args, x, true),
        ("to_matrix", [x, _, _, _]) => match int(g, args, 3) {
            Ok(column_major) => filled_matrix(g, args, x, column_major != 0),
            Err(error) => Err(error),
        },
        ("append_row" | "append_col" | "append_array", [_, _]) => append(g, name, args),
        ("head" | "tail" | "segment" | "block" | "sub_row" | "sub_col" | "row" | "col", _) => {
            cut(g, name, args)
        }
        ("reverse", [x]) => Ok(reverse(g, x)),
        ("diagonal", [x]) => Ok(Output::new(diagonal(g, x.node, x.batched), x.batched)),
        ("diag_matrix", [x]) => Ok(diagonal_matrix(g, x)),
        ("add_diag", [m, d]) => add_diagonal(g, m, d),
        ("symmetrize_from_lower_tri", [m]) => symmetric(g, m),
        _ => return None,
    })
}

/// Arguments from `first` on as sizes.
fn sizes(g: &Graph, args: &[Argument], first: usize) -> Result<Vec<usize>, LibraryError> {
    (first..args.len()).map(|k| size(g, args, k)).collect()
}

fn known_ints(g: &mut Graph, shape: Shape, values: Vec<f64>) -> Output {
    let tensor = Tensor::int(shape, values).expect("one small integer for each element");
    Output::new(g.constant(tensor), false)
}

fn filled(g: &mut Graph, args: &[Argument], value: f64) -> Result<Output, LibraryError> {
    let n = size(g, args, 0)?;
    Ok(Output::new(g.filled(&Shape::from([n]), value), false))
}

/// `x` once for each place of a new container around it.
fn repeat(g: &mut Graph, x: &Argument, to: &[usize]) -> Output {
    let inner = x.extents(g).to_vec();
    let ones = [vec![1; to.len()], inner.clone()].concat();
    let lanes = Shape::from(&g.shape(x.node).extents()[..usize::from(x.batched)]);
    let thin = g.reshape(x.node, lanes.join(&ones));
    Output::new(g.broadcast_to(thin, &lanes.join(to).join(&inner)), x.batched)
}

/// A matrix of `n` equal columns (of a vector) or rows (of a row vector).
fn repeat_line(g: &mut Graph, x: &Argument, n: usize) -> Output {
    let len = x.extents(g)[0];
    let lanes = Shape::from(&g.shape(x.node).extents()[..usize::from(x.batched)]);
    let (thin, full_shape) = match x.ty {
        Type::RowVector => ([1, len], [n, len]),
        _ => ([len, 1], [len, n]),
    };
    let thin = g.reshape(x.node, lanes.join(&thin));
    Output::new(g.broadcast_to(thin, &lanes.join(&full_shape)), x.batched)
}

/// $a + \tfrac{k}{n-1}(b-a)$ for $k = 0, \dots, n-1$; only b when n is 1.
fn linspaced(g: &mut Graph, args: &[Argument]) -> Result<Output, LibraryError> {
    let n = size(g, args, 0)?;
    let fraction = |k: usize| if n == 1 { 1.0 } else { k as f64 / (n as f64 - 1.0) };
    let steps: Vec<f64> = (0..n).map(fraction).collect();
    let ends = align(g, &args[1..], &[0, 0])?;
    let steps = g.constant(Tensor::vector(&steps));
    let column = |g: &mut Graph, x| reshape(g, x, g.shape(x).rank() == 1, &[1]);
    let (a, b) = (column(g, ends.nodes[0]), column(g, ends.nodes[1]));
    let width = g.sub(b, a);
    let above = g.mul(width, steps);
    Ok(Output::new(g.add(a, above), ends.batched))
}

fn count(g: &mut Graph, name: &str, x: &Argument) -> Output {
    let extents = x.extents(g).to_vec();
    let (depth, _) = x.ty.array_parts();
    let value = match (name, &x.ty) {
        ("num_elements", _) | ("size", Type::Matrix) => extents.iter().product(),
        ("size", _) => extents.first().copied().unwrap_or(1),
        ("rows", Type::RowVector) | ("cols", Type::Vector) => 1,
        ("rows", _) => extents.get(depth).copied().unwrap_or(1),
        _ => extents.last().copied().unwrap_or(1),
    };
    let node = g.constant(Tensor::indices(&[value]));
    Output::new(g.reshape(node, Shape::scalar()), false)
}

/// All elements in row-major order.
fn flat(g: &mut Graph, x: &Argument) -> Output {
    let len = x.extents(g).iter().product();
    Output::new(reshape(g, x.node, x.batched, &[len]), x.batched)
}

/// All elements of a matrix column by column; of anything else in order.
pub(super) fn column_major(g: &mut Graph, x: &Argument) -> Output {
    let node = match x.ty {
        Type::Matrix => transpose(g, x.node, x.batched),
        _ => x.node,
    };
    flat(g, &Argument { node, ..x.clone() })
}

fn to_matrix(g: &mut Graph, x: &Argument) -> Output {
    let extents = x.extents(g).to_vec();
    let node = match (&x.ty, extents.as_slice()) {
        (Type::Vector, &[n]) => reshape(g, x.node, x.batched, &[n, 1]),
        (Type::RowVector, &[n]) => reshape(g, x.node, x.batched, &[1, n]),
        _ => x.node,
    };
    Output::new(node, x.batched)
}

/// The elements in Stan's order, filled into a matrix by columns or by rows.
fn filled_matrix(
    g: &mut Graph,
    args: &[Argument],
    x: &Argument,
    by_columns: bool,
) -> Result<Output, LibraryError> {
    let (rows, columns) = (size(g, args, 1)?, size(g, args, 2)?);
    let elements = column_major(g, x);
    let found: usize = x.extents(g).iter().product();
    if found != rows * columns {
        let message = format!("{found} elements do not fill a matrix of {rows} by {columns}");
        return Err(LibraryError::Mistake(message));
    }
    let node = if by_columns {
        let turned = reshape(g, elements.node, x.batched, &[columns, rows]);
        transpose(g, turned, x.batched)
    } else {
        reshape(g, elements.node, x.batched, &[rows, columns])
    };
    Ok(Output::new(node, x.batched))
}

/// One after the other: arrays along their outermost extent, vectors and matrices by rows or
/// columns.
fn append(g: &mut Graph, name: &str, args: &[Argument]) -> Result<Output, LibraryError> {
    let lanes = lanes(g, args);
    let first = usize::from(lanes.is_some());
    let matrices = args.iter().any(|a| a.ty == Type::Matrix)
        || (name == "append_row" && args.iter().all(|a| a.ty == Type::RowVector))
        || (name == "append_col" && args.iter().all(|a| a.ty == Type::Vector));
    let mut parts = Vec::with_capacity(args.len());
    for arg in args {
        let node = with_lanes(g, arg, lanes);
        let batched = lanes.is_some();
        let extents = arg.extents(g).to_vec();
        parts.push(match (&arg.ty, extents.as_slice()) {
            (Type::Vector, &[n]) if matrices => reshape(g, node, batched, &[n, 1]),
            (Type::RowVector, &[n]) if matrices => reshape(g, node, batched, &[1, n]),
            (_, []) => reshape(g, node, batched, &[1]),
            _ => node,
        });
    }
    let axis = first + usize::from(name == "append_col" && matrices);
    let joined = g.apply(Op::Concat { axis }, &parts).map_err(|_| {
        let [a, b] = [0, 1].map(|k| Shape::from(args[k].extents(g)));
        LibraryError::Mistake(format!("sizes {a} and {b} cannot be joined by `{name}`"))
    })?;
    Ok(Output::new(joined, lanes.is_some()))
}

/// Parts of a container at known positions.
fn cut(g: &mut Graph, name: &str, args: &[Argument]) -> Result<Output, LibraryError> {
    let Some(x) = args.first() else { return Err(wrong(name)) };
    let extents = x.extents(g).to_vec();
    let first = usize::from(x.batched);
    // For each axis that is cut: first element and number of elements.
    let (ranges, dropped): (Vec<(usize, usize, usize)>, Option<usize>) = match (name, args.len()) {
        ("head" | "tail", 2) => {
            let n = size(g, args, 1)?;
            let rest = extents[0].checked_sub(n).ok_or_else(|| too_many(n, extents[0]))?;
            (vec![(0, if name == "head" { 0 } else { rest }, n)], None)
        }
        ("segment", 3) => {
            let n = size(g, args, 2)?;
            if n == 0 {
                (vec![(0, 0, 0)], None)
            } else {
                (vec![(0, position(g, args, 1, extents[0])?, n)], None)
            }
        }
        ("row", 2) => (vec![(0, position(g, args, 1, extents[0])?, 1)], Some(0)),
        ("col", 2) => (vec![(1, position(g, args, 1, extents[1])?, 1)], Some(1)),
        ("block", 5) => {
            let (rows, columns) = (size(g, args, 3)?, size(g, args, 4)?);
            let row = position(g, args, 1, extents[0])?;
            (vec![(0, row, rows), (1, position(g, args, 2, extents[1])?, columns)], None)
        }
        ("sub_row", 4) => {
            let (row, n) = (position(g, args, 1, extents[0])?, size(g, args, 3)?);
            (vec![(0, row, 1), (1, position(g, args, 2, extents[1])?, n)], Some(0))
        }
        ("sub_col", 4) => {
            let (row, n) = (position(g, args, 1, extents[0])?, size(g, args, 3)?);
            (vec![(0, row, n), (1, position(g, args, 2, extents[1])?, 1)], Some(1))
        }
        _ => return Err(wrong(name)),
    };
    let mut node = x.node;
    let mut left = extents.clone();
    for &(axis, start, len) in &ranges {
        if start + len > extents[axis] {
            return Err(too_many(start + len, extents[axis]));
        }
        node = g.slice(node, first + axis, start, start + len);
        left[axis] = len;
    }
    if let Some(axis) = dropped {
        left.remove(axis);
        node = reshape(g, node, x.batched, &left);
    }
    Ok(Output::new(node, x.batched))
}

fn too_many(wanted: usize, count: usize) -> LibraryError {
    LibraryError::Mistake(format!("element {wanted} is asked for where there are {count}"))
}

fn reverse(g: &mut Graph, x: &Argument) -> Output {
    let n = x.extents(g)[0];
    let backwards: Vec<usize> = (0..n).rev().collect();
    let index = g.constant(Tensor::indices(&backwards));
    let rank = g.shape(x.node).rank();
    let node = if x.batched {
        // Gathers work on the outermost axis.
        let swap: Vec<usize> = [1, 0].into_iter().chain(2..rank).collect();
        let turned = permute(g, x.node, false, &swap);
        let turned = g.gather(turned, index);
        permute(g, turned, false, &swap)
    } else {
        g.gather(x.node, index)
    };
    Output::new(node, x.batched)
}

/// A matrix with a vector on its diagonal.
fn diagonal_matrix(g: &mut Graph, x: &Argument) -> Output {
    let n = x.extents(g)[0];
    let node = reshape(g, x.node, x.batched, &[n, 1]);
    let mask = identity(g, n);
    let zero = g.scalar(0.0);
    Output::new(g.select(mask, node, zero), x.batched)
}

fn add_diagonal(g: &mut Graph, m: &Argument, d: &Argument) -> Result<Output, LibraryError> {
    let (size, added) = (m.extents(g).to_vec(), d.extents(g).to_vec());
    let &[rows, columns] = size.as_slice() else { return Err(wrong("add_diag")) };
    let len = rows.min(columns);
    if !added.is_empty() && added != [len] {
        return Err(LibraryError::Mistake("sizes do not match in `add_diag`".to_owned()));
    }
    // Along the shorter side, so that element k meets the diagonal's k-th.
    let line = match (added.is_empty(), rows <= columns) {
        (true, _) => [1, 1],
        (false, true) => [len, 1],
        (false, false) => [1, len],
    };
    let d_node = reshape(g, d.node, d.batched, &line);
    let mask = rectangular_identity(g, rows, columns);
    let added = g.mul(mask, d_node);
    Ok(Output::new(g.add(m.node, added), m.batched || d.batched))
}

/// The lower triangle, mirrored.
fn symmetric(g: &mut Graph, m: &Argument) -> Result<Output, LibraryError> {
    let size = m.extents(g).to_vec();
    let &[rows, columns] = size.as_slice() else { return Err(wrong("symmetrize_from_lower_tri")) };
    if rows != columns {
        let message = "a matrix that is not square cannot be symmetric".to_owned();
        return Err(LibraryError::Mistake(message));
    }
    let lower = |k: usize| f64::from(u8::from(k % rows <= k / rows));
    let mask = Tensor::real([rows, rows], (0..rows * rows).map(lower).collect::<Vec<_>>());
    let mask = g.constant(mask.expect("one value for each element"));
    let turned = transpose(g, m.node, m.batched);
    Ok(Output::new(g.select(mask, m.node, turned), m.batched))
}
