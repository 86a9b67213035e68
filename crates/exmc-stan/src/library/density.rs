//! Log densities and distribution functions by their names in Stan: outcome and parameters -> one
//! number an outcome, with what must hold of them.

use exmc_graph::{Dependence, Graph, NodeId, Reduction, Shape, Tensor};
use exmc_model::distribution::Parameter;
use exmc_model::{KnownSupports, Support};

use super::align::{Aligned, align, known};
use super::glm::plain;
use super::left_out::{left_out, left_out_of_matrices};
use super::matrices;
use super::proportional::unnormalised;
use super::{Argument, Check, LibraryError, Output};
use crate::families::{Family, Formulas, Outside, Tail, family};
use crate::typed::Type;

/// A log density or distribution function with what its arguments must satisfy.
#[derive(Clone, Debug)]
pub struct Density {
    /// One number an outcome, in nats: shape `[lanes] ++ outcomes`. Also for `_cdf` this is the
    /// logarithm.
    pub value: Output,
    /// Whether the function itself is the exponential of the sum (`_cdf`).
    pub exponential: bool,
    /// What must hold, else the draw is rejected. Conditions that are proven are left out, and so
    /// are those that a known value satisfies: a constant condition that is here does not hold.
    pub checks: Vec<Check>,
}

impl Density {
    /// The function's value: the sum over the outcomes (of each lane), for `_cdf` its exponential.
    pub fn number(&self, g: &mut Graph) -> Output {
        let total = self.value.total(g);
        if self.exponential { Output { node: g.exp(total.node), ..total } } else { total }
    }
}

/// Which function of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Density { proportional: bool },
    LowerTail { exponential: bool },
    UpperTail,
}

/// Splits `normal_lpdf` into `normal` and what it asks for.
fn split(name: &str) -> Option<(&str, Function)> {
    const SUFFIXES: &[(&str, Function)] = &[
        ("_lpdf", Function::Density { proportional: false }),
        ("_lpmf", Function::Density { proportional: false }),
        ("_lupdf", Function::Density { proportional: true }),
        ("_lupmf", Function::Density { proportional: true }),
        ("_lcdf", Function::LowerTail { exponential: false }),
        ("_lccdf", Function::UpperTail),
        ("_cdf", Function::LowerTail { exponential: true }),
        ("_lcdf_unnorm", Function::LowerTail { exponential: false }),
        ("_lccdf_unnorm", Function::UpperTail),
    ];
    SUFFIXES.iter().find_map(|(suffix, f)| Some((name.strip_suffix(suffix)?, *f)))
}

/// The nodes for a call of `name`, a distribution with `_lpdf`, `_lpmf`, `_lupdf`, `_lupmf`,
/// `_cdf`, `_lcdf` or `_lccdf`; `args` are the outcome and then the parameters. `known` says what
/// is known of the graph's values; what it proves needs no check.
///
/// **Shapes**: Stan's vectorisation, after the lanes' axis. **Scale**: nats. The unnormalised forms
/// leave out the terms that depend on no parameter; nothing is left (a zero) where no argument
/// depends on one.
///
/// # Errors
/// See [`LibraryError`].
pub fn density(
    g: &mut Graph,
    known: &mut KnownSupports,
    name: &str,
    args: &[Argument],
) -> Result<Density, LibraryError> {
    let unsupported = || LibraryError::Unsupported(format!("the density `{name}`"));
    let (base, function) = split(name).ok_or_else(unsupported)?;
    if let Some((plain, args)) = plain(g, base, args)? {
        return of_family(g, known, (plain, base), function, &args);
    }
    of_family(g, known, (base, base), function, args)
}

/// The density of a family; it may stand for another function of Stan's, `stan_name`, as that of
/// outcomes given a linear model's predictors.
fn of_family(
    g: &mut Graph,
    supports: &mut KnownSupports,
    (name, stan_name): (&str, &str),
    function: Function,
    args: &[Argument],
) -> Result<Density, LibraryError> {
    if let Function::Density { proportional } = function
        && let Some(value) = matrices::density(g, name, args)
    {
        let mut value = value?;
        let checks = matrices::checks(g, name, args, value);
        if proportional {
            let shape = g.shape(value.node).clone();
            let nodes: Vec<NodeId> = args.iter().map(|arg| arg.node).collect();
            let left_out = |g: &mut Graph| left_out_of_matrices(g, name, args);
            let kept = unnormalised(g, value.node, &nodes, left_out);
            value.node = g.broadcast_to(kept, &shape);
        }
        return Ok(Density { value, exponential: false, checks });
    }
    let unsupported = || LibraryError::Unsupported(format!("the distribution `{name}`"));
    let family = family(name).ok_or_else(unsupported)?;
    let is_tail = !matches!(function, Function::Density { .. });
    let (formulas, count) = family.formulas(args.len(), is_tail).ok_or_else(unsupported)?;
    let mut args = args[..count].to_vec();
    if args.is_empty() {
        return Err(LibraryError::Mistake(format!("`{name}` needs an outcome")));
    }
    if family.one_based {
        args[0].node = from_zero(g, args[0].node);
    }
    if name == "multinomial" {
        let trials = g.sum_last(args[0].node);
        let trials = Argument { node: trials, ty: Type::Real, batched: args[0].batched };
        args.insert(1, trials);
    }
    let parameters = formulas.parameters();
    if args.len() != parameters.len() + 1 {
        let (wanted, found) = (parameters.len(), args.len() - 1);
        return Err(LibraryError::Mistake(format!(
            "`{name}` takes {wanted} parameters, found {found}"
        )));
    }
    let call = Call { name, stan_name, family, formulas, function, parameters, args };
    call.nodes(g, supports)
}

