//! Reading: an expression -> a polynomial of the second degree in the elements of one input, if it
//! is that.
//!
//! Coefficients are expressions without the input. One that is left out is zero. Elements may be
//! moved and added up, but no element of an expression may hold two elements of the input, unless
//! it is a sum in which each stands alone.

use exmc_fault::{Fault, planted};

use crate::graph::{Graph, NodeId};
use crate::op::{Binary, Op, Reduction, Ternary, Unary};
use crate::tensor::{Shape, Tensor};

/// Which element of the input an element of an expression holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Places {
    /// The only one that there is.
    One,
    /// That of its own number.
    Own,
    /// That of which the index, an array of as many elements, says the number.
    At(NodeId),
    /// All of them: the expression is one number, and its coefficients by the input are arrays as
    /// the input is, flat.
    Total,
}

#[derive(Clone, Copy, Debug)]
struct Form {
    places: Places,
    constant: Option<NodeId>,
    linear: Option<NodeId>,
    square: Option<NodeId>,
}

/// What an argument is.
#[derive(Clone, Copy, Debug)]
enum Operand {
    /// Without the input.
    Known(NodeId),
    Form(Form),
}

/// The coefficients of a scalar's polynomial in `input`, or in its difference to `location`: of the
/// first and of the second degree, in the shape of the input.
pub(super) fn coefficients(
    g: &mut Graph,
    root: NodeId,
    input: NodeId,
    location: Option<NodeId>,
) -> Option<[Option<NodeId>; 2]> {
    let live = g.reachable(&[root]);
    let shape = g.shape(input).clone();
    if !live[input.index()] || shape.is_empty() {
        return None;
    }
    let ids: Vec<NodeId> = g.ids().filter(|id| live[id.index()]).collect();
    let one = g.filled(&shape, 1.0);
    let places = if shape.len() == 1 { Places::One } else { Places::Own };
    let input_form = Form { places, constant: location, linear: Some(one), square: None };
    let mut forms: Vec<Option<Form>> = vec![None; g.len()];
    forms[input.index()] = Some(input_form);
    for id in ids {
        let args = g.node(id).args.clone();
        if id == input || args.iter().all(|arg| forms[arg.index()].is_none()) {
            continue;
        }
        let operand = |arg: &NodeId| forms[arg.index()].map_or(Operand::Known(*arg), Operand::Form);
        let operands: Vec<Operand> = args.iter().map(operand).collect();
        forms[id.index()] = Some(read(g, id, &operands, shape.len())?);
    }
    let form = forms[root.index()]?;
    if !matches!(form.places, Places::One | Places::Total) {
        return None;
    }
    let fit = |g: &mut Graph, x: Option<NodeId>| x.map(|x| g.reshape(x, shape.clone()));
    Some([fit(g, form.linear), fit(g, form.square)])
}

/// Whether every operation on `input` is one that can be read, found without making anything.
pub(super) fn may_be_read(g: &Graph, root: NodeId, input: NodeId) -> bool {
    let live = g.reachable(&[root]);
    let mut holds = vec![false; g.len()];
    holds[input.index()] = true;
    for id in g.ids().filter(|id| live[id.index()] && *id != input) {
        let node = g.node(id);
        let arg_holds = |k: usize| holds[node.args[k].index()];
        if !(0..node.args.len()).any(arg_holds) {
            continue;
        }
        let can = match node.op {
            Op::Unary(Unary::Neg | Unary::Square)
            | Op::Binary(Binary::Add | Binary::Sub | Binary::Mul)
            | Op::Broadcast(_)
            | Op::Reshape(_)
            | Op::Permute(_)
            | Op::Slice { .. }
            | Op::Unslice { .. }
            | Op::Reduce(Reduction::Sum, _)
            | Op::CumSum { .. }
            | Op::Hold => true,
            Op::Binary(Binary::Div) | Op::Gather | Op::ScatterAdd { .. } => !arg_holds(1),
            Op::Ternary(Ternary::Select) | Op::MatMul => !arg_holds(0),
            _ => false,
        };
        if !can {
            return false;
        }
        holds[id.index()] = true;
    }
    live[input.index()]
}

