//! Calls: the user's functions are walked where they are called; those of the library go to
//! `call_library`.

use super::Lowering;
use super::abort::{LowerResult, runtime, unsupported};
use super::autodiff_types::{Kinds, normalised};
use super::slice_functions::as_index;
use super::statement::source_of;
use super::variables::host_conversion::to_host;
use super::variables::lane_value::{Form, LaneValue};
use super::variables::store::{Cells, Storage};
use crate::host::FaultKind;
use crate::library;
use crate::source::Span;
use crate::typed::{
    Callee, Declaration, Expr, ExprKind, FunctionId, Statement, StatementKind, Type, VariableId,
};
use crate::value::Value;
use exmc_fault::{Fault, planted};

/// How deep calls may nest.
const MAX_CALLS: usize = 200;

/// A call of a user's function that is being walked.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    /// The level of the call.
    pub(super) level: usize,
    /// Number of masks in force at the call.
    pub(super) masks: usize,
    /// What was returned so far.
    pub(super) result: Option<Storage>,
    /// The same for each slot of a tuple that is returned from branches or loops.
    pub(super) slots: Vec<Option<Storage>>,
    /// Whether terms that depend on data only may be dropped.
    pub(super) proportional: bool,
    /// Which variables are parameters.
    pub(super) kinds: Kinds,
}

