//! Functions that a model's expressions can call: a name and argument nodes -> a node.
//!
//! Every graph operation is a function of the same name, so that a model prints and reads back
//! exactly; a few more are built from these. Shapes come from a user here, so nothing may panic.

use exmc_graph::{Binary, DType, Graph, NodeId, Op, Reduction, Shape, Ternary, Unary};

use crate::diagnostic::{Code, Diagnostic, closest};
use crate::expr::Attributes;

/// Larger arrays are refused before anything is allocated for them.
pub(crate) const MAX_ELEMENTS: usize = 1 << 27;

/// Functions beside the graph's elementwise ones, for "did you mean".
const OTHERS: &[&str] = &[
    "broadcast",
    "reshape",
    "permute",
    "slice",
    "unslice",
    "concat",
    "stack",
    "gather",
    "at",
    "scatter_add",
    "sum",
    "mean",
    "max_of",
    "min_of",
    "log_sum_exp",
    "cumulative_sum",
    "matmul",
    "cholesky",
    "solve",
    "log_abs_det",
    "lu",
    "lu_solve",
    "triangular_solve",
    "transpose",
    "dot",
    "dot_self",
    "outer",
    "softmax",
    "log_softmax",
    "logit",
    "log1m",
    "log_inv_logit",
    "Phi",
    "diagonal",
];

/// Every function that an expression can call, by name.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    let elementwise = Unary::ALL.iter().map(|f| f.name());
    let elementwise = elementwise.chain(Binary::ALL.iter().map(|f| f.name()));
    elementwise.chain(Ternary::ALL.iter().map(|f| f.name())).chain(OTHERS.iter().copied())
}

/// Whether a function has that name.
pub(crate) fn is_function(name: &str) -> bool {
    function_names().any(|n| n == name)
}

