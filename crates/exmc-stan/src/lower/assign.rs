//! Assignments: a target's elements and a value -> new contents of a variable.
//!
//! `x += e`, where several lanes add to one element, adds the sum over these lanes.

use exmc_fault::{Fault, planted};
use exmc_graph::{NodeId, Op, Reduction, Shape, Tensor};

use super::Lowering;
use super::abort::{Abort, LowerResult, runtime, unsupported};
use super::loops::lanes::Touch;
use super::statement::source_of;
use super::variables::lane_value::{Form, LaneValue, constant, pick_known, promoted};
use super::variables::store::{Addresses, Cells, Source};
use crate::check::types::is_complex;
use crate::source::Span;
use crate::typed::{Access, BinaryOp, Expr, ExprKind, Index, LValue, LValueKind, VariableId};

impl Lowering<'_> {
    /// `target op= value`
    pub(super) fn assign(
        &mut self,
        target: &LValue,
        op: Option<BinaryOp>,
        value: &Expr,
        span: Span,
    ) -> LowerResult<()> {
        let (id, path) = match &target.kind {
            LValueKind::Path(id, path) => (*id, path.as_slice()),
            LValueKind::Tuple(parts) => {
                let value = self.evaluate(value)?;
                return self.store_slots(parts, value, span);
            }
        };
        let Some(op) = op else {
            // Where lanes add to the same element, `x = x + e` is a sum over them.
            if self.depth() > 0
                && let Some((added, negative)) = added_to(id, path, value)
                && self.add_over_lanes(id, path, &added, negative, span)?
            {
                return Ok(());
            }
            let value = self.evaluate(value)?;
            return self.store(id, path, value, span);
        };
        if self.depth() > 0
            && matches!(op, BinaryOp::Add | BinaryOp::Subtract)
            && self.add_over_lanes(id, path, &[value], op == BinaryOp::Subtract, span)?
        {
            return Ok(());
        }
        let old = match self.path_addresses(id, path, target.span) {
            Err(Abort::Symbolic { .. }) => self.read_chosen(id, path, target)?,
            addresses => self.read_at(id, addresses?, target.span)?,
        };
        let old = self.where_masks_hold(old, &target.ty);
        let new = self.evaluate(value)?;
        let value = self.binary(op, (old, &target.ty), (new, &value.ty), &target.ty, span)?;
        self.store(id, path, value, span)
    }

    /// Several variables, or parts of them, get the slots of a tuple.
    fn store_slots(&mut self, parts: &[LValue], value: LaneValue, span: Span) -> LowerResult<()> {
        let Form::Tuple(slots) = value.form else {
            return Err(unsupported(span, "this assignment of a tuple"));
        };
        for (part, slot) in parts.iter().zip(slots) {
            match &part.kind {
                LValueKind::Path(id, path) => self.store(*id, path, slot, part.span)?,
                LValueKind::Tuple(inner) => self.store_slots(inner, slot, part.span)?,
            }
        }
        Ok(())
    }

    /// A variable's elements get a value.
    pub(super) fn store(
        &mut self,
        id: VariableId,
        path: &[Access],
        value: LaneValue,
        span: Span,
    ) -> LowerResult<()> {
        if path.is_empty() {
            return self.store_whole(id, value, span);
        }
        match self.path_addresses(id, path, span) {
            Err(Abort::Symbolic { span: index }) => {
                self.store_chosen((id, path), value, (span, index))
            }
            addresses => self.store_at(id, &addresses?, value, span),
        }
    }

    /// A variable gets a value.
    pub(super) fn store_whole(
        &mut self,
        id: VariableId,
        value: LaneValue,
        span: Span,
    ) -> LowerResult<()> {
        let is_int =
            super::variables::lane_value::holds_ints(&self.context.program.variable(id).ty);
        let storage = self.storage(id, span)?;
        if matches!(value.form, Form::Tuple(_)) {
            let (level, depth) = (storage.level, self.depth());
            if level != depth || self.env.masks.len() > storage.masks {
                return Err(unsupported(
                    span,
                    "an assignment of a tuple inside of a loop or branch",
                ));
            }
            if let Some(storage) = &mut self.env.stores[id.0 as usize] {
                storage.cells = Cells::Whole(value);
            }
            return Ok(());
        }
        let shape = value.shape(&self.sink.graph);
        if shape != storage.shape
            && !matches!(&storage.cells, Cells::Whole(v) if matches!(v.form, Form::Tuple(_)))
        {
            let name = &self.context.program.variable(id).name;
            let (wanted, found) = (&storage.shape, &shape);
            return Err(runtime(
                span,
                format!(
                    "`{name}` has size {wanted:?}, but the value that is assigned has {found:?}"
                ),
            ));
        }
        let value = match value.form {
            Form::Known(known) if !is_int => {
                LaneValue { form: Form::Known(promoted(&known)), ..value }
            }
            form => LaneValue { form, ..value },
        };
        if storage.level == self.depth() && self.env.masks.len() == storage.masks {
            self.note_write(id, &source_of(&value));
            if let Some(storage) = &mut self.env.stores[id.0 as usize] {
                storage.cells = Cells::Whole(value);
                storage.partly.clear();
            }
            return Ok(());
        }
        let addresses = self.path_addresses(id, &[], span)?;
        self.store_at(id, &addresses, value, span)
    }

    fn store_at(
        &mut self,
        id: VariableId,
        addresses: &Addresses,
        value: LaneValue,
        span: Span,
    ) -> LowerResult<()> {
        let shape = value.shape(&self.sink.graph);
        if shape != addresses.shape {
            let name = &self.context.program.variable(id).name;
            let (wanted, found) = (&addresses.shape, &shape);
            return Err(runtime(
                span,
                format!("{wanted:?} elements of `{name}` are assigned a value of size {found:?}"),
            ));
        }
        if addresses.flat.is_empty() {
            return Ok(());
        }
        let storage = self.storage(id, span)?;
        let (home, masks) = (storage.level, storage.masks);
        let home_lanes = self.env.levels[home].count;
        let mut value = value;
        if let Some(mask) = self.mask(masks) {
            // Where a condition does not hold the element keeps what it was: that is a read.
            if !planted(Fault::LostBlend) {
                self.touch(id, home, &addresses.flat, !addresses.lanes, Touch::Read)?;
            }
            value = self.merged(id, addresses, value, &mask)?;
        } else if let Some(storage) = &mut self.env.stores[id.0 as usize] {
            storage.is_given(&addresses.flat);
        }
        self.touch(id, home, &addresses.flat, !addresses.lanes, Touch::Write)?;
        let (spread, each) = (value.lanes, addresses.shape.iter().product::<usize>().max(1));
        let lanes = self.lane_count();
        let last = (lanes.max(1) - 1) * each;
        let shared = !addresses.lanes;
        let offset = |k: usize| match (spread, shared) {
            (true, true) => (last + k) as u32,
            (true, false) => k as u32,
            (false, _) => (k % each) as u32,
        };
        let source = source_of(&value);
        self.note_write(id, &source);
        if let Some(storage) = &mut self.env.stores[id.0 as usize] {
            storage.write(home_lanes, &addresses.flat, source, offset);
        }
        Ok(())
    }

    /// Adds a sum over lanes to the elements of a path, if several lanes add to one; says whether
    /// it did.
    fn add_over_lanes(
        &mut self,
        id: VariableId,
        path: &[Access],
        added: &[&Expr],
        negative: bool,
        span: Span,
    ) -> LowerResult<bool> {
        let storage = self.storage(id, span)?;
        let (home, masks) = (storage.level, storage.masks);
        // Only a loop side by side makes lanes that share an element.
        if !self.is_watched(id, home) {
            return Ok(false);
        }
        let addresses = match self.path_addresses(id, path, span) {
            Err(Abort::Symbolic { .. }) => return Ok(false),
            addresses => addresses?,
        };
        let lanes = self.lane_count();
        let each: usize = addresses.shape.iter().product();
        let mut order: Vec<(u32, u32)> = Vec::with_capacity(lanes * each);
        for lane in 0..lanes {
            for e in 0..each {
                let k = if addresses.lanes { lane * each + e } else { e };
                order.push((addresses.flat[k], (lane * each + e) as u32));
            }
        }
        let mut seen: Vec<u32> = order.iter().map(|(address, _)| *address).collect();
        seen.sort_unstable();
        let all = seen.len();
        seen.dedup();
        if seen.len() == all || each == 0 {
            return Ok(false);
        }
        let mut total: Option<LaneValue> = None;
        for expr in added {
            let value = self.evaluate(expr)?;
            let value = if negative { self.negated(value) } else { value };
            total = Some(match total {
                None => value,
                Some(before) => {
                    let ty = expr.ty.clone();
                    self.binary(BinaryOp::Add, (before, &ty), (value, &ty), &ty, span)?
                }
            });
        }
        let Some(mut total) = total else { return Ok(false) };
        if total.shape(&self.sink.graph) != addresses.shape {
            // A scalar added to each element of a container.
            return Ok(false);
        }
        if let Some(mask) = self.mask(masks) {
            let zero = LaneValue::real(0.0);
            let zero = self.stretched(zero, &addresses.shape);
            total = self.blend(&mask, &total, &zero);
        }
        let home_lanes = self.env.levels[home].count;
        let mut of_steps = match self.is_late(id) {
            true => Some(self.sums_of_steps(id, &order, each)?),
            false => None,
        };
        self.touch_sums(id, home, &order, each)?;
        // Elements in ascending order, but what one step adds to stands together.
        let mut elements: Vec<u32> = (0..seen.len() as u32).collect();
        if let Some(steps) = &mut of_steps
            && !planted(Fault::StepTwiceInLayout)
        {
            elements.sort_by_key(|k| steps[*k as usize]);
            steps.sort_unstable();
        }
        let mut ranks = vec![0; seen.len()];
        elements.iter().zip(0..).for_each(|(k, rank)| ranks[*k as usize] = rank);
        for (address, _) in &mut order {
            *address = ranks[seen.partition_point(|s| s < address)];
        }
        let seen: Vec<u32> = elements.iter().map(|k| seen[*k as usize]).collect();
        // Row `k` of what is added, by elements: contributions to one are together.
        order.sort_unstable();
        let spread = |k: u32| if total.lanes { k } else { k % each as u32 };
        let positions: Vec<u32> = order.iter().map(|(_, k)| spread(*k)).collect();
        let old = match &of_steps {
            Some(steps) => {
                let old = self.read_in_steps(id, seen.clone(), steps, &[seen.len()])?;
                self.written_by_steps(id, &seen, steps);
                LaneValue { lanes: false, ..old }
            }
            None => {
                let old = Addresses { shape: vec![seen.len()], lanes: false, flat: seen.clone() };
                self.read_untouched(id, &old)?
            }
        };
        let old_shared = old.as_known().cloned();
        let new = if let (Some(old), Some(value)) = (&old_shared, total.as_known()) {
            let values = pick_known(value, &positions, &[positions.len()]);
            sum_known(old, &values, &order)
        } else {
            let node = total.to_node(&mut self.sink.graph);
            let values = super::variables::gather::pick(
                &mut self.sink.graph,
                node,
                &positions,
                &[positions.len()],
            );
            let sums = self.group_sums(values, &order, seen.len());
            let old = match &old_shared {
                Some(known) => constant(&mut self.sink.graph, known),
                None => old.to_node(&mut self.sink.graph),
            };
            Source::Node(self.sink.graph.add(old, sums))
        };
        self.note_write(id, &new);
        if let Some(storage) = &mut self.env.stores[id.0 as usize] {
            storage.write(home_lanes, &seen, new, |k| k as u32);
        }
        Ok(true)
    }

    /// The sums of values for each of `count` elements; `order` has each value's element first.
    fn group_sums(&mut self, values: NodeId, order: &[(u32, u32)], count: usize) -> NodeId {
        let g = &mut self.sink.graph;
        let values = g.broadcast_to(values, &Shape::from([order.len()]));
        let each = order.len() / count;
        let even = order.len().is_multiple_of(count)
            && (order.chunks(each).zip(0..))
                .all(|(group, element)| group.iter().all(|(target, _)| *target == element));
        if even {
            let table = g.reshape(values, [count, each]);
            return g.reduce(Reduction::Sum, table, &[1]);
        }
        let index: Vec<usize> = order.iter().map(|(element, _)| *element as usize).collect();
        let index = g.constant(Tensor::indices(&index));
        g.apply(Op::ScatterAdd { len: count }, &[values, index])
            .expect("one index was made for each value")
    }
}

