//! Statements: each is walked once for all lanes -> new nodes, new contents of variables, new
//! terms.

use exmc_fault::{Fault, planted};
use exmc_graph::Shape;

use super::abort::{Abort, LowerResult, runtime, unsupported};
use super::loops::control_flow::{FlowParts, LaneFlow, LaneSet};
use super::loops::lanes::Mask;
use super::variables::host_conversion::unset;
use super::variables::lane_value::{Form, LaneValue, ints};
use super::variables::store::{Source, Storage};
use super::{Lowering, MAX_RANK_ONE_SIZE};
use crate::check::types::is_complex;
use crate::diagnostic::{Class, Diagnostic};
use crate::host::checked_len;
use crate::source::Span;
use crate::typed::{
    Callee, Declaration, DeclaredType, Expr, ExprKind, PrintItem, Statement, StatementKind, Type,
};
use crate::value::Value;
use crate::visit::{Node, visit_expr};

impl Lowering<'_> {
    /// Statements one after the other.
    pub(super) fn run_block(&mut self, statements: &[Statement]) -> LowerResult<LaneFlow> {
        for (k, statement) in statements.iter().enumerate() {
            let flow = self.run(statement)?;
            if flow.is_plain() {
                continue;
            }
            let rest = &statements[k + 1..];
            if flow.next.is_none() || rest.is_empty() {
                return Ok(flow);
            }
            if let Some(left) = flow.mask {
                return self.run_rest(left, rest, rest[0].span);
            }
            let count = self.lane_count();
            let kept = flow.next.to_vec(count);
            let after = self.in_lanes(&kept, |this| this.run_block(rest))?;
            if after.mask.is_some() {
                return Err(unsupported(
                    rest[0].span,
                    "this mix of returns under conditions on data and on parameters",
                ));
            }
            let mut parts = FlowParts::default();
            let left = LaneFlow { next: LaneSet::none(), ..flow };
            parts.leave(&left, &(0..count as u32).collect::<Vec<_>>());
            parts.add(&after, &kept);
            return Ok(parts.finish(count));
        }
        Ok(LaneFlow::on())
    }

    /// One statement.
    pub(super) fn run(&mut self, statement: &Statement) -> LowerResult<LaneFlow> {
        let span = statement.span;
        if self.sink.graph.len() > self.context.options.node_limit {
            let message = "the program's density needs more operations than the limit allows";
            let help = "a loop here has iterations that need each other's results and cannot be run side by side";
            let diagnostic = Diagnostic::error(Class::Limit, span, message).help(help);
            return Err(Abort::Mistake(Box::new(diagnostic)));
        }
        match &statement.kind {
            StatementKind::Declare(declaration) => self.declare(declaration)?,
            StatementKind::Assign { target, op, value } => self.assign(target, *op, value, span)?,
            StatementKind::TargetPlus(value) => {
                let added = self.evaluate(value)?;
                self.add_to_target(&added, "target +=", span);
            }
            StatementKind::JacobianPlus(value) => {
                let added = self.evaluate(value)?;
                if self.context.options.jacobian {
                    self.add_to_target(&added, "jacobian +=", span);
                }
            }
            StatementKind::Tilde { outcome, distribution, user, args, truncation } => {
                self.tilde(outcome, distribution, *user, args, truncation.as_deref(), span)?;
            }
            StatementKind::Call { function, args } => self.call_statement(function, args, span)?,
            StatementKind::Print(items) => {
                self.warn_of_print(span);
                self.check_printed(items)?;
            }
            // Where the density is zero it does not matter what else is added.
            StatementKind::Reject(items) => {
                self.reject(items, "the program rejects these data: ", span)?
            }
            StatementKind::FatalError(items) => {
                self.reject(items, "", span)?;
                self.sink.may_end = true;
            }
            StatementKind::If(condition, then, otherwise) => {
                return self.run_if(condition, then, otherwise.as_deref());
            }
            StatementKind::While(condition, body) => return self.run_while(condition, body),
            StatementKind::For { variable, lower, upper, body } => {
                return self.run_for(statement, *variable, lower, upper, body);
            }
            StatementKind::ForEach { variable, over, body } => {
                return self.run_for_each(statement, *variable, over, body);
            }
            StatementKind::Break => {
                return Ok(LaneFlow { broke: LaneSet::All, ..LaneFlow::returned() });
            }
            StatementKind::Continue => {
                return Ok(LaneFlow { continued: LaneSet::All, ..LaneFlow::returned() });
            }
            StatementKind::Return(value) => {
                if let Some(value) = value {
                    let value = self.evaluate(value)?;
                    self.give_back(value, span)?;
                }
                return Ok(LaneFlow::returned());
            }
            StatementKind::Block(body) | StatementKind::Profile(_, body) => {
                return self.run_block(body);
            }
        }
        Ok(LaneFlow::on())
    }

    fn declare(&mut self, declaration: &Declaration) -> LowerResult<()> {
        let variable = self.context.program.variable(declaration.variable);
        let shape = self.declared_shape(&declaration.ty)?;
        fits(&shape, usize::MAX, declaration.span)?;
        let value = match &variable.ty {
            ty if matches!(ty.array_parts().1, Type::Tuple(_)) => LaneValue::tuple(Vec::new()),
            ty => unset(ty, &shape),
        };
        let storage = Storage::from_value(self.depth(), self.env.masks.len(), shape, value);
        self.env.stores[declaration.variable.0 as usize] = Some(storage);
        if let Some(initial) = &declaration.initial {
            let value = self.evaluate(initial)?;
            self.store_whole(declaration.variable, value, declaration.span)?;
        }
        Ok(())
    }

    /// Extents of a declared variable, arrays first.
    pub(super) fn declared_shape(&mut self, ty: &DeclaredType) -> LowerResult<Vec<usize>> {
        match ty {
            DeclaredType::Leaf { sizes, ty, .. } => {
                let sizes = sizes.iter().map(|size| self.size(size));
                let parts = is_complex(ty).then_some(Ok(2));
                sizes.chain(parts).collect()
            }
            DeclaredType::Array { sizes, element } => {
                let mut shape: Vec<usize> =
                    sizes.iter().map(|size| self.size(size)).collect::<LowerResult<_>>()?;
                shape.extend(self.declared_shape(element)?);
                Ok(shape)
            }
            DeclaredType::Tuple(_) => Ok(Vec::new()),
        }
    }

    /// A size, the same in all lanes.
    pub(super) fn size(&mut self, expr: &Expr) -> LowerResult<usize> {
        let value = self.evaluate(expr)?;
        let size = self.same_int(&value, expr.span)?;
        match usize::try_from(size) {
            Ok(size) if size <= MAX_RANK_ONE_SIZE => Ok(size),
            Ok(_) => Err(runtime(expr.span, format!("a size of {size} is too large"))),
            Err(_) => Err(runtime(expr.span, format!("a size must not be negative, found {size}"))),
        }
    }

    /// A known integer that all lanes agree on.
    pub(super) fn same_int(&mut self, value: &LaneValue, span: Span) -> LowerResult<i64> {
        let Some(numbers) = value.as_known().and_then(ints) else {
            return Err(unsupported(span, "a size or bound that depends on parameters"));
        };
        let Some((first, rest)) = numbers.split_first() else { return Ok(0) };
        if rest.iter().all(|v| v == first) {
            return Ok(*first);
        }
        let keys = numbers.to_vec();
        Err(self.ragged(&keys, span))
    }

    fn call_statement(&mut self, function: &Callee, args: &[Expr], span: Span) -> LowerResult<()> {
        match function {
            Callee::User { function, proportional } => {
                self.call_user(*function, *proportional, args, span)?;
                Ok(())
            }
            Callee::Library(name) => {
                Err(unsupported(span, format!("the statement `{name}(…)` in the density")))
            }
        }
    }

    fn warn_of_print(&mut self, span: Span) {
        if !self.sink.warnings.iter().any(|w| w.span == span) {
            let message = "`print` does nothing here: the density runs compiled";
            self.sink.warnings.push(Diagnostic::warning(Class::Unsupported, span, message));
        }
    }

    /// Indices of what would be printed must lie within their arrays, as where they are evaluated.
    /// Other expressions are not: their functions may be of a kind that runs in no density.
    fn check_printed(&mut self, items: &[PrintItem]) -> LowerResult<()> {
        for item in items {
            let PrintItem::Value(expr) = item else { continue };
            let (mut is_indexed, mut calls) = (false, false);
            visit_expr(expr, &mut |node| {
                if let Node::Expr(part) = node {
                    is_indexed |= matches!(part.kind, ExprKind::Index(..));
                    calls |= matches!(part.kind, ExprKind::Call(..) | ExprKind::Target);
                }
                true
            });
            if !is_indexed || calls {
                continue;
            }
            if let Err(Abort::Mistake(mistake)) = self.evaluate(expr)
                && mistake.class == Class::Runtime
            {
                return Err(Abort::Mistake(mistake));
            }
        }
        Ok(())
    }

    /// `reject`: under a condition on parameters the density is zero where it holds.
    fn reject(&mut self, items: &[PrintItem], what: &str, span: Span) -> LowerResult<()> {
        if self.env.masks.is_empty() {
            let words: Vec<String> = items
                .iter()
                .map(|item| match item {
                    PrintItem::Text(text) => Ok(text.to_string()),
                    PrintItem::Value(expr) => Ok(show(&self.evaluate(expr)?)),
                })
                .collect::<LowerResult<_>>()?;
            return Err(runtime(span, format!("{what}{}", words.concat())));
        }
        let never = LaneValue::real(f64::NEG_INFINITY);
        self.add_to_target(&never, "reject", span);
        Ok(())
    }

    /// The conditions on parameters in force, those made at `from` and later, for the current
    /// lanes.
    pub(super) fn mask(&mut self, from: usize) -> Option<LaneValue> {
        let masks: Vec<Mask> = self.env.masks.get(from..).unwrap_or(&[]).to_vec();
        let mut all: Option<LaneValue> = None;
        for mask in masks {
            let here = if mask.lanes {
                let value = LaneValue::node(mask.node, true);
                self.at_current_level(value, mask.level)
            } else {
                LaneValue::node(mask.node, false)
            };
            all = Some(match all {
                None => here,
                Some(before) => {
                    let (a, b) =
                        (before.to_node(&mut self.sink.graph), here.to_node(&mut self.sink.graph));
                    LaneValue::node(self.sink.graph.and(a, b), before.lanes || here.lanes)
                }
            });
        }
        all
    }

    /// A value with the lane axis of an outer level, for the current lanes.
    pub(super) fn at_current_level(&mut self, value: LaneValue, level: usize) -> LaneValue {
        let Some(mut map) = self.lanes_at(level).filter(|_| value.lanes) else { return value };
        if planted(Fault::FirstLanesCondition) {
            map.fill(0);
        }
        let shape = value.shape(&self.sink.graph);
        let size: usize = shape.iter().product();
        let flat: Vec<u32> = map
            .iter()
            .flat_map(|lane| (0..size as u32).map(move |e| lane * size as u32 + e))
            .collect();
        let storage = Storage::from_value(level, 0, shape.clone(), value);
        let full: Vec<usize> = std::iter::once(map.len()).chain(shape).collect();
        let form = storage.read(&mut self.sink.graph, &flat, &full);
        LaneValue { form: form.expect("a whole value has all elements"), lanes: true }
    }

    /// `new` where the mask holds, else `old`.
    pub(super) fn blend(
        &mut self,
        mask: &LaneValue,
        new: &LaneValue,
        old: &LaneValue,
    ) -> LaneValue {
        let lanes = mask.lanes || new.lanes || old.lanes;
        let shape = new.shape(&self.sink.graph);
        let full: Vec<usize> =
            lanes.then(|| self.lane_count()).into_iter().chain(shape.iter().copied()).collect();
        let mut condition = mask.to_node(&mut self.sink.graph);
        if mask.lanes {
            let stretched: Vec<usize> =
                std::iter::once(self.lane_count()).chain(shape.iter().map(|_| 1)).collect();
            condition = self.sink.graph.reshape(condition, stretched);
        }
        let (a, b) = (new.to_node(&mut self.sink.graph), old.to_node(&mut self.sink.graph));
        let node = self.sink.graph.select(condition, a, b);
        let node = self.sink.graph.broadcast_to(node, &Shape::from(full));
        LaneValue::node(node, lanes)
    }

    /// Puts together what different lanes computed.
    pub(super) fn join(
        &mut self,
        parts: &[(Vec<u32>, LaneValue)],
        span: Span,
    ) -> LowerResult<LaneValue> {
        let count = self.lane_count();
        let Some((_, first)) = parts.first() else { return Ok(LaneValue::real(f64::NAN)) };
        let shape = first.shape(&self.sink.graph);
        let mut keys = vec![i64::MIN; count];
        let mut same = true;
        for (k, (lanes, value)) in parts.iter().enumerate() {
            same &= value.shape(&self.sink.graph) == shape && !matches!(value.form, Form::Tuple(_));
            lanes.iter().for_each(|lane| keys[*lane as usize] = k as i64);
        }
        if !same {
            return Err(self.ragged(&keys, span));
        }
        let size: u32 = shape.iter().product::<usize>() as u32;
        let mut storage = Storage::private(self.depth(), 0, shape.clone(), count);
        for (lanes, value) in parts {
            let flat: Vec<u32> =
                lanes.iter().flat_map(|lane| (0..size).map(move |e| lane * size + e)).collect();
            let spread = value.lanes;
            let offset = |k: usize| if spread { k as u32 } else { k as u32 % size.max(1) };
            storage.write(count, &flat, source_of(value), offset);
        }
        let flat: Vec<u32> = (0..count as u32 * size).collect();
        let full: Vec<usize> = std::iter::once(count).chain(shape).collect();
        let form = storage.read(&mut self.sink.graph, &flat, &full);
        Ok(LaneValue { form: form.expect("the parts cover all lanes"), lanes: true })
    }
}