/// The node for a call.
pub(crate) fn call(
    g: &mut Graph,
    function: &str,
    args: &[NodeId],
    attributes: &Attributes,
) -> Result<NodeId, Diagnostic> {
    let known: &[&str] = match function {
        "broadcast" | "reshape" => &["shape"],
        "permute" => &["order"],
        "slice" => &["axis", "start", "stop", "step"],
        "unslice" => &["axis", "start", "step", "extent"],
        "concat" | "stack" => &["axis"],
        "at" => &["index"],
        "scatter_add" => &["len"],
        "sum" | "mean" | "max_of" | "min_of" | "log_sum_exp" => &["axes"],
        "cumulative_sum" => &["axis", "reverse"],
        "triangular_solve" | "lu_solve" => &["transposed"],
        _ => &[],
    };
    if let Some((name, _)) = attributes.0.iter().find(|(n, _)| !known.contains(&n.as_str())) {
        let mistake = bad(format!("function `{function}` has no setting `{name}`"));
        return Err(match known {
            [] => mistake.help("it has none"),
            _ => mistake.help(format!("its settings are {}", known.join(", "))),
        });
    }
    let call = Call { function, args, attributes };
    if let Some(op) = Unary::from_name(function) {
        call.arity(1)?;
        return apply(g, Op::Unary(op), args);
    }
    if let Some(op) = Binary::from_name(function) {
        call.arity(2)?;
        return elementwise(g, Op::Binary(op), args);
    }
    if let Some(op) = Ternary::from_name(function) {
        call.arity(3)?;
        return elementwise(g, Op::Ternary(op), args);
    }
    match function {
        "broadcast" => apply(g, Op::Broadcast(call.shape()?), args),
        "reshape" => apply(g, Op::Reshape(call.shape()?), args),
        "permute" => apply(g, Op::Permute(call.list("order")?.to_vec()), args),
        "slice" => {
            call.arity(1)?;
            let (start, step) = (call.number_or("start", 0)?, call.number_or("step", 1)?);
            let axis = call.number_or("axis", 0)?;
            let extent = g.shape(args[0]).extents().get(axis).copied().unwrap_or(0);
            let stop = call.number_or("stop", extent)?;
            if step == 0 || stop < start || stop > extent {
                let what = format!(
                    "slice {start}..{stop} by {step} does not fit extent {extent} of axis {axis}"
                );
                return Err(
                    bad(what).help("slices are zero-based and leave out the element at `stop`")
                );
            }
            let len = (stop - start).div_ceil(step);
            apply(g, Op::Slice { axis, start, step, len }, args)
        }
        "unslice" => {
            let (axis, start) = (call.number("axis")?, call.number("start")?);
            let (step, extent) = (call.number("step")?, call.number("extent")?);
            if [axis, start, step, extent].iter().any(|n| *n > MAX_ELEMENTS) {
                return Err(bad("a setting of `unslice` is more than 2^27"));
            }
            apply(g, Op::Unslice { axis, start, step, extent }, args)
        }
        "concat" => apply(g, Op::Concat { axis: call.number_or("axis", 0)? }, args),
        "stack" => {
            let axis = call.number_or("axis", 0)?;
            let args = g.broadcast_together(args).map_err(|e| bad(e.message()))?;
            let Some(&first) = args.first() else {
                return Err(bad("`stack` needs at least one argument"));
            };
            let mut extents = g.shape(first).extents().to_vec();
            if axis > extents.len() {
                return Err(bad(format!(
                    "`stack` has no axis {axis} for parts of shape {}",
                    g.shape(first)
                )));
            }
            extents.insert(axis, 1);
            check_size("stack", &Shape::from(extents.as_slice()))?;
            let parts: Vec<_> = args.iter().map(|&a| g.reshape(a, extents.clone())).collect();
            apply(g, Op::Concat { axis }, &parts)
        }
        "gather" => apply(g, Op::Gather, args).map_err(|error| match args {
            [_, index] if g.node(*index).dtype != DType::Int => {
                error.help("index with an array of `usize` or with data of integers")
            }
            _ => error,
        }),
        "at" => {
            call.arity(1)?;
            let index = call.number("index")?;
            let Some((&extent, rest)) = g.shape(args[0]).extents().split_first() else {
                return Err(bad("a scalar cannot be indexed"));
            };
            if index >= extent {
                return Err(bad(format!("index {index} is outside 0..{extent}"))
                    .help("indices count from zero"));
            }
            let rest = Shape::from(rest);
            let row = g.slice(args[0], 0, index, index + 1);
            Ok(g.reshape(row, rest))
        }
        "scatter_add" => apply(g, Op::ScatterAdd { len: call.number("len")? }, args),
        "sum" => call.reduce(g, Reduction::Sum),
        "max_of" => call.reduce(g, Reduction::Max),
        "min_of" => call.reduce(g, Reduction::Min),
        "log_sum_exp" => call.reduce(g, Reduction::LogSumExp),
        "mean" => {
            let total = call.reduce(g, Reduction::Sum)?;
            let count = g.shape(args[0]).len() as f64 / g.shape(total).len().max(1) as f64;
            let count = g.scalar(count);
            Ok(g.div(total, count))
        }
        "cumulative_sum" => {
            let (axis, reverse) = (call.number_or("axis", 0)?, call.number_or("reverse", 0)? != 0);
            apply(g, Op::CumSum { axis, reverse }, args)
        }
        "matmul" => apply(g, Op::MatMul, args),
        "cholesky" => apply(g, Op::Cholesky, args),
        "triangular_solve" => apply(
            g,
            Op::TriangularSolve { transposed: call.number_or("transposed", 0)? != 0 },
            args,
        ),
        "lu" => apply(g, Op::Lu, args),
        "lu_solve" => {
            apply(g, Op::LuSolve { transposed: call.number_or("transposed", 0)? != 0 }, args)
        }
        "solve" => {
            call.arity(2)?;
            let factors = apply(g, Op::Lu, &args[..1])?;
            apply(g, Op::LuSolve { transposed: false }, &[args[0], factors, args[1]])
        }
        "log_abs_det" => match args {
            [matrix] => {
                let factors = apply(g, Op::Lu, &[*matrix])?;
                apply(g, Op::LogAbsDet, &[*matrix, factors])
            }
            _ => apply(g, Op::LogAbsDet, args),
        },
        "transpose" => apply(g, Op::Permute(vec![1, 0]), args),
        "diagonal" => {
            call.arity(1)?;
            match g.shape(args[0]).extents() {
                [m, n] if m == n => Ok(g.diagonal(args[0])),
                _ => Err(bad(format!(
                    "`diagonal` of shape {}, which is not a square matrix",
                    g.shape(args[0])
                ))),
            }
        }
        "dot" | "dot_self" => {
            call.arity(if function == "dot" { 2 } else { 1 })?;
            let (a, b) = (args[0], *args.last().expect("the arity was checked"));
            if g.shape(a) != g.shape(b) || g.shape(a).rank() != 1 {
                let (a, b) = (g.shape(a), g.shape(b));
                return Err(bad(format!(
                    "`{function}` takes vectors of one length, found shapes {a} and {b}"
                )));
            }
            let products = g.mul(a, b);
            Ok(g.sum(products))
        }
        "outer" => {
            call.arity(2)?;
            let (&[m], &[n]) = (g.shape(args[0]).extents(), g.shape(args[1]).extents()) else {
                return Err(bad("`outer` takes two vectors"));
            };
            let (column, row) = (g.reshape(args[0], [m, 1]), g.reshape(args[1], [1, n]));
            elementwise(g, Op::Binary(Binary::Mul), &[column, row])
        }
        "softmax" | "log_softmax" => {
            call.arity(1)?;
            let Some(last) = g.shape(args[0]).rank().checked_sub(1) else {
                return Err(bad(format!("`{function}` of a scalar")));
            };
            let total = g.log_sum_exp(args[0], last);
            let mut extents = g.shape(total).extents().to_vec();
            extents.push(1);
            let total = g.reshape(total, extents);
            let log = g.sub(args[0], total);
            Ok(if function == "softmax" { g.exp(log) } else { log })
        }
        "logit" => {
            call.arity(1)?;
            let (log, minus) = (g.log(args[0]), g.neg(args[0]));
            let other = g.log1p(minus);
            Ok(g.sub(log, other))
        }
        "log1m" => {
            call.arity(1)?;
            let minus = g.neg(args[0]);
            Ok(g.log1p(minus))
        }
        "log_inv_logit" => {
            call.arity(1)?;
            let minus = g.neg(args[0]);
            let softplus = g.softplus(minus);
            Ok(g.neg(softplus))
        }
        "Phi" => {
            call.arity(1)?;
            let scaled = g.scale(args[0], -std::f64::consts::FRAC_1_SQRT_2);
            let tail = g.erfc(scaled);
            Ok(g.scale(tail, 0.5))
        }
        _ => {
            let names = function_names();
            let error = Diagnostic::new(
                Code::UnknownFunction,
                format!("there is no function `{function}`"),
            );
            Err(match closest(function, names) {
                Some(name) => error.help(format!("did you mean `{name}`?")),
                None => error
                    .help("functions are listed in the guide to the JSON form, docs/model-json.md"),
            })
        }
    }
}