/// Values added to known elements; `order` has each value's element first.
fn sum_known(
    old: &crate::value::Value,
    values: &crate::value::Value,
    order: &[(u32, u32)],
) -> Source {
    use super::variables::lane_value::{int_value, ints, real_value, reals};
    if let (Some(old), Some(values)) = (ints(old), ints(values)) {
        let mut sums = old.into_owned();
        order.iter().zip(values.iter()).for_each(|((k, _), v)| sums[*k as usize] += v);
        return Source::Known(int_value(&[sums.len()], sums));
    }
    let mut sums = reals(old).into_owned();
    order.iter().zip(reals(values).iter()).for_each(|((k, _), v)| sums[*k as usize] += v);
    Source::Known(real_value(&[sums.len()], sums))
}

/// What `x = …` adds to `x`, if that is all it does: the other terms of a sum, or one that is
/// subtracted.
fn added_to<'e>(id: VariableId, path: &[Access], value: &'e Expr) -> Option<(Vec<&'e Expr>, bool)> {
    let ExprKind::Binary(op, a, b) = &strip(value).kind else { return None };
    let same = |expr: &Expr| is_path(expr, id, path);
    // Only sums of equal shapes: what is added must be what the element is.
    let fits = |expr: &Expr| {
        expr.ty.rank() == value.ty.rank() && is_complex(&expr.ty) == is_complex(&value.ty)
    };
    match op {
        BinaryOp::Add if same(a) && fits(b) => Some((vec![&**b], false)),
        BinaryOp::Add if same(b) && fits(a) => Some((vec![&**a], false)),
        BinaryOp::Subtract if same(a) && fits(b) => Some((vec![&**b], true)),
        BinaryOp::Add if fits(b) => {
            let (mut found, negative) = added_to(id, path, a)?;
            if negative {
                return None;
            }
            found.push(b);
            Some((found, false))
        }
        _ => None,
    }
}

