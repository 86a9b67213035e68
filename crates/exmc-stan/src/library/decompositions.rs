//! Decompositions of real and complex matrices, Fourier transforms: calls -> parts of one
//! operation's flat result.
//!
//! A real matrix is worked on as a complex one; what Stan has as real is the real part. Order and
//! signs are fixed as [`exmc_math::complex`] says: eigenvalues ascend by real part (of a conjugate
//! pair, the one above the axis is first), the largest element of an eigenvector, of a column of
//! the Schur form's unitary matrix and of a left singular vector is real and positive. Eigen leaves
//! both open, and so does Stan. **Reference**: Stan functions reference, "Eigendecomposition",
//! "Complex Schur decomposition", "Singular value decomposition", "Fast Fourier transforms".

use exmc_graph::{Decomposition, Graph, NodeId, Op, Shape, Tensor};
use exmc_math::complex::{EigenLayout, SchurLayout, SingularLayout};

use super::elementwise::wrong;
use super::{Answer, Argument, LibraryError, Output};
use crate::check::types::is_complex;

/// The call, if the name (with these arguments) is one of these.
pub(super) fn call(g: &mut Graph, name: &str, args: &[Argument]) -> Answer {
    let [a] = args else { return None };
    let of_complex = is_complex(&a.ty);
    let kind = match name {
        "eigenvalues" | "eigenvectors" => Decomposition::Eigen,
        "eigenvalues_sym" | "eigenvectors_sym" if of_complex => Decomposition::HermitianEigen,
        "complex_schur_decompose_t" | "complex_schur_decompose_u" => Decomposition::Schur,
        "singular_values" | "svd_U" | "svd_V" => Decomposition::Singular,
        "generalized_inverse" => Decomposition::PseudoInverse,
        "fft" | "fft2" => Decomposition::Fourier,
        "inv_fft" | "inv_fft2" => Decomposition::InverseFourier,
        _ => return None,
    };
    if a.batched {
        return Some(Err(LibraryError::Unbatchable));
    }
    Some(match kind {
        Decomposition::Singular => singular(g, name, a, of_complex),
        Decomposition::PseudoInverse => pseudo_inverse(g, name, a),
        Decomposition::Fourier | Decomposition::InverseFourier => transformed(g, name, kind, a),
        _ => square(g, name, kind, a),
    })
}

/// A matrix as a complex one: `[rows, columns, 2]`.
fn lifted(g: &mut Graph, a: &Argument) -> NodeId {
    if is_complex(&a.ty) {
        return a.node;
    }
    let thin = g.shape(a.node).join(&[1]);
    let zero = g.filled(&thin, 0.0);
    let real = g.reshape(a.node, thin);
    g.concat(&[real, zero], 2)
}

fn run(g: &mut Graph, kind: Decomposition, a: NodeId) -> Result<NodeId, LibraryError> {
    let found = g.apply(Op::Decompose(kind), &[a]);
    found.map_err(|error| LibraryError::Mistake(error.to_string()))
}

/// Elements of a flat array from a place on, under a shape.
fn part(g: &mut Graph, flat: NodeId, start: usize, shape: &[usize]) -> Output {
    let count: usize = shape.iter().product();
    let part = g.slice(flat, 0, start, start + count);
    Output::new(g.reshape(part, Shape::from(shape)), false)
}

/// The real part of a complex array.
fn real(g: &mut Graph, x: Output) -> Output {
    let axis = g.shape(x.node).rank() - 1;
    let outer = Shape::from(&g.shape(x.node).extents()[..axis]);
    let part = g.slice(x.node, axis, 0, 1);
    Output::new(g.reshape(part, outer), false)
}

