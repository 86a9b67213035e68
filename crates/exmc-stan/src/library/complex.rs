//! Complex numbers: calls -> the same on real and imaginary parts.
//!
//! A complex argument has one more extent than its type says: the innermost, of two, is the real
//! and the imaginary part. What is linear (and what only moves elements) is done for both parts
//! alone, products by the rule $(a+ib)(c+id) = ac-bd + i(ad+bc)$, functions of one number by their
//! formulas (`formulas`). **Reference**: Stan functions reference, "Complex-valued basic
//! functions", "Complex matrix operations".

mod formulas;

use exmc_graph::{Graph, NodeId, Shape};

use self::formulas::{divide, multiply, one, polar, power, squared};
use super::align::{align, lanes, with_lanes};
use super::elementwise::wrong;
use super::{Answer, Argument, LibraryError, Output, function};
use crate::check::types::{is_complex, real_of};
use crate::scalar_functions::powers::hypot;
use crate::typed::Type;

/// A complex number's real and imaginary part, as nodes of one shape.
type Pair = (NodeId, NodeId);

/// The call, if it has complex arguments or makes complex numbers.
pub(super) fn call(g: &mut Graph, name: &str, args: &[Argument]) -> Answer {
    if !args.iter().any(|arg| is_complex(&arg.ty)) {
        return match (name, args) {
            ("to_complex", _) => Some(from_parts(g, args)),
            ("polar", [r, angle]) => Some(each(g, &[r, angle], |g, x| polar(g, x[0].0, x[1].0))),
            _ => None,
        };
    }
    Some(match (name, args) {
        (
            "add" | "subtract" | "minus" | "plus" | "transpose" | "head" | "tail" | "segment"
            | "row" | "col" | "sub_row" | "sub_col" | "block" | "append_row" | "append_col"
            | "append_array" | "reverse" | "to_vector" | "to_row_vector" | "to_matrix"
            | "to_array_1d" | "to_array_2d" | "rep_vector" | "rep_row_vector" | "rep_matrix"
            | "rep_array" | "sum" | "cumulative_sum" | "diagonal" | "diag_matrix" | "trace"
            | "add_diag",
            _,
        ) => both_parts(g, name, args),
        ("multiply" | "elt_multiply" | "diag_pre_multiply" | "diag_post_multiply", [a, b]) => {
            product(g, name, a, b, false)
        }
        // Of vectors, conjugate in the first; of arrays and along rows and columns, as Stan has it,
        // not.
        ("dot_product", [a, b]) => {
            let conjugate = !matches!(a.ty, Type::Array(_));
            product(g, name, a, b, conjugate)
        }
        ("columns_dot_product" | "rows_dot_product", [a, b]) => product(g, name, a, b, false),
        ("symmetrize_from_lower_tri", [x]) => symmetric(g, x),
        ("dot_self", [a]) => product(g, "dot_product", a, a, true),
        ("columns_dot_self", [a]) => product(g, "columns_dot_product", a, a, true),
        ("rows_dot_self", [a]) => product(g, "rows_dot_product", a, a, true),
        ("mdivide_right", [a, b]) => divided_by_matrix(g, a, b),
        // Both parts have the same size.
        ("size" | "num_elements" | "rows" | "cols" | "dims", [x]) => {
            let (re, _) = parts(g, x);
            function(g, name, &[re])
        }
        ("prod", [x]) => Ok(multiplied(g, x)),
        ("to_complex", [x]) => Ok(Output::new(x.node, x.batched)),
        ("get_real", [x]) => Ok(part(g, x, 0)),
        ("get_imag", [x]) => Ok(part(g, x, 1)),
        ("abs" | "arg" | "norm" | "logical_eq" | "logical_neq", _) => real_valued(g, name, args),
        ("divide" | "elt_divide", [a, b]) => each(g, &[a, b], |g, x| divide(g, x[0], x[1])),
        ("pow" | "elt_pow", [a, b]) => each(g, &[a, b], |g, x| power(g, x[0], x[1])),
        (_, [x]) => match one(name) {
            Some(formula) => each(g, &[x], |g, x| formula(g, x[0])),
            None => Err(wrong(name)),
        },
        _ => Err(wrong(name)),
    })
}

/// One part of a complex argument as a real one.
fn part(g: &mut Graph, x: &Argument, which: usize) -> Output {
    let axis = g.shape(x.node).rank() - 1;
    let outer = Shape::from(&g.shape(x.node).extents()[..axis]);
    let slice = g.slice(x.node, axis, which, which + 1);
    Output::new(g.reshape(slice, outer), x.batched)
}

/// Both parts as real arguments; no imaginary part for a real argument.
fn parts(g: &mut Graph, x: &Argument) -> (Argument, Option<Argument>) {
    if !is_complex(&x.ty) {
        return (x.clone(), None);
    }
    let [re, im] = [0, 1].map(|which| {
        let Output { node, batched } = part(g, x, which);
        Argument { node, ty: real_of(&x.ty), batched }
    });
    (re, Some(im))
}