/// The form of one node whose arguments are read.
fn read(g: &mut Graph, id: NodeId, args: &[Operand], len: usize) -> Option<Form> {
    use Operand::{Form as F, Known as K};
    let op = g.node(id).op.clone();
    match (&op, args) {
        (Op::Unary(Unary::Neg), [F(x)]) => Some(x.each(|x| g.neg(x))),
        (Op::Unary(Unary::Square), [F(x)]) => product(g, x, x),
        (Op::Hold, [F(x)]) => Some(*x),
        (Op::Binary(Binary::Add), [a, b]) => {
            let [a, b] = alike(g, id, [a, b], len);
            sum(g, &a, &b, plus)
        }
        (Op::Binary(Binary::Sub), [a, b]) => {
            let [a, b] = alike(g, id, [a, b], len);
            sum(g, &a, &b, minus)
        }
        (Op::Binary(Binary::Mul), [F(a), F(b)]) => product(g, a, b),
        (Op::Binary(Binary::Mul), [F(x), K(by)] | [K(by), F(x)]) if g.as_uniform(*by).is_some() => {
            let by = g.as_uniform(*by)?;
            Some(x.each(|x| super::scaled(g, x, by, super::NESTED)))
        }
        (Op::Binary(Binary::Mul), [F(x), K(by)] | [K(by), F(x)]) => {
            let lost = x.linear.filter(|_| planted(Fault::LostWeight) && x.square.is_some());
            let weighted = x.each(|x| on_scalars(g, &[x, *by], |g, args| g.mul(args[0], args[1])));
            Some(Form { linear: lost.or(weighted.linear), ..weighted })
        }
        (Op::Binary(Binary::Div), [F(x), K(by)]) => {
            Some(x.each(|x| on_scalars(g, &[x, *by], |g, args| g.div(args[0], args[1]))))
        }
        (Op::Ternary(Ternary::Select), [K(condition), a, b]) => {
            sum(g, a, b, |g, a, b| chosen(g, *condition, a, b))
        }
        (Op::Reshape(shape), [F(x)]) => match x.places {
            Places::One | Places::Own => Some(x.each(|x| g.reshape(x, shape.clone()))),
            Places::At(_) if shape.len() == 1 => Some(x.each(|x| g.reshape(x, shape.clone()))),
            Places::At(_) | Places::Total => None,
        },
        (Op::Gather, [F(x), K(index)]) => gathered(g, x, *index),
        (Op::Slice { axis: 0, start, step, len }, [F(x)])
            if matches!(x.places, Places::Own | Places::At(_)) =>
        {
            let is_flat = x.linear.is_none_or(|x| g.shape(x).rank() == 1);
            let numbers: Vec<f64> = (0..*len).map(|k| (start + k * step) as f64).collect();
            let index = Tensor::int([*len], numbers).filter(|_| is_flat)?;
            let index = g.constant(index);
            gathered(g, x, index)
        }
        (Op::ScatterAdd { .. }, [F(x), K(index)]) => {
            let places = match x.places {
                Places::One => Places::One,
                Places::At(gather_index)
                    if gather_index == *index && g.shape(id).extents() == [len] =>
                {
                    Places::Own
                }
                _ => return None,
            };
            Some(Form { places, ..x.each(|x| g.must(op.clone(), &[x, *index])) })
        }
        (Op::Reduce(Reduction::Sum, axes), [F(x)]) => match x.places {
            Places::One => {
                let sum = x.each(|x| g.must(op.clone(), &[x]));
                let rows = x.square.map_or(1, |x| g.shape(x).len());
                let is_once = planted(Fault::NumberReadOnce) && rows > 1;
                let of_one = |square| g.scale(square, 1.0 / rows as f64);
                let square = if is_once { sum.square.map(of_one) } else { sum.square };
                Some(Form { square, ..sum })
            }
            _ if !g.shape(id).is_scalar() => None,
            Places::Own => {
                let constant = x.constant.map(|x| g.reduce(Reduction::Sum, x, axes));
                let flat = |x: Option<NodeId>, g: &mut Graph| x.map(|x| g.reshape(x, [len]));
                let (linear, square) = (flat(x.linear, g), flat(x.square, g));
                Some(Form { places: Places::Total, constant, linear, square })
            }
            Places::At(index) => {
                let constant = x.constant.map(|x| g.reduce(Reduction::Sum, x, axes));
                let add = |x: Option<NodeId>, g: &mut Graph| {
                    x.map(|x| g.must(Op::ScatterAdd { len }, &[x, index]))
                };
                let (linear, square) = (add(x.linear, g), add(x.square, g));
                Some(Form { places: Places::Total, constant, linear, square })
            }
            Places::Total => None,
        },
        // One element, for many rows.
        (Op::Broadcast(shape), [F(x)]) if matches!(x.places, Places::At(_)) => {
            let Places::At(index) = x.places else { return None };
            if g.shape(index).len() != 1 {
                return None;
            }
            let index = g.reshape(index, Shape::scalar());
            let places = Places::At(g.broadcast_to(index, shape));
            Some(Form { places, ..x.each(|x| g.broadcast_to(x, shape)) })
        }
        (
            Op::Broadcast(_)
            | Op::Slice { .. }
            | Op::Unslice { .. }
            | Op::Permute(_)
            | Op::CumSum { .. },
            [F(x)],
        ) if x.places == Places::One => Some(x.each(|x| g.must(op.clone(), &[x]))),
        (Op::MatMul, [K(matrix), F(x)]) if x.places == Places::One => {
            Some(x.each(|x| g.must(Op::MatMul, &[*matrix, x])))
        }
        _ => None,
    }
}