/// Categories from zero, still integers if they were.
fn from_zero(g: &mut Graph, y: NodeId) -> NodeId {
    if let Some(tensor) = g.as_constant(y) {
        let values: Vec<f64> = tensor.values().iter().map(|v| v - 1.0).collect();
        if let Some(tensor) = Tensor::int(tensor.shape().clone(), values) {
            return g.constant(tensor);
        }
    }
    let one = Tensor::int(Shape::scalar(), vec![1.0]).expect("one is an integer");
    let one = g.constant(one);
    g.sub(y, one)
}

struct Call<'a> {
    name: &'a str,
    /// The function of Stan's that leaves out terms.
    stan_name: &'a str,
    family: &'static Family,
    formulas: Formulas,
    function: Function,
    parameters: &'static [Parameter],
    args: Vec<Argument>,
}

impl Call<'_> {
    fn nodes(&self, g: &mut Graph, supports: &mut KnownSupports) -> Result<Density, LibraryError> {
        let events = self.events();
        for (arg, &event) in self.args.iter().zip(&events) {
            // Families take one matrix for all outcomes.
            if event == 2 && (arg.batched || arg.extents(g).len() > 2) {
                return Err(LibraryError::Unbatchable);
            }
        }
        if self.formulas.event_rank() == 2 && self.args.iter().any(|arg| arg.batched) {
            return Err(LibraryError::Unbatchable);
        }
        self.sizes_fit(g, &events)?;
        let aligned = align(g, &self.args, &events)?;
        let (y, rest) = aligned.nodes.split_first().expect("there is an outcome");
        let formulas = self.formulas;
        let no_formula = || {
            let text = format!("the distribution function of `{}`", self.name);
            LibraryError::Unsupported(text)
        };
        let mut node = match self.function {
            Function::Density { .. } => formulas.lpdf(g, *y, rest),
            Function::LowerTail { .. } => {
                formulas.tail(g, *y, rest, Tail::Lower).ok_or_else(no_formula)?
            }
            Function::UpperTail => {
                formulas.tail(g, *y, rest, Tail::Upper).ok_or_else(no_formula)?
            }
        };
        if self.function == (Function::Density { proportional: true }) {
            let terms = |g: &mut Graph| left_out(g, self.stan_name, &aligned.nodes);
            node = unnormalised(g, node, &aligned.nodes, terms);
        }
        let mut checks = self.parameter_checks(g, supports, &aligned);
        if let Function::Density { .. } = self.function {
            node = self.guard_outcome(g, supports, &aligned, node, &mut checks);
        }
        let node = g.broadcast_to(node, &aligned.shape);
        Ok(Density {
            value: Output::new(node, aligned.batched),
            exponential: self.function == Function::LowerTail { exponential: true },
            checks,
        })
    }

    /// Extents that one event of each argument has.
    fn events(&self) -> Vec<usize> {
        let parameters = self.parameters.iter().map(|p| p.rank);
        std::iter::once(self.formulas.event_rank()).chain(parameters).collect()
    }

    /// Whether vectors and matrices are as long as each other demand.
    fn sizes_fit(&self, g: &Graph, events: &[usize]) -> Result<(), LibraryError> {
        let mut length = None;
        for (arg, &event) in self.args.iter().zip(events) {
            let extents = arg.extents(g);
            let Some(outer_rank) = extents.len().checked_sub(event) else {
                let message = format!("an argument of `{}` has too few dimensions", self.name);
                return Err(LibraryError::Mistake(message));
            };
            for &extent in &extents[outer_rank..] {
                if *length.get_or_insert(extent) != extent {
                    let message = format!("vectors and matrices of `{}` differ in size", self.name);
                    return Err(LibraryError::Mistake(message));
                }
            }
        }
        Ok(())
    }

    fn parameter_checks(
        &self,
        g: &mut Graph,
        supports: &mut KnownSupports,
        aligned: &Aligned,
    ) -> Vec<Check> {
        let mut checks = Vec::new();
        for (parameter, arg) in self.parameters.iter().zip(&self.args[1..]) {
            let message = || {
                let (name, support) = (parameter.name, parameter.support.describe());
                format!("parameter `{name}` of {} must be {support}", self.name)
            };
            checks.extend(self.check(g, supports, parameter.support, arg, aligned, message));
        }
        if let Support::Between { lower: Some(a), upper: Some(b) } = self.formulas.support() {
            let (a, b) = (aligned.nodes[a + 1], aligned.nodes[b + 1]);
            // One whole number between equal limits is a certainty.
            let holds = if self.name == "discrete_range" { g.le(a, b) } else { g.lt(a, b) };
            let message = || format!("the limits of {} must increase", self.name);
            checks.extend(reduced(g, holds, aligned, true, message));
        }
        checks
    }

    /// Checks the outcome, or makes it impossible outside of the support where Stan does so.
    fn guard_outcome(
        &self,
        g: &mut Graph,
        supports: &mut KnownSupports,
        aligned: &Aligned,
        node: NodeId,
        checks: &mut Vec<Check>,
    ) -> NodeId {
        let support = self.formulas.support();
        let message = || format!("the outcome of {} must be {}", self.name, support.describe());
        match self.family.outside {
            Outside::Anywhere => node,
            Outside::Rejects => {
                checks.extend(self.check(g, supports, support, &self.args[0], aligned, message));
                node
            }
            Outside::Impossible => {
                let is_known =
                    supports.of(g, self.args[0].node).is_some_and(|s| s.implies(support));
                let holds = support.holds(g, aligned.nodes[0], &aligned.nodes[1..]);
                let all_hold = known(g, holds).is_some_and(|v| v.iter().all(|v| *v != 0.0));
                if is_known || all_hold {
                    return node;
                }
                let never = g.scalar(f64::NEG_INFINITY);
                g.select(holds, node, never)
            }
        }
    }

    /// What must be checked of an argument, if it is not proven.
    fn check(
        &self,
        g: &mut Graph,
        supports: &mut KnownSupports,
        support: Support,
        arg: &Argument,
        aligned: &Aligned,
        message: impl Fn() -> String,
    ) -> Option<Check> {
        if supports.of(g, arg.node).is_some_and(|found| found.implies(support)) {
            return None;
        }
        // NaN makes the density NaN by itself.
        if support == Support::Real && g.dependence(arg.node) == Dependence::Parameter {
            return None;
        }
        let numbers = g.as_constant(arg.node).map(Tensor::values);
        if support == Support::Real && numbers.is_some_and(|all| all.iter().all(|v| !v.is_nan())) {
            return None;
        }
        let nodes = &aligned.nodes[1..];
        let of_others = matches!(
            support,
            Support::Between { .. } | Support::CountUpTo(_) | Support::CountsSummingTo(_)
        );
        if of_others {
            let holds = support.holds(g, aligned.nodes[0], nodes);
            return reduced(g, holds, aligned, true, message);
        }
        if let Support::Simplex = support {
            // One answer a lane, which the support itself does not give.
            let (holds, batched) = (simplex(g, arg), arg.batched);
            return reduced(g, holds, aligned, batched, message);
        }
        if let Support::Ordered = support
            && arg.batched
        {
            let holds = ordered(g, arg);
            return reduced(g, holds, aligned, true, message);
        }
        let holds = support.holds(g, arg.node, nodes);
        reduced(g, holds, aligned, arg.batched, message)
    }
}