/// That a variable's elements are no more than what can be held, nor than `most`.
pub(super) fn fits(shape: &[usize], most: usize, span: Span) -> LowerResult<()> {
    let count =
        checked_len(shape).map_err(|fault| Abort::Mistake(Box::new(fault.at(span).into())))?;
    if count <= most {
        return Ok(());
    }
    let message =
        format!("a parameter of size {shape:?} is too large; the limit is {most} elements");
    Err(Abort::Mistake(Box::new(Diagnostic::error(Class::Limit, span, message))))
}

/// What is stored for a value.
pub(super) fn source_of(value: &LaneValue) -> Source {
    match &value.form {
        Form::Known(known) => Source::Known(known.clone()),
        Form::Node(node) => Source::Node(*node),
        Form::Tuple(_) => unreachable!("tuples are stored whole"),
    }
}

/// Which elements are not zero.
pub(super) fn truths(value: &Value) -> Vec<bool> {
    super::variables::lane_value::reals(value).iter().map(|v| *v != 0.0).collect()
}

fn show(value: &LaneValue) -> String {
    let Some(known) = value.as_known() else { return "(depends on parameters)".to_owned() };
    let numbers: Vec<String> =
        super::variables::lane_value::reals(known).iter().take(8).map(f64::to_string).collect();
    if known.shape().is_empty() { numbers.concat() } else { format!("[{}]", numbers.join(", ")) }
}
