//! The log density: terms as statements add them, with what must hold for them.

use std::collections::BTreeMap;

use exmc_fault::{Fault, planted};
use exmc_graph::{Dependence, Graph, NodeId, Reduction, Shape, evaluate};

use super::Lowering;
use super::abort::{Abort, LowerResult, runtime, unsupported};
use super::autodiff_types::normalised;
use super::call_library::is_density;
use super::variables::lane_value::{Form, LaneValue, holds_ints};
use crate::library::{Check, LibraryError};
use crate::source::Span;
use crate::typed::{BinaryOp, Expr, FunctionId, Truncation, Type};
use crate::value::Value;

/// What statements have added so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Terms {
    /// In the order in which they first came: name and scalar node.
    pub(super) list: Vec<(String, NodeId)>,
    /// What each of them is of.
    keys: Vec<(Span, &'static str)>,
    /// The term of each statement.
    by_span: BTreeMap<(Span, &'static str), usize>,
    /// What must hold, else the density is zero.
    pub(super) required: Vec<NodeId>,
    /// Statements of parameters that are to be non-centred.
    pub(super) priors: Vec<super::non_centre::Prior>,
}

impl Terms {
    /// The place and the term of the `~` statement at a span.
    pub(super) fn tilde_at(&self, span: Span) -> Option<(usize, NodeId)> {
        let place = *self.by_span.get(&(span, "~"))?;
        Some((place, self.list[place].1))
    }

    /// Adds a scalar to a statement's term.
    pub(super) fn add(
        &mut self,
        g: &mut Graph,
        (span, what): (Span, &'static str),
        name: impl FnOnce() -> String,
        node: NodeId,
    ) {
        if let Some(&k) = self.by_span.get(&(span, what)) {
            let sum = g.add(self.list[k].1, node);
            self.list[k].1 = sum;
            return;
        }
        self.by_span.insert((span, what), self.list.len());
        self.keys.push((span, what));
        self.list.push((name(), node));
    }

    /// Every term with what it is of.
    pub(super) fn keyed(&self) -> impl Iterator<Item = ((Span, &'static str), &str, NodeId)> {
        self.keys.iter().zip(&self.list).map(|(key, (name, node))| (*key, name.as_str(), *node))
    }
}

impl Lowering<'_> {
    /// Adds all of a value, in all lanes, to the log density.
    pub(super) fn add_to_target(&mut self, value: &LaneValue, what: &'static str, span: Span) {
        let node = value.to_node(&mut self.sink.graph);
        let summed = self.over_lanes(node, value.lanes);
        self.add_term(summed, what, what, span);
    }

    /// The sum over all elements and lanes where the masks hold.
    fn over_lanes(&mut self, node: NodeId, lanes: bool) -> NodeId {
        let first = usize::from(lanes);
        let axes: Vec<usize> = (first..self.sink.graph.shape(node).rank()).collect();
        let count = self.lane_count();
        let from = if planted(Fault::InnermostConditionOnly) {
            self.env.masks.len().saturating_sub(1)
        } else {
            0
        };
        let Some(mask) = self.mask(from) else {
            if lanes || count == 1 {
                return self.sink.graph.sum(node);
            }
            let total = self.sink.graph.sum(node);
            return self.sink.graph.scale(total, count as f64);
        };
        let each = self.sink.graph.reduce(Reduction::Sum, node, &axes);
        let zero = self.sink.graph.scalar(0.0);
        let condition = mask.to_node(&mut self.sink.graph);
        let kept = self.sink.graph.select(condition, each, zero);
        let total = self.sink.graph.sum(kept);
        if lanes || mask.lanes || count == 1 {
            total
        } else {
            self.sink.graph.scale(total, count as f64)
        }
    }

    fn add_term(&mut self, node: NodeId, what: &'static str, name: &str, span: Span) {
        let file = self.context.program.sources.files().get(span.file as usize);
        let line = file.map_or(0, |file| file.place(span.start).line);
        let name = || format!("line {line}: {name}");
        self.env.terms.add(&mut self.sink.graph, (span, what), name, node);
    }

    /// `outcome ~ distribution(args) T[…]`
    pub(super) fn tilde(
        &mut self,
        outcome: &Expr,
        distribution: &str,
        user: Option<FunctionId>,
        args: &[Expr],
        truncation: Option<&Truncation>,
        span: Span,
    ) -> LowerResult<()> {
        let mut values = vec![(self.evaluate(outcome)?, outcome.ty.clone())];
        for arg in args {
            values.push((self.evaluate(arg)?, arg.ty.clone()));
        }
        let kinds = self.are_parameters(std::iter::once(outcome).chain(args));
        if let Some(function) = user {
            let plain = values.iter().map(|(value, _)| value.clone()).collect();
            let value = self.call_with(function, true, (plain, &kinds), span)?;
            let mut value = value.ok_or_else(|| unsupported(span, "a density without a value"))?;
            if let Some(truncation) = truncation {
                let untruncated = (value.to_node(&mut self.sink.graph), value.lanes);
                let mut checks = Vec::new();
                let (node, lanes) = self.truncated(
                    untruncated,
                    distribution,
                    &values,
                    truncation,
                    &mut checks,
                    span,
                )?;
                value = LaneValue::node(node, lanes);
            }
            self.add_to_target(&value, "~", span);
            return Ok(());
        }
        let suffix = if self.proportional() { "_lupdf" } else { "_lpdf" };
        let name = format!("{distribution}{suffix}");
        let density = match self.density_by_type(&name, &values, &kinds) {
            Ok(density) => density,
            Err(LibraryError::Unbatchable) if truncation.is_none() => {
                let value = self.lane_by_lane(&values, &Type::Real, span, |this, args| {
                    this.density_value(&name, args, &kinds, span)
                })?;
                self.add_to_target(&value, "~", span);
                return Ok(());
            }
            Err(error) => return Err(self.refused(&error, distribution, &values, span)),
        };
        let mut node = density.value.node;
        let mut lanes = density.value.batched;
        let mut checks = density.checks;
        if let Some(truncation) = truncation {
            (node, lanes) = self.truncated(
                (node, lanes),
                distribution,
                &values,
                truncation,
                &mut checks,
                span,
            )?;
        }
        let mut total = self.over_lanes(node, lanes);
        let mut conditions = Vec::new();
        for check in &checks {
            if let Some(holds) = self.requirement(check, span)? {
                let never = self.sink.graph.scalar(f64::NEG_INFINITY);
                total = self.sink.graph.select(holds, total, never);
                conditions.push(holds);
            }
        }
        self.add_term(total, "~", distribution, span);
        if truncation.is_none() {
            self.note_prior(distribution, &values, conditions, span);
        }
        Ok(())
    }

    /// A density as an expression: its sum for each lane. `kinds` says which values are parameters
    /// (`by_type`).
    pub(super) fn density_value(
        &mut self,
        name: &str,
        values: &[(LaneValue, Type)],
        kinds: &[bool],
        span: Span,
    ) -> LowerResult<LaneValue> {
        debug_assert!(is_density(name), "callers ask for densities only");
        let name = if self.proportional() { name.to_owned() } else { normalised(name) };
        let density = match self.density_by_type(&name, values, kinds) {
            Ok(density) => density,
            Err(LibraryError::Unbatchable) => {
                return self.lane_by_lane(values, &Type::Real, span, |this, args| {
                    this.density_value(&name, args, kinds, span)
                });
            }
            Err(error) => return Err(self.refused(&error, &name, values, span)),
        };
        for check in &density.checks {
            if let Some(holds) = self.requirement(check, span)? {
                self.env.terms.required.push(holds);
            }
        }
        let number = density.number(&mut self.sink.graph);
        if values.iter().all(|(value, _)| value.is_known()) {
            let known = evaluate(&self.sink.graph, &[number.node], &|_| None)
                .map_err(|error| runtime(span, error.to_string()))?;
            let value = super::variables::lane_value::from_tensor(&known[0], false);
            return Ok(LaneValue { form: Form::Known(value), lanes: number.batched });
        }
        Ok(LaneValue::node(number.node, number.batched))
    }

    /// A check as one condition for all lanes where the masks hold; nothing where it is known to
    /// hold.
    pub(super) fn requirement(&mut self, check: &Check, span: Span) -> LowerResult<Option<NodeId>> {
        let mask = self.mask(0);
        let g = &mut self.sink.graph;
        if g.dependence(check.holds) == Dependence::Constant && mask.is_none() {
            // A loop walked as steps is not computed until it is asked for.
            let known = evaluate(g, &[check.holds], &|_| None)
                .map_err(|error| runtime(span, error.to_string()))?;
            return match known[0].values().iter().all(|holds| *holds != 0.0) {
                true => Ok(None),
                false => Err(runtime(span, check.message.clone())),
            };
        }
        let mut holds = check.holds;
        if let Some(mask) = mask {
            let condition = mask.to_node(g);
            let outside = g.not(condition);
            holds = g.or(outside, holds);
        }
        let axes: Vec<usize> = (0..g.shape(holds).rank()).collect();
        Ok(Some(g.reduce(Reduction::Min, holds, &axes)))
    }

    /// The density given that the outcome lies between limits.
    fn truncated(
        &mut self,
        (node, lanes): (NodeId, bool),
        distribution: &str,
        values: &[(LaneValue, Type)],
        truncation: &Truncation,
        checks: &mut Vec<Check>,
        span: Span,
    ) -> LowerResult<(NodeId, bool)> {
        let discrete = holds_ints(&values[0].1);
        let mut tail = |this: &mut Self, limit: &(LaneValue, Type), suffix: &str| {
            let mut args = vec![limit.clone()];
            args.extend_from_slice(&values[1..]);
            let user_tail =
                if suffix == "_lcdf" { truncation.user_lcdf } else { truncation.user_lccdf };
            if let Some(function) = user_tail {
                let args = args.into_iter().map(|(value, _)| value).collect();
                let value = this.call_with(function, false, (args, &[]), span)?;
                let value = value.ok_or_else(|| unsupported(span, "a tail without a value"))?;
                return Ok((value.to_node(&mut this.sink.graph), value.lanes));
            }
            let name = format!("{distribution}{suffix}");
            match this.density_by_type(&name, &args, &[]) {
                Ok(density) => {
                    checks.extend(density.checks);
                    Ok((density.value.node, density.value.batched))
                }
                Err(error) => Err(this.refused(&error, &name, &args, span)),
            }
        };
        let lower = match &truncation.lower {
            Some(expr) => Some((self.evaluate(expr)?, expr.ty.clone())),
            None => None,
        };
        let upper = match &truncation.upper {
            Some(expr) => Some((self.evaluate(expr)?, expr.ty.clone())),
            None => None,
        };
        // A discrete outcome may equal its lower limit.
        let below = match &lower {
            Some((value, ty)) if discrete => {
                let one = (LaneValue::known(Value::Int(1)), &Type::Int);
                let below =
                    self.binary(BinaryOp::Subtract, (value.clone(), ty), one, &Type::Int, span)?;
                Some((below, Type::Int))
            }
            other => other.clone(),
        };
        let mass = match (&below, &upper) {
            (Some(below), None) => Some(tail(self, below, "_lccdf")?),
            (None, Some(upper)) => Some(tail(self, upper, "_lcdf")?),
            (Some(below), Some(upper)) => {
                let (high, a) = tail(self, upper, "_lcdf")?;
                let (low, b) = tail(self, below, "_lcdf")?;
                let (high, low, lanes) = self.meet((high, a), (low, b));
                Some((self.sink.graph.log_diff_exp(high, low), lanes))
            }
            (None, None) => None,
        };
        let Some(mass) = mass else { return Ok((node, lanes)) };
        let (value, mass, mut lanes) = self.meet((node, lanes), mass);
        let mut result = self.sink.graph.sub(value, mass);
        let outcome = values[0].0.to_node(&mut self.sink.graph);
        for (limit, is_lower) in [(lower, true), (upper, false)] {
            let Some((limit, _)) = limit else { continue };
            let bound = limit.to_node(&mut self.sink.graph);
            let (y, bound, spread) = self.meet((outcome, values[0].0.lanes), (bound, limit.lanes));
            let inside =
                if is_lower { self.sink.graph.le(bound, y) } else { self.sink.graph.le(y, bound) };
            let (inside, value, both) = self.meet((inside, spread), (result, lanes));
            let never = self.sink.graph.scalar(f64::NEG_INFINITY);
            result = self.sink.graph.select(inside, value, never);
            lanes = both;
        }
        Ok((result, lanes))
    }

    /// Two nodes stretched to meet, with or without lanes.
    pub(super) fn meet(&mut self, a: (NodeId, bool), b: (NodeId, bool)) -> (NodeId, NodeId, bool) {
        let lanes = a.1 || b.1;
        let rank = |this: &Self, (node, has_lanes): (NodeId, bool)| {
            this.sink.graph.shape(node).rank() - usize::from(has_lanes)
        };
        let most = rank(self, a).max(rank(self, b));
        let mut widen = |(node, has_lanes): (NodeId, bool)| {
            if !has_lanes {
                return node;
            }
            let extents = self.sink.graph.shape(node).extents().to_vec();
            let missing = vec![1; most + 1 - extents.len()];
            let shape = Shape::from(&extents[..1]).join(&missing).join(&extents[1..]);
            self.sink.graph.reshape(node, shape)
        };
        let (a, b) = (widen(a), widen(b));
        (a, b, lanes)
    }

    /// `target()`: what was added so far.
    pub(super) fn target_so_far(&mut self, span: Span) -> LowerResult<LaneValue> {
        let level =
            (1..self.env.levels.len()).rev().find(|l| self.env.levels[*l].watched.is_some());
        if let Some(level) = level {
            return Err(Abort::Carried { level, variable: None, private: false });
        }
        if self.depth() > 0 || !self.env.masks.is_empty() {
            return Err(unsupported(span, "`target()` in a branch"));
        }
        let mut total = self.sink.graph.scalar(0.0);
        let recorded = self.enclosing.records.iter().flat_map(|record| {
            let of_iterations = record.iterations.iter().map(|iteration| &iteration.terms);
            std::iter::once(&record.outer).chain(of_iterations)
        });
        for (_, node) in recorded.chain([&self.env.terms]).flat_map(|terms| &terms.list) {
            total = self.sink.graph.add(total, *node);
        }
        Ok(LaneValue::node(total, false))
    }
}
