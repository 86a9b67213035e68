//! Products of vectors and matrices, on any side different among lanes: -> one product a lane.
//!
//! Where one side is the same in all lanes, all lanes together are one matrix product: a loop over
//! rows of a design matrix becomes the product with the whole matrix.

use exmc_graph::{Graph, Reduction, Shape, Tensor};

use super::align::{elementwise, permute, reshape};
use super::elementwise::wrong;
use super::matrix_parts::{diagonal, transpose};
use super::{Answer, Argument, LibraryError, Output};
use crate::typed::Type;

/// The call, if the name is that of a product.
pub(super) fn call(g: &mut Graph, name: &str, args: &[Argument]) -> Answer {
    Some(match (name, args) {
        ("multiply", [a, b]) => multiply(g, a, b),
        ("divide", [a, b]) if a.extents(g).is_empty() || b.extents(g).is_empty() => {
            elementwise(g, args, |g, x| g.div(x[0], x[1]))
        }
        ("matrix_power", [a, _]) => super::align::size(g, args, 1).and_then(|n| power(g, a, n)),
        ("tcrossprod", [a]) => {
            let b = turned(g, a);
            multiply(g, a, &b)
        }
        ("crossprod", [a]) => {
            let b = turned(g, a);
            multiply(g, &b, a)
        }
        ("multiply_lower_tri_self_transpose", [a]) => {
            let lower = lower_triangle(g, a);
            let b = turned(g, &lower);
            multiply(g, &lower, &b)
        }
        ("diag_pre_multiply", [v, m]) => scale_lines(g, m, v, true),
        ("diag_post_multiply", [m, v]) => scale_lines(g, m, v, false),
        ("quad_form_diag", [m, v]) => scale_lines(g, m, v, true).and_then(|rows| {
            let rows = Argument { node: rows.node, batched: rows.batched, ty: Type::Matrix };
            scale_lines(g, &rows, v, false)
        }),
        ("quad_form" | "quad_form_sym", [a, b]) => quad_form(g, a, b),
        ("trace_quad_form", [a, b]) => quad_form(g, a, b).map(|form| {
            if g.shape(form.node).rank() == usize::from(form.batched) {
                return form;
            }
            let diagonal = diagonal(g, form.node, form.batched);
            Output { node: diagonal, ..form }.total(g)
        }),
        // Element by element against the transpose: the product itself is not needed.
        ("trace_dot", [a, b]) => {
            let turned = turned(g, b);
            dot(g, a, &turned)
        }
        ("trace_gen_quad_form", [d, a, b]) => quad_form(g, a, b).and_then(|form| {
            let form = Argument { node: form.node, batched: form.batched, ty: Type::Matrix };
            let turned = turned(g, &form);
            let products = elementwise(g, &[d.clone(), turned], |g, x| g.mul(x[0], x[1]))?;
            Ok(products.total(g))
        }),
        _ => return None,
    })
}

/// The product of two scalars, vectors or matrices, as Stan's `*` has it.
pub(super) fn multiply(g: &mut Graph, a: &Argument, b: &Argument) -> Result<Output, LibraryError> {
    use Type::{Matrix, RowVector, Vector};
    if a.extents(g).is_empty() || b.extents(g).is_empty() {
        return elementwise(g, &[a.clone(), b.clone()], |g, x| g.mul(x[0], x[1]));
    }
    match (&a.ty, &b.ty) {
        (RowVector, Vector) => dot(g, a, b),
        (Vector, RowVector) => {
            let (rows, columns) = (a.extents(g)[0], b.extents(g)[0]);
            let column = reshape(g, a.node, a.batched, &[rows, 1]);
            let row = reshape(g, b.node, b.batched, &[1, columns]);
            Ok(Output::new(g.mul(column, row), a.batched || b.batched))
        }
        (Matrix, Vector) => {
            fits(g, a, b, 1)?;
            Ok(matrix_times_vector(g, a, b))
        }
        (RowVector, Matrix) => {
            fits(g, a, b, 0)?;
            let turned = turned(g, b);
            Ok(matrix_times_vector(g, &turned, a))
        }
        (Matrix, Matrix) => {
            fits(g, a, b, 1)?;
            Ok(matrix_times_matrix(g, a, b))
        }
        // A vector is a matrix of one column, a row vector one of one row.
        (Vector, Matrix) => {
            let rows = a.extents(g)[0];
            let column = reshape(g, a.node, a.batched, &[rows, 1]);
            let column = Argument { node: column, ty: Matrix, batched: a.batched };
            multiply(g, &column, b)
        }
        (Matrix, RowVector) => {
            let columns = b.extents(g)[0];
            let row = reshape(g, b.node, b.batched, &[1, columns]);
            let row = Argument { node: row, ty: Matrix, batched: b.batched };
            multiply(g, a, &row)
        }
        _ => Err(wrong("multiply")),
    }
}

