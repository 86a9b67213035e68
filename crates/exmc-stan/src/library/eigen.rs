//! Symmetric eigenvalues and eigenvectors: calls -> parts of one decomposition.
//!
//! Both functions of one matrix share the operation. **Reference**: Stan functions reference,
//! "Eigendecomposition".

use exmc_graph::{Graph, Op};

use super::elementwise::wrong;
use super::{Answer, Argument, LibraryError, Output};

/// The call, if the name is one of these.
pub(super) fn call(g: &mut Graph, name: &str, args: &[Argument]) -> Answer {
    let vectors = match name {
        "eigenvalues_sym" => false,
        "eigenvectors_sym" => true,
        _ => return None,
    };
    let [a] = args else { return Some(Err(wrong(name))) };
    Some(decompose(g, name, a, vectors))
}

fn decompose(
    g: &mut Graph,
    name: &str,
    a: &Argument,
    vectors: bool,
) -> Result<Output, LibraryError> {
    let &[n, columns] = a.extents(g) else { return Err(wrong(name)) };
    if n != columns || n == 0 {
        return Err(LibraryError::Mistake(format!("`{name}` needs a square matrix")));
    }
    if a.batched {
        return Err(LibraryError::Unbatchable);
    }
    let packed = g
        .apply(Op::SymmetricEigen, &[a.node])
        .map_err(|error| LibraryError::Mistake(error.to_string()))?;
    let node = if vectors {
        let rows = g.slice(packed, 0, 1, n + 1);
        g.transpose(rows)
    } else {
        let values = g.slice(packed, 0, 0, 1);
        g.reshape(values, [n])
    };
    Ok(Output::new(node, false))
}