/// The condition for each lane, or for all, unless it is known to hold.
fn reduced(
    g: &mut Graph,
    holds: NodeId,
    aligned: &Aligned,
    batched: bool,
    message: impl Fn() -> String,
) -> Option<Check> {
    if g.shape(holds).is_empty() {
        return None;
    }
    if known(g, holds).is_some_and(|values| values.iter().all(|v| *v != 0.0)) {
        return None;
    }
    let lanes = aligned.batched.then(|| aligned.shape.extents()[0]);
    let batched = batched && lanes.is_some() && g.shape(holds).extents().first().copied() == lanes;
    let axes: Vec<_> = (usize::from(batched)..g.shape(holds).rank()).collect();
    let holds = g.reduce(Reduction::Min, holds, &axes);
    Some(Check { holds, batched, message: message() })
}

fn simplex(g: &mut Graph, arg: &Argument) -> NodeId {
    let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
    let positive = g.le(zero, arg.node);
    let last = g.shape(positive).rank() - 1;
    let positive = g.reduce(Reduction::Min, positive, &[last]);
    let total = g.sum_last(arg.node);
    let off = g.sub(total, one);
    let off = g.abs(off);
    let tolerance = g.scalar(1e-8);
    let close = g.le(off, tolerance);
    g.and(positive, close)
}

fn ordered(g: &mut Graph, arg: &Argument) -> NodeId {
    let last = g.shape(arg.node).rank() - 1;
    let n = g.shape(arg.node).extents()[last];
    if n < 2 {
        return g.eq(arg.node, arg.node);
    }
    let (low, high) = (g.slice(arg.node, last, 0, n - 1), g.slice(arg.node, last, 1, n));
    g.lt(low, high)
}