/// A square matrix to a known power, by squaring.
fn power(g: &mut Graph, a: &Argument, n: usize) -> Result<Output, LibraryError> {
    let &[rows, columns] = a.extents(g) else { return Err(wrong("matrix_power")) };
    if rows != columns {
        let message = "a power of a matrix that is not square".to_owned();
        return Err(LibraryError::Mistake(message));
    }
    let mut product: Option<Argument> = None;
    let (mut factor, mut left) = (a.clone(), n);
    let matrix = |x: Output| Argument { node: x.node, ty: Type::Matrix, batched: x.batched };
    while left > 0 {
        if left % 2 == 1 {
            product = Some(match product {
                Some(product) => matrix(multiply(g, &product, &factor)?),
                None => factor.clone(),
            });
        }
        left /= 2;
        if left > 0 {
            factor = matrix(multiply(g, &factor, &factor)?);
        }
    }
    Ok(match product {
        Some(product) => Output::new(product.node, product.batched),
        None => Output::new(super::matrix_parts::identity(g, rows), false),
    })
}

fn fits(g: &Graph, a: &Argument, b: &Argument, inner: usize) -> Result<(), LibraryError> {
    let (x, y) = (a.extents(g), b.extents(g));
    if x[inner] == y[0] {
        return Ok(());
    }
    let (x, y) = (Shape::from(x), Shape::from(y));
    Err(LibraryError::Mistake(format!("sizes {x} and {y} do not multiply")))
}

/// $\sum_k a_k b_k$
pub(super) fn dot(g: &mut Graph, a: &Argument, b: &Argument) -> Result<Output, LibraryError> {
    let (n, m) = (a.extents(g).to_vec(), b.extents(g).to_vec());
    if n != m {
        let (n, m) = (Shape::from(n), Shape::from(m));
        return Err(LibraryError::Mistake(format!("sizes {n} and {m} do not match")));
    }
    let batched = a.batched || b.batched;
    let node = match (a.batched, b.batched) {
        (true, false) if n.len() == 1 => g.matmul(a.node, b.node),
        (false, true) if n.len() == 1 => g.matmul(b.node, a.node),
        _ => {
            let products = g.mul(a.node, b.node);
            return Ok(Output::new(products, batched).total(g));
        }
    };
    Ok(Output::new(node, batched))
}

fn matrix_times_vector(g: &mut Graph, a: &Argument, x: &Argument) -> Output {
    let &[rows, inner] = a.extents(g) else { unreachable!("a matrix") };
    let node = match (a.batched, x.batched) {
        (false, false) => g.matmul(a.node, x.node),
        (false, true) => {
            let turned = g.transpose(a.node);
            g.matmul(x.node, turned)
        }
        (true, false) => {
            let lanes = g.shape(a.node).extents()[0];
            let tall = g.reshape(a.node, [lanes * rows, inner]);
            let products = g.matmul(tall, x.node);
            g.reshape(products, [lanes, rows])
        }
        (true, true) => {
            let row = reshape(g, x.node, true, &[1, inner]);
            let products = g.mul(a.node, row);
            g.sum_last(products)
        }
    };
    Output::new(node, a.batched || x.batched)
}

