//! Stan's library as graph operations: a function's name and argument nodes -> nodes.
//!
//! [`function`] is for functions, [`density`] for `_lpdf`, `_lpmf`, `_cdf` and their like. Both
//! work over lanes: an argument that differs among lanes carries them as its outermost axis, and
//! the result then does too. What decides a shape or an index (`head(v, n)`, `rep_vector(x, n)`)
//! must be a constant node.
//!
//! Nothing here knows programs: the caller has checked types, applies checks and says where a
//! mistake was.

mod align;
mod bessel;
mod changes;
mod complex;
mod decompositions;
mod density;
mod eigen;
mod elementwise;
mod exponential;
mod glm;
mod kalman;
mod kernels;
mod left_out;
mod limits;
mod matrices;
mod matrix_parts;
mod mixtures;
mod orthogonal;
mod products;
mod proportional;
mod reductions;
mod shapes;
mod solves;
mod sparse;
mod special;

use exmc_graph::{Graph, NodeId};

use crate::typed::Type;

pub(crate) use align::known;
pub(crate) use changes::adds_jacobian;
pub use density::{Density, density};

/// An argument of a library function.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// Its elements: shape `[lanes] ++ extents` if `batched`, else `extents`; extents are those of
    /// arrays, then of vectors or matrices, row-major; for complex numbers one more, real and
    /// imaginary part.
    pub node: NodeId,
    /// Its type in the program.
    pub ty: Type,
    /// Whether it differs among lanes.
    pub batched: bool,
}

/// What a library function gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its elements: shape `[lanes] ++ extents` if `batched`, else `extents`.
    pub node: NodeId,
    /// Whether it differs among lanes.
    pub batched: bool,
}

/// A condition that an argument must satisfy.
#[derive(Clone, Debug)]
pub struct Check {
    /// Not zero where it holds: shape `[lanes]` if `batched`, else a number.
    pub holds: NodeId,
    /// Whether it differs among lanes.
    pub batched: bool,
    /// What must hold, in words.
    pub message: String,
}

/// Why a call has no node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LibraryError {
    /// There is no such function here, or not for these types.
    Unsupported(String),
    /// It works on one lane at a time: call it once for each and stack the results.
    Unbatchable,
    /// The argument at this position decides a shape, so it must be the same in all lanes that are
    /// called for at once.
    Varies(usize),
    /// The argument at this position must be known before any parameter.
    Unknown(usize),
    /// The call is a mistake of the program's or the data's: sizes that do not fit, an index that
    /// is out of range.
    Mistake(String),
}

impl std::fmt::Display for LibraryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unsupported(what) => write!(f, "{what} is not available for parameters yet"),
            Self::Unbatchable => f.write_str("it works on one lane at a time"),
            Self::Varies(k) => write!(f, "argument {} decides a size and differs", k + 1),
            Self::Unknown(k) => {
                write!(f, "argument {} decides a size and must not depend on parameters", k + 1)
            }
            Self::Mistake(what) => f.write_str(what),
        }
    }
}

/// The node for a call of a function that is no density.
///
/// **Shapes**: as Stan's functions reference has them, after the lanes' axis. Operators go by the
/// names of the functions that they stand for: `add`, `subtract`, `multiply`, `divide`,
/// `elt_multiply`, `elt_divide`, `pow`, `elt_pow`, `minus`, `transpose`, `mdivide_left`,
/// `logical_lt` …
///
/// # Errors
/// See [`LibraryError`].
pub fn function(g: &mut Graph, name: &str, args: &[Argument]) -> Result<Output, LibraryError> {
    let tables = [
        decompositions::call,
        complex::call,
        elementwise::call,
        reductions::call,
        shapes::call,
        products::call,
        sparse::call,
        solves::call,
        mixtures::call,
        kernels::call,
        eigen::call,
        exponential::call,
        orthogonal::call,
        changes::call,
        bessel::call,
        special::call,
    ];
    for table in tables {
        if let Some(result) = table(g, name, args) {
            return result;
        }
    }
    Err(LibraryError::Unsupported(format!("the function `{name}`")))
}

/// The functions that give the slots of a function's value, where that is a tuple.
pub(crate) fn parts_of(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "qr" => &["qr_Q", "qr_R"],
        "qr_thin" => &["qr_thin_Q", "qr_thin_R"],
        "eigendecompose_sym" => &["eigenvectors_sym", "eigenvalues_sym"],
        "svd" => &["svd_U", "singular_values", "svd_V"],
        "eigendecompose" => &["eigenvectors", "eigenvalues"],
        "complex_schur_decompose" => &["complex_schur_decompose_u", "complex_schur_decompose_t"],
        "csr_extract" => &["csr_extract_w", "csr_extract_v", "csr_extract_u"],
        _ => return None,
    })
}

/// What each table answers: nothing for a name that is not its own.
type Answer = Option<Result<Output, LibraryError>>;