fn strip(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Promote(inner) => strip(inner),
        _ => expr,
    }
}

fn is_path(expr: &Expr, id: VariableId, path: &[Access]) -> bool {
    let mut steps: Vec<&[Index]> = Vec::new();
    let mut root = strip(expr);
    while let ExprKind::Index(inner, indices) = &root.kind {
        steps.push(indices);
        root = inner;
    }
    steps.reverse();
    let ExprKind::Variable(variable) = root.kind else { return false };
    variable == id
        && steps.len() == path.len()
        && steps.iter().zip(path).all(|(step, access)| match access {
            Access::Index(indices) => same_indices(step, indices),
            Access::Field(_) => false,
        })
}

fn same_indices(a: &[Index], b: &[Index]) -> bool {
    let same = |a: &Option<Expr>, b: &Option<Expr>| match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => same_expr(a, b),
        _ => false,
    };
    a.len() == b.len()
        && a.iter().zip(b).all(|pair| match pair {
            (Index::Single(a), Index::Single(b)) | (Index::Multiple(a), Index::Multiple(b)) => {
                same_expr(a, b)
            }
            (Index::Range(a, b), Index::Range(c, d)) => same(a, c) && same(b, d),
            _ => false,
        })
}

/// Whether two expressions are the same text but for where they stand.
fn same_expr(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Int(a), ExprKind::Int(b)) => a == b,
        (ExprKind::Variable(a), ExprKind::Variable(b)) => a == b,
        (ExprKind::Binary(op, a, b), ExprKind::Binary(other, c, d)) => {
            op == other && same_expr(a, c) && same_expr(b, d)
        }
        (ExprKind::Index(a, i), ExprKind::Index(b, j)) => same_expr(a, b) && same_indices(i, j),
        (ExprKind::Promote(a), ExprKind::Promote(b)) => same_expr(a, b),
        _ => false,
    }
}