/// Two real values as the parts of a complex one.
fn joined(g: &mut Graph, re: Output, im: Output) -> Output {
    let as_argument = |o: Output| Argument { node: o.node, ty: Type::Real, batched: o.batched };
    let both = [as_argument(re), as_argument(im)];
    let count = lanes(g, &both);
    let [re, im] = both.map(|x| with_lanes(g, &x, count));
    let shape = match g.shape(re).rank() >= g.shape(im).rank() {
        true => g.shape(re).clone(),
        false => g.shape(im).clone(),
    };
    Output::new(stacked(g, (re, im), &shape), count.is_some())
}

/// Both parts, stretched to a shape, along a new innermost axis.
fn stacked(g: &mut Graph, (re, im): Pair, shape: &Shape) -> NodeId {
    let thin = shape.join(&[1]);
    let [re, im] = [re, im].map(|node| {
        let broadcast = g.broadcast_to(node, shape);
        g.reshape(broadcast, thin.clone())
    });
    g.concat(&[re, im], shape.rank())
}

/// A formula of complex elements applied to arguments that are stretched to meet.
fn each(
    g: &mut Graph,
    args: &[&Argument],
    formula: impl FnOnce(&mut Graph, &[Pair]) -> Pair,
) -> Result<Output, LibraryError> {
    let (pairs, shape, batched) = aligned_pairs(g, args)?;
    let value = formula(g, &pairs);
    Ok(Output::new(stacked(g, value, &shape), batched))
}

fn aligned_pairs(
    g: &mut Graph,
    args: &[&Argument],
) -> Result<(Vec<Pair>, Shape, bool), LibraryError> {
    let mut flat = Vec::with_capacity(2 * args.len());
    for arg in args {
        let (re, im) = parts(g, arg);
        let zero = Argument { node: g.scalar(0.0), ty: Type::Real, batched: false };
        flat.extend([re, im.unwrap_or(zero)]);
    }
    let aligned = align(g, &flat, &vec![0; flat.len()])?;
    let pairs = aligned.nodes.chunks(2).map(|pair| (pair[0], pair[1])).collect();
    Ok((pairs, aligned.shape, aligned.batched))
}

/// `to_complex(…)` of real numbers.
fn from_parts(g: &mut Graph, args: &[Argument]) -> Result<Output, LibraryError> {
    let zero = g.scalar(0.0);
    match args {
        [] => Ok(Output::new(stacked(g, (zero, zero), &Shape::scalar()), false)),
        [x] => each(g, &[x], |_, x| x[0]),
        [re, im] => each(g, &[re, im], |_, x| (x[0].0, x[1].0)),
        _ => Err(wrong("to_complex")),
    }
}

/// A linear function of both parts alone; real numbers have no imaginary part, integers are sizes.
fn both_parts(g: &mut Graph, name: &str, args: &[Argument]) -> Result<Output, LibraryError> {
    let (mut re, mut im) = (Vec::with_capacity(args.len()), Vec::with_capacity(args.len()));
    for arg in args {
        let is_size = *arg.ty.array_parts().1 == Type::Int && !matches!(name, "add" | "subtract");
        let (real, imaginary) = parts(g, arg);
        im.push(match imaginary {
            Some(imaginary) => imaginary,
            None if is_size => real.clone(),
            None => {
                let shape = g.shape(real.node).clone();
                Argument { node: g.filled(&shape, 0.0), ..real.clone() }
            }
        });
        re.push(real);
    }
    let (re, im) = (function(g, name, &re)?, function(g, name, &im)?);
    Ok(joined(g, re, im))
}

/// A bilinear function, conjugate in its first argument if `conjugate`.
fn product(
    g: &mut Graph,
    name: &str,
    a: &Argument,
    b: &Argument,
    conjugate: bool,
) -> Result<Output, LibraryError> {
    let ((a_re, a_im), (b_re, b_im)) = (parts(g, a), parts(g, b));
    let mut real_product = |a: &Argument, b: &Argument| function(g, name, &[a.clone(), b.clone()]);
    let re = real_product(&a_re, &b_re)?;
    let (Some(a_im), Some(b_im)) = (&a_im, &b_im) else {
        let im = match (&a_im, &b_im) {
            (Some(a_im), _) => real_product(a_im, &b_re)?,
            (_, Some(b_im)) => real_product(&a_re, b_im)?,
            _ => return Err(wrong(name)),
        };
        let sign = if conjugate && b_im.is_none() { -1.0 } else { 1.0 };
        let im = Output { node: g.scale(im.node, sign), ..im };
        return Ok(joined(g, re, im));
    };
    let (both, left, right) =
        (real_product(a_im, b_im)?, real_product(a_im, &b_re)?, real_product(&a_re, b_im)?);
    // Both factors' parts have the same lanes, so the four products do.
    let (re, im) = if conjugate {
        (g.add(re.node, both.node), g.sub(right.node, left.node))
    } else {
        (g.sub(re.node, both.node), g.add(right.node, left.node))
    };
    let batched = both.batched;
    Ok(joined(g, Output::new(re, batched), Output::new(im, batched)))
}