impl Form {
    /// The same linear function of each coefficient.
    fn each(&self, mut f: impl FnMut(NodeId) -> NodeId) -> Self {
        let Self { places, constant, linear, square } = *self;
        let (constant, linear) = (constant.map(&mut f), linear.map(&mut f));
        Self { places, constant, linear, square: square.map(&mut f) }
    }
}

/// Two numbers that are added, of which each holds another element, as ones that hold all.
fn alike(g: &mut Graph, id: NodeId, args: [&Operand; 2], len: usize) -> [Operand; 2] {
    let places = |operand: &Operand| match operand {
        Operand::Form(form) => Some(form.places),
        Operand::Known(_) => None,
    };
    let [first, second] = args.map(places);
    let differ = first.is_some() && second.is_some() && first != second;
    if !differ || !g.shape(id).is_scalar() {
        return args.map(|operand| *operand);
    }
    args.map(|operand| match *operand {
        Operand::Form(form @ Form { places: Places::At(index), .. }) => {
            let index = g.reshape(index, [1]);
            let add = |g: &mut Graph, x: Option<NodeId>| {
                let x = g.reshape(x?, [1]);
                Some(g.must(Op::ScatterAdd { len }, &[x, index]))
            };
            let (linear, square) = (add(g, form.linear), add(g, form.square));
            Operand::Form(Form { places: Places::Total, linear, square, ..form })
        }
        other => other,
    })
}

/// Two expressions joined coefficient by coefficient.
fn sum(
    g: &mut Graph,
    a: &Operand,
    b: &Operand,
    join: impl Fn(&mut Graph, Option<NodeId>, Option<NodeId>) -> Option<NodeId>,
) -> Option<Form> {
    let nothing = |places, constant| Form { places, constant, linear: None, square: None };
    let (a, b) = match (a, b) {
        (Operand::Form(a), Operand::Form(b)) => (*a, *b),
        (Operand::Form(a), Operand::Known(b)) => (*a, nothing(a.places, Some(*b))),
        (Operand::Known(a), Operand::Form(b)) => (nothing(b.places, Some(*a)), *b),
        (Operand::Known(_), Operand::Known(_)) => return None,
    };
    let constant = join(g, a.constant, b.constant);
    let (linear, square) = (join(g, a.linear, b.linear), join(g, a.square, b.square));
    (a.places == b.places).then_some(Form { places: a.places, constant, linear, square })
}