/// The settings that print a graph operation as a call, or `None` for one that no call makes.
pub(crate) fn attributes_of(op: &Op) -> Option<Attributes> {
    let pairs: Vec<(&str, Vec<usize>)> = match op {
        Op::Constant(_) | Op::Input { .. } | Op::Scan { .. } | Op::Project(_) => return None,
        Op::Broadcast(shape) | Op::Reshape(shape) => vec![("shape", shape.extents().to_vec())],
        Op::Permute(order) => vec![("order", order.clone())],
        Op::Slice { axis, start, step, len } => {
            // The largest stop that gives `len` elements may lie past the end; the smallest never
            // does.
            let stop = if *len == 0 { *start } else { start + (len - 1) * step + 1 };
            vec![
                ("axis", vec![*axis]),
                ("start", vec![*start]),
                ("stop", vec![stop]),
                ("step", vec![*step]),
            ]
        }
        Op::Unslice { axis, start, step, extent } => {
            vec![
                ("axis", vec![*axis]),
                ("start", vec![*start]),
                ("step", vec![*step]),
                ("extent", vec![*extent]),
            ]
        }
        Op::Concat { axis } => vec![("axis", vec![*axis])],
        Op::ScatterAdd { len } => vec![("len", vec![*len])],
        Op::Reduce(_, axes) => vec![("axes", axes.clone())],
        Op::CumSum { axis, reverse } => {
            vec![("axis", vec![*axis]), ("reverse", vec![usize::from(*reverse)])]
        }
        Op::TriangularSolve { transposed } | Op::LuSolve { transposed } => {
            vec![("transposed", vec![usize::from(*transposed)])]
        }
        _ => Vec::new(),
    };
    Some(Attributes(pairs.into_iter().map(|(n, v)| (n.to_owned(), v)).collect()))
}