/// $aB^{-1}$ by the real system of twice the size, whose matrix is
/// $\begin{pmatrix}X&Y\\-Y&X\end{pmatrix}$ for $B = X+iY$ and rows $(\Re a, \Im a)$.
fn divided_by_matrix(g: &mut Graph, a: &Argument, b: &Argument) -> Result<Output, LibraryError> {
    if a.batched || b.batched {
        return Err(LibraryError::Unbatchable);
    }
    let ((a_re, Some(a_im)), (x, Some(y))) = (parts(g, a), parts(g, b)) else {
        return Err(wrong("mdivide_right"));
    };
    let n = x.extents(g).first().copied().unwrap_or(0);
    if x.extents(g) != [n, n] || a_re.extents(g).last() != Some(&n) {
        return Err(LibraryError::Mistake(
            "sizes do not match in a division by a matrix".to_owned(),
        ));
    }
    let minus = g.neg(y.node);
    let (top, bottom) = (g.concat(&[x.node, y.node], 1), g.concat(&[minus, x.node], 1));
    let system = g.concat(&[top, bottom], 0);
    let axis = g.shape(a_re.node).rank() - 1;
    let rows = g.concat(&[a_re.node, a_im.node], axis);
    let plain = |node, ty| Argument { node, ty, batched: false };
    let solved =
        function(g, "mdivide_right", &[plain(rows, a_re.ty), plain(system, Type::Matrix)])?;
    let [re, im] =
        [0, 1].map(|k| Output::new(g.slice(solved.node, axis, k * n, (k + 1) * n), false));
    Ok(joined(g, re, im))
}

/// The product of all elements.
fn multiplied(g: &mut Graph, x: &Argument) -> Output {
    let (re, im) = (part(g, x, 0), part(g, x, 1));
    let first = usize::from(x.batched);
    let lanes = Shape::from(&g.shape(re.node).extents()[..first]);
    let count: usize = g.shape(re.node).extents()[first..].iter().product();
    let [re, im] = [re, im].map(|o| g.reshape(o.node, lanes.join(&[count])));
    let element_at = |g: &mut Graph, node, k| {
        let one = g.slice(node, first, k, k + 1);
        g.reshape(one, lanes.clone())
    };
    let (one, zero) = (g.scalar(1.0), g.scalar(0.0));
    let mut total = (one, zero);
    for k in 0..count {
        let element = (element_at(g, re, k), element_at(g, im, k));
        total = multiply(g, total, element);
    }
    Output::new(stacked(g, total, &lanes), x.batched)
}

/// The Hermitian matrix of the lower triangle; the diagonal stays as it is.
fn symmetric(g: &mut Graph, x: &Argument) -> Result<Output, LibraryError> {
    let (re, im) = (part(g, x, 0), part(g, x, 1));
    let plain = |o: Output| Argument { node: o.node, ty: Type::Matrix, batched: o.batched };
    let (re, im) = (plain(re), plain(im));
    let mirrored = function(g, "symmetrize_from_lower_tri", &[re])?;
    // The imaginary part: its lower triangle less that without the diagonal, transposed.
    let lower = super::products::lower_triangle(g, &im);
    let turned = super::matrix_parts::transpose(g, lower.node, lower.batched);
    let n = im.extents(g).first().copied().unwrap_or(0);
    let unit = super::matrix_parts::identity(g, n);
    let zero = g.scalar(0.0);
    let strict = g.select(unit, zero, turned);
    let skew = g.sub(lower.node, strict);
    Ok(joined(g, mirrored, Output::new(skew, x.batched)))
}

/// Functions with real values, or 0 and 1.
fn real_valued(g: &mut Graph, name: &str, args: &[Argument]) -> Result<Output, LibraryError> {
    let args: Vec<&Argument> = args.iter().collect();
    let (pairs, shape, batched) = aligned_pairs(g, &args)?;
    let node = match (name, pairs.as_slice()) {
        ("abs", [z]) => hypot(g, z.0, z.1),
        ("arg", [z]) => g.atan2(z.1, z.0),
        ("norm", [z]) => squared(g, *z),
        ("logical_eq" | "logical_neq", [a, b]) => {
            let (re, im) = (g.eq(a.0, b.0), g.eq(a.1, b.1));
            let equal = g.and(re, im);
            if name == "logical_eq" { equal } else { g.not(equal) }
        }
        _ => return Err(wrong(name)),
    };
    Ok(Output::new(g.broadcast_to(node, &shape), batched))
}