/// Eigenvalues, eigenvectors and Schur forms.
fn square(
    g: &mut Graph,
    name: &str,
    kind: Decomposition,
    a: &Argument,
) -> Result<Output, LibraryError> {
    let lifted = lifted(g, a);
    let &[n, columns, 2] = g.shape(lifted).extents() else { return Err(wrong(name)) };
    if n != columns || n == 0 {
        let message =
            format!("`{name}` needs a square matrix with elements, found {n} by {columns}");
        return Err(LibraryError::Mistake(message));
    }
    let lifted =
        if kind == Decomposition::HermitianEigen { hermitian(g, lifted, n) } else { lifted };
    let found = run(g, kind, lifted)?;
    let (eigen, schur) = (EigenLayout { n }, SchurLayout { n });
    Ok(match name {
        "eigenvalues" | "eigenvalues_sym" => part(g, found, 0, &[n, 2]),
        "eigenvectors" | "eigenvectors_sym" => part(g, found, eigen.vectors(), &[n, n, 2]),
        "complex_schur_decompose_t" => part(g, found, 0, &[n, n, 2]),
        _ => part(g, found, schur.unitary(), &[n, n, 2]),
    })
}

/// The Hermitian matrix of a complex matrix's lower triangle.
pub(super) fn hermitian(g: &mut Graph, a: NodeId, n: usize) -> NodeId {
    let mut mask = |value_at: &dyn Fn(usize, usize, usize) -> f64| {
        let values: Vec<f64> =
            (0..2 * n * n).map(|k| value_at(k / 2 / n, k / 2 % n, k % 2)).collect();
        g.constant(Tensor::real([n, n, 2], values).expect("one value for each part"))
    };
    let lower = mask(&|i, j, p| f64::from(u8::from(i > j || (i == j && p == 0))));
    let upper = mask(&|i, j, _| f64::from(u8::from(i < j)));
    let sign = mask(&|_, _, p| if p == 0 { 1.0 } else { -1.0 });
    let turned = g.apply(Op::Permute(vec![1, 0, 2]), &[a]).expect("three axes");
    let turned = g.mul(turned, sign);
    let zero = g.scalar(0.0);
    // Selected, not multiplied: what is above the diagonal is not read, whatever it is.
    let (below, above) = (g.select(lower, a, zero), g.select(upper, turned, zero));
    g.add(below, above)
}

fn singular(
    g: &mut Graph,
    name: &str,
    a: &Argument,
    of_complex: bool,
) -> Result<Output, LibraryError> {
    let lifted = lifted(g, a);
    let &[rows, columns, 2] = g.shape(lifted).extents() else { return Err(wrong(name)) };
    let layout = SingularLayout { rows, columns };
    let count = layout.count();
    let found = run(g, Decomposition::Singular, lifted)?;
    let vectors = match name {
        "singular_values" => return Ok(part(g, found, 0, &[count])),
        "svd_U" => part(g, found, layout.left(), &[rows, count, 2]),
        _ => part(g, found, layout.right(), &[columns, count, 2]),
    };
    Ok(if of_complex { vectors } else { real(g, vectors) })
}

fn pseudo_inverse(g: &mut Graph, name: &str, a: &Argument) -> Result<Output, LibraryError> {
    let &[rows, columns] = a.extents(g) else { return Err(wrong(name)) };
    let found = run(g, Decomposition::PseudoInverse, a.node)?;
    Ok(part(g, found, 0, &[columns, rows]))
}

/// $X_k = \sum_j x_j e^{\mp 2\pi i jk/n}$, divided by n for the inverse, along one axis of a vector
/// or both of a matrix.
fn transformed(
    g: &mut Graph,
    name: &str,
    kind: Decomposition,
    x: &Argument,
) -> Result<Output, LibraryError> {
    let extents = g.shape(x.node).extents().to_vec();
    match (extents.as_slice(), name.ends_with('2')) {
        (&[n, 2], false) => {
            let column = g.reshape(x.node, [n, 1, 2]);
            let found = run(g, kind, column)?;
            Ok(part(g, found, 0, &[n, 2]))
        }
        (&[rows, columns, 2], true) => {
            let mut node = x.node;
            for shape in [[rows, columns, 2], [columns, rows, 2]] {
                let found = run(g, kind, node)?;
                let done = part(g, found, 0, &shape).node;
                node = g.apply(Op::Permute(vec![1, 0, 2]), &[done]).expect("three axes");
            }
            Ok(Output::new(node, false))
        }
        _ => Err(wrong(name)),
    }
}