/// The product of two expressions of the first degree, of which each element holds one of the
/// input.
fn product(g: &mut Graph, a: &Form, b: &Form) -> Option<Form> {
    let fit = a.places == b.places && a.places != Places::Total;
    if !fit || a.square.is_some() || b.square.is_some() {
        return None;
    }
    let constant = times(g, a.constant, b.constant);
    let linear = if a.constant == b.constant && a.linear == b.linear {
        times(g, a.constant, b.linear).map(|x| super::scaled(g, x, 2.0, super::NESTED))
    } else {
        let (left, right) = (times(g, a.constant, b.linear), times(g, a.linear, b.constant));
        plus(g, left, right)
    };
    Some(Form { places: a.places, constant, linear, square: times(g, a.linear, b.linear) })
}

fn gathered(g: &mut Graph, x: &Form, index: NodeId) -> Option<Form> {
    let is_flat =
        [x.constant, x.linear, x.square].into_iter().flatten().all(|x| g.shape(x).rank() == 1);
    let places = match x.places {
        Places::One => Places::One,
        Places::Own if is_flat && g.shape(index).rank() == 1 => Places::At(index),
        // Elements of elements.
        Places::At(before)
            if is_flat && [before, index].iter().all(|&x| g.shape(x).rank() == 1) =>
        {
            Places::At(g.gather(before, index))
        }
        _ => return None,
    };
    let shape = g.shape(index).clone();
    let taken = x.each(|x| match scalar(g, x) {
        Some(same) if is_flat => g.broadcast_to(same, &shape),
        _ => g.gather(x, index),
    });
    Some(Form { places, ..taken })
}

fn plus(g: &mut Graph, a: Option<NodeId>, b: Option<NodeId>) -> Option<NodeId> {
    match (a, b) {
        (Some(a), Some(b)) => Some(on_scalars(g, &[a, b], |g, args| g.add(args[0], args[1]))),
        (a, b) => a.or(b),
    }
}

fn minus(g: &mut Graph, a: Option<NodeId>, b: Option<NodeId>) -> Option<NodeId> {
    match (a, b) {
        (Some(a), Some(b)) if a == b => None,
        (Some(a), Some(b)) => Some(on_scalars(g, &[a, b], |g, args| g.sub(args[0], args[1]))),
        (None, Some(b)) => Some(on_scalars(g, &[b], |g, args| g.neg(args[0]))),
        (a, None) => a,
    }
}

fn times(g: &mut Graph, a: Option<NodeId>, b: Option<NodeId>) -> Option<NodeId> {
    let (a, b) = (a?, b?);
    Some(if a == b {
        on_scalars(g, &[a], |g, args| g.square(args[0]))
    } else {
        on_scalars(g, &[a, b], |g, args| g.mul(args[0], args[1]))
    })
}

fn chosen(
    g: &mut Graph,
    condition: NodeId,
    a: Option<NodeId>,
    b: Option<NodeId>,
) -> Option<NodeId> {
    if a == b || planted(Fault::LostMask) {
        return a.or(b);
    }
    let zero = g.scalar(0.0);
    Some(g.select(condition, a.unwrap_or(zero), b.unwrap_or(zero)))
}

/// The scalar that an array repeats, if it is that.
fn scalar(g: &mut Graph, x: NodeId) -> Option<NodeId> {
    if let Some(value) = g.as_uniform(x) {
        return Some(g.scalar(value));
    }
    let node = g.node(x);
    let of_scalar = matches!(node.op, Op::Broadcast(_)) && g.shape(node.args[0]).is_scalar();
    of_scalar.then(|| node.args[0])
}

/// An elementwise expression, computed once where all elements are the same.
fn on_scalars(
    g: &mut Graph,
    args: &[NodeId],
    make: impl Fn(&mut Graph, &[NodeId]) -> NodeId,
) -> NodeId {
    let widest = args.iter().map(|&x| g.shape(x).clone()).max_by_key(Shape::len);
    let scalars: Option<Vec<NodeId>> = args.iter().map(|&x| scalar(g, x)).collect();
    match (scalars, widest) {
        (Some(scalars), Some(shape)) if !shape.is_scalar() => {
            let same = make(g, &scalars);
            g.broadcast_to(same, &shape)
        }
        _ => make(g, args),
    }
}