/// Settings that are lists even when they hold one number.
pub(crate) fn is_list(attribute: &str) -> bool {
    matches!(attribute, "shape" | "order" | "axes")
}

struct Call<'a> {
    function: &'a str,
    args: &'a [NodeId],
    attributes: &'a Attributes,
}

impl Call<'_> {
    fn arity(&self, wanted: usize) -> Result<(), Diagnostic> {
        let found = self.args.len();
        if found == wanted {
            return Ok(());
        }
        Err(bad(format!("function `{}` takes {wanted} argument(s), found {found}", self.function)))
    }

    fn list(&self, name: &str) -> Result<&[usize], Diagnostic> {
        let message = || bad(format!("function `{}` needs the setting `{name}`", self.function));
        self.attributes.get(name).ok_or_else(message)
    }

    fn shape(&self) -> Result<Shape, Diagnostic> {
        let shape = Shape::from(self.list("shape")?);
        check_size(self.function, &shape)?;
        Ok(shape)
    }

    fn number(&self, name: &str) -> Result<usize, Diagnostic> {
        match self.list(name)? {
            [value] => Ok(*value),
            _ => Err(bad(format!("the setting `{name}` of `{}` is one number", self.function))),
        }
    }

    fn number_or(&self, name: &str, default: usize) -> Result<usize, Diagnostic> {
        self.attributes.get(name).map_or(Ok(default), |_| self.number(name))
    }

    fn reduce(&self, g: &mut Graph, op: Reduction) -> Result<NodeId, Diagnostic> {
        self.arity(1)?;
        let all: Vec<_> = (0..g.shape(self.args[0]).rank()).collect();
        let axes = self.attributes.get("axes").map_or(all, <[usize]>::to_vec);
        apply(g, Op::Reduce(op, axes), self.args)
    }
}

fn apply(g: &mut Graph, op: Op, args: &[NodeId]) -> Result<NodeId, Diagnostic> {
    let name = op.name();
    let made = g.apply(op, args).map_err(|e| bad(e.message()))?;
    check_size(name, g.shape(made))?;
    Ok(made)
}

fn check_size(name: &str, shape: &Shape) -> Result<(), Diagnostic> {
    if fits_in_memory(shape) {
        return Ok(());
    }
    Err(bad(format!("the result of `{name}` has shape {shape}: more than 2^27 elements")))
}

/// Whether an array of that shape may be made at all.
pub(crate) fn fits_in_memory(shape: &Shape) -> bool {
    let elements = shape.extents().iter().try_fold(1_usize, |n, e| n.checked_mul(*e));
    elements.is_some_and(|n| n <= MAX_ELEMENTS)
}

fn elementwise(g: &mut Graph, op: Op, args: &[NodeId]) -> Result<NodeId, Diagnostic> {
    let args =
        g.broadcast_together(args).map_err(|e| bad(format!("{}: {}", op.name(), e.message())))?;
    apply(g, op, &args)
}

fn bad(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::BadArguments, message)
}