fn matrix_times_matrix(g: &mut Graph, a: &Argument, b: &Argument) -> Output {
    let &[rows, inner] = a.extents(g) else { unreachable!("a matrix") };
    let columns = b.extents(g)[1];
    let node = match (a.batched, b.batched) {
        (false, false) => g.matmul(a.node, b.node),
        (true, false) => {
            let lanes = g.shape(a.node).extents()[0];
            let tall = g.reshape(a.node, [lanes * rows, inner]);
            let products = g.matmul(tall, b.node);
            g.reshape(products, [lanes, rows, columns])
        }
        (false, true) => {
            let lanes = g.shape(b.node).extents()[0];
            let wide = permute(g, b.node, false, &[1, 0, 2]);
            let wide = g.reshape(wide, [inner, lanes * columns]);
            let products = g.matmul(a.node, wide);
            let products = g.reshape(products, [rows, lanes, columns]);
            permute(g, products, false, &[1, 0, 2])
        }
        (true, true) => {
            let left = reshape(g, a.node, true, &[rows, inner, 1]);
            let right = reshape(g, b.node, true, &[1, inner, columns]);
            let products = g.mul(left, right);
            g.reduce(Reduction::Sum, products, &[2])
        }
    };
    Output::new(node, a.batched || b.batched)
}

/// The transpose of a vector, row vector or matrix.
pub(super) fn turned(g: &mut Graph, a: &Argument) -> Argument {
    let (node, ty) = match a.ty {
        Type::Matrix => (transpose(g, a.node, a.batched), Type::Matrix),
        Type::Vector => (a.node, Type::RowVector),
        _ => (a.node, Type::Vector),
    };
    Argument { node, ty, batched: a.batched }
}

/// The matrix with zeros above its diagonal.
pub(super) fn lower_triangle(g: &mut Graph, a: &Argument) -> Argument {
    let &[rows, columns] = a.extents(g) else { unreachable!("a matrix") };
    let keep = |k: usize| f64::from(u8::from(k % columns <= k / columns));
    let mask: Vec<f64> = (0..rows * columns).map(keep).collect();
    let mask = Tensor::real([rows, columns], mask).expect("one value for each element");
    let (mask, zero) = (g.constant(mask), g.scalar(0.0));
    let node = g.select(mask, a.node, zero);
    Argument { node, ..a.clone() }
}

/// Rows (or columns) of a matrix times the elements of a vector.
fn scale_lines(
    g: &mut Graph,
    m: &Argument,
    v: &Argument,
    rows: bool,
) -> Result<Output, LibraryError> {
    let (size, factors) = (m.extents(g).to_vec(), v.extents(g).to_vec());
    let (&[m_rows, m_columns], &[n]) = (size.as_slice(), factors.as_slice()) else {
        return Err(wrong("diag_pre_multiply"));
    };
    if n != if rows { m_rows } else { m_columns } {
        let (size, factors) = (Shape::from(size), Shape::from(factors));
        return Err(LibraryError::Mistake(format!("sizes {size} and {factors} do not multiply")));
    }
    let line = if rows { [n, 1] } else { [1, n] };
    let factors = reshape(g, v.node, v.batched, &line);
    Ok(Output::new(g.mul(m.node, factors), m.batched || v.batched))
}

/// $B'AB$; a number if B is a vector.
fn quad_form(g: &mut Graph, a: &Argument, b: &Argument) -> Result<Output, LibraryError> {
    let product = multiply(g, a, b)?;
    let product = Argument { node: product.node, batched: product.batched, ty: b.ty.clone() };
    let turned = turned(g, b);
    multiply(g, &turned, &product)
}