impl Lowering<'_> {
    /// `callee(args)`
    pub(super) fn call(
        &mut self,
        callee: &Callee,
        args: &[Expr],
        returns: &Type,
        span: Span,
    ) -> LowerResult<LaneValue> {
        match callee {
            Callee::User { function, proportional } => {
                let value = self.call_user(*function, *proportional, args, span)?;
                value.ok_or_else(|| {
                    let name = &self.context.program.function(*function).name;
                    runtime(span, format!("`{name}` ended without returning a value"))
                })
            }
            Callee::Library(name) => {
                if let "reduce_sum" | "reduce_sum_static" = &**name {
                    return self.reduce_sum(args, span);
                }
                if &**name == "map_rect" {
                    return self.map_rect(args, span);
                }
                if let Some(solution) = self.ode(name, args, returns, span)? {
                    return Ok(solution);
                }
                if let Some(marginal) = self.laplace(name, args, returns, span)? {
                    return Ok(marginal);
                }
                if let Some(integral) = self.integral(name, args, returns, span)? {
                    return Ok(integral);
                }
                if let Some(solution) = self.root(name, args, returns, span)? {
                    return Ok(solution);
                }
                if let Some(arg) = args.iter().find(|a| {
                    matches!(a.kind, ExprKind::Function { .. } | ExprKind::LibraryFunction(_))
                }) {
                    return Err(unsupported(arg.span, format!("`{name}` in the density")));
                }
                if self.enclosing.padding > 0
                    && &**name == "dot_product"
                    && let Some(value) = self.padded_dot(args, span)?
                {
                    return Ok(value);
                }
                if let Some(part) = as_index(name, args, returns, |base| self.first_extent(base)) {
                    return self.evaluate(&part);
                }
                let mut values = Vec::with_capacity(args.len());
                for arg in args {
                    values.push((self.evaluate(arg)?, arg.ty.clone()));
                }
                if let Some(base) = library::adds_jacobian(name) {
                    let log = format!("{base}_log_jacobian");
                    let log = self.library(&log, &values, &Type::Real, span)?;
                    if self.context.options.jacobian {
                        self.add_to_target(&log, "jacobian +=", span);
                    }
                    return self.library(&format!("{base}_constrain"), &values, returns, span);
                }
                if *normalised(name) != **name {
                    let kinds = self.are_parameters(args);
                    return self.density_value(name, &values, &kinds, span);
                }
                self.library(name, &values, returns, span)
            }
        }
    }

    /// A call of a user's function by the host: known arguments, the same in all lanes, and nothing
    /// that adds to the density.
    fn user_on_host(
        &mut self,
        id: FunctionId,
        values: &[LaneValue],
        span: Span,
    ) -> LowerResult<Option<LaneValue>> {
        let function = self.context.program.function(id);
        let adds = ["_lp", "_lpdf", "_lpmf", "_rng", "_jacobian"]
            .iter()
            .any(|s| function.name.ends_with(s));
        if adds || function.returns == Type::Void || !self.env.masks.is_empty() {
            return Ok(None);
        }
        let types =
            function.arguments.iter().map(|a| &self.context.program.variable(a.variable).ty);
        let known: Option<Vec<Value>> =
            values.iter().zip(types).map(|(value, ty)| to_host(value, ty)).collect();
        let Some(known) = known else { return Ok(None) };
        match self.context.host.call_user(&mut self.context.scratch, id, known, span) {
            Ok(value) => Ok(Some(LaneValue::known(value))),
            Err(error) if error.kind == FaultKind::Unsupported => Ok(None),
            Err(error) => Err(runtime(error.span, error.message.clone())),
        }
    }

    /// A call of a user's function; nothing if it returns nothing.
    pub(super) fn call_user(
        &mut self,
        function: FunctionId,
        proportional: bool,
        args: &[Expr],
        span: Span,
    ) -> LowerResult<Option<LaneValue>> {
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(self.evaluate(arg)?);
        }
        let kinds = self.are_parameters(args);
        self.call_with(function, proportional, (values, &kinds), span)
    }

    /// The same on values, with whether each is a parameter (`by_type`).
    pub(super) fn call_with(
        &mut self,
        id: FunctionId,
        proportional: bool,
        (values, are_parameters): (Vec<LaneValue>, &[bool]),
        span: Span,
    ) -> LowerResult<Option<LaneValue>> {
        if self.env.frames.len() >= MAX_CALLS {
            return Err(runtime(span, format!("calls nest deeper than {MAX_CALLS} levels")));
        }
        if let Some(value) = self.user_on_host(id, &values, span)? {
            return Ok(Some(value));
        }
        let program = self.context.program;
        let function = program.function(id);
        let locals = self.locals_of(id);
        let saved: Vec<Option<Storage>> =
            locals.iter().map(|local| self.env.stores[local.0 as usize].take()).collect();
        let (level, masks) = (self.depth(), self.env.masks.len());
        for (argument, value) in function.arguments.iter().zip(values) {
            let shape = value.shape(&self.sink.graph);
            let storage = Storage::from_value(level, masks, shape, value);
            self.env.stores[argument.variable.0 as usize] = Some(storage);
        }
        let inside = function.name.ends_with("_lp") && self.proportional();
        let proportional = (proportional && self.proportional()) || inside;
        let kinds = self.kinds_inside(id, are_parameters);
        let (result, slots) = (None, Vec::new());
        self.env.frames.push(Frame { level, masks, result, slots, proportional, kinds });
        self.run_block(&function.body)?;
        let frame = self.env.frames.pop();
        for (local, storage) in locals.iter().zip(saved) {
            self.env.stores[local.0 as usize] = storage;
        }
        let Some(frame) = frame else { return Ok(None) };
        let nothing = || {
            let message = format!("`{}` ended without returning a value", function.name);
            runtime(span, message)
        };
        if !frame.slots.is_empty() {
            let read = |slot: &Option<Storage>| {
                slot.as_ref().and_then(|slot| self.returned(slot)).ok_or_else(nothing)
            };
            let slots = frame.slots.iter().map(read).collect::<LowerResult<Vec<_>>>()?;
            return Ok(Some(LaneValue::tuple(slots)));
        }
        let Some(storage) = frame.result else { return Ok(None) };
        self.returned(&storage).ok_or_else(nothing).map(Some)
    }

    /// What a function returned; nothing where it did not in some lane.
    fn returned(&mut self, storage: &Storage) -> Option<LaneValue> {
        let Cells::Mixed { cells, .. } = &storage.cells else {
            let Cells::Whole(value) = &storage.cells else { return None };
            return Some(value.clone());
        };
        let lanes = storage.level > 0;
        let flat: Vec<u32> = (0..cells.len() as u32).collect();
        let full: Vec<usize> = lanes
            .then(|| self.lane_count())
            .into_iter()
            .chain(storage.shape.iter().copied())
            .collect();
        let form = storage.read(&mut self.sink.graph, &flat, &full)?;
        Some(LaneValue { form, lanes })
    }

    /// Whether terms that depend on data only may be dropped where the walk is.
    pub(super) fn proportional(&self) -> bool {
        self.context.options.proportional
            && self.env.frames.last().is_none_or(|frame| frame.proportional)
    }

    /// `return value`
    pub(super) fn give_back(&mut self, value: LaneValue, span: Span) -> LowerResult<()> {
        let Some(frame) = self.env.frames.last() else {
            return Err(unsupported(span, "a return outside of a function"));
        };
        let (level, masks) = (frame.level, frame.masks);
        let shape = value.shape(&self.sink.graph);
        let plain =
            self.depth() == level && self.env.masks.len() == masks && frame.result.is_none();
        if let (false, Form::Tuple(slots)) = (plain, &value.form) {
            return self.give_slots_back(slots, span);
        }
        if plain {
            let storage = Storage::from_value(level, masks, shape, value);
            if let Some(frame) = self.env.frames.last_mut() {
                frame.result = Some(storage);
            }
            return Ok(());
        }
        let count = self.env.levels[level].count;
        let lanes = self.lanes_at(level).unwrap_or_else(|| (0..self.lane_count() as u32).collect());
        let storage = match self.env.frames.last_mut().and_then(|frame| frame.result.take()) {
            Some(storage) if storage.shape == shape => Some(storage),
            Some(_) => {
                let keys = vec![1; self.lane_count()];
                return Err(self.ragged(&keys, span));
            }
            None => None,
        };
        let mut storage =
            storage.unwrap_or_else(|| Storage::private(level, masks, shape.clone(), count));
        let size: usize = shape.iter().product();
        let flat: Vec<u32> = lanes
            .iter()
            .flat_map(|lane| (0..size as u32).map(move |e| lane * size as u32 + e))
            .collect();
        let spread = self.depth() > 0;
        let full: Vec<usize> =
            spread.then_some(lanes.len()).into_iter().chain(shape.iter().copied()).collect();
        let mut value = value;
        if let Some(mask) = self.mask(masks).filter(|_| !planted(Fault::LaterReturnWins))
            && let Some(form) = storage.read(&mut self.sink.graph, &flat, &full)
        {
            let old = LaneValue { form, lanes: spread };
            value = self.blend(&mask, &value, &old);
        }
        let has_lanes = value.lanes;
        let offset = |k: usize| if has_lanes { k as u32 } else { (k % size.max(1)) as u32 };
        storage.write(count, &flat, source_of(&value), offset);
        if let Some(frame) = self.env.frames.last_mut() {
            frame.result = Some(storage);
        }
        Ok(())
    }

    /// The same for a tuple, slot by slot.
    fn give_slots_back(&mut self, slots: &[LaneValue], span: Span) -> LowerResult<()> {
        for (k, slot) in slots.iter().enumerate() {
            if matches!(slot.form, Form::Tuple(_)) {
                return Err(unsupported(span, "a tuple of tuples returned from a branch or loop"));
            }
            let Some(frame) = self.env.frames.last_mut() else { continue };
            frame.slots.resize(slots.len(), None);
            frame.result = frame.slots[k].take();
            self.give_back(slot.clone(), span)?;
            if let Some(frame) = self.env.frames.last_mut() {
                frame.slots[k] = frame.result.take();
            }
        }
        Ok(())
    }

    /// `reduce_sum(f, x, grainsize, …)` is `f(x, 1, size(x), …)`.
    fn reduce_sum(&mut self, args: &[Expr], span: Span) -> LowerResult<LaneValue> {
        let [function, sliced, _, rest @ ..] = args else {
            return Err(unsupported(span, "this call of `reduce_sum`"));
        };
        let ExprKind::Function { function, proportional } = function.kind else {
            return Err(unsupported(span, "`reduce_sum` over a library function"));
        };
        let sliced = self.evaluate(sliced)?;
        let count = sliced.shape(&self.sink.graph).first().copied().unwrap_or(0) as i64;
        if count == 0 {
            return Ok(LaneValue::real(0.0));
        }
        let mut values =
            vec![sliced, LaneValue::known(Value::Int(1)), LaneValue::known(Value::Int(count))];
        for arg in rest {
            values.push(self.evaluate(arg)?);
        }
        let mut kinds = vec![self.is_parameter(&args[1]), false, false];
        kinds.extend(self.are_parameters(rest));
        let value = self.call_with(function, proportional, (values, &kinds), span)?;
        value.ok_or_else(|| unsupported(span, "`reduce_sum` over a function without a value"))
    }

    fn locals_of(&mut self, id: FunctionId) -> std::sync::Arc<[VariableId]> {
        if let Some(found) = self.learned.locals.get(&id) {
            return found.clone();
        }
        let function = self.context.program.function(id);
        let mut found: Vec<VariableId> = function.arguments.iter().map(|a| a.variable).collect();
        function.body.iter().for_each(|statement| declared(statement, &mut found));
        let found: std::sync::Arc<[VariableId]> = found.into();
        self.learned.locals.insert(id, found.clone());
        found
    }
}

/// Every variable that a statement declares, loop variables too.
pub(super) fn declared(statement: &Statement, found: &mut Vec<VariableId>) {
    match &statement.kind {
        StatementKind::Declare(Declaration { variable, .. }) => found.push(*variable),
        StatementKind::If(_, then, otherwise) => {
            declared(then, found);
            if let Some(otherwise) = otherwise {
                declared(otherwise, found);
            }
        }
        StatementKind::While(_, body) => declared(body, found),
        StatementKind::For { variable, body, .. }
        | StatementKind::ForEach { variable, body, .. } => {
            found.push(*variable);
            declared(body, found);
        }
        StatementKind::Block(body) | StatementKind::Profile(_, body) => {
            body.iter().for_each(|statement| declared(statement, found));
        }
        _ => {}
    }
}
