//! Indexing: a variable's extents and indices known for each lane -> addresses of elements.

use exmc_fault::{Fault, planted};
use exmc_graph::{Binary, NodeId, Op, Shape, Tensor, Ternary, Unary};

use super::Lowering;
use super::abort::{Abort, LowerResult, runtime, unsupported};
use super::loops::hoist_addresses::indices_of;
use super::loops::lanes::{Mask, Touch};
use super::variables::lane_value::{Form, LaneValue, ints};
use super::variables::store::{Addresses, Cells, Storage};
use crate::source::Span;
use crate::typed::{Access, Expr, ExprKind, Index, Type, VariableId};
use crate::value::Value;

/// One evaluated index, positions from 0.
enum Chosen {
    /// One element; one number a lane if `lanes`.
    One { positions: Vec<u32>, lanes: bool },
    /// Several elements, `len` of them a lane.
    Many { len: usize, positions: Vec<u32>, lanes: bool },
}

impl Lowering<'_> {
    /// `base[indices]`
    pub(super) fn indexed(
        &mut self,
        base: &Expr,
        indices: &[Index],
        span: Span,
    ) -> LowerResult<LaneValue> {
        match self.indexed_by_data(base, indices, span) {
            Err(Abort::Symbolic { .. }) => self.indexed_by_parameters(base, indices, span),
            other => other,
        }
    }

    /// The same where all indices are known.
    fn indexed_by_data(
        &mut self,
        base: &Expr,
        indices: &[Index],
        span: Span,
    ) -> LowerResult<LaneValue> {
        // `x[i][j]` reads `x[i, j]`.
        let (root, inner) = indices_of(base);
        let steps: Vec<&[Index]> = std::iter::once(indices).chain(inner).collect();
        if let ExprKind::Variable(id) = root.kind
            && !self.holds_tuple(id)
        {
            if let Some(value) = self.indexed_outside(id, &steps, span)? {
                return Ok(value);
            }
            let addresses = self.part_addresses(id, &steps, span)?;
            return self.read_at(id, addresses.shared(), span);
        }
        let value = self.evaluate(root)?;
        self.part_of(value, &steps, span)
    }

    /// The addresses of the part of a variable that indices lead to, the first step last.
    pub(super) fn part_addresses(
        &mut self,
        id: VariableId,
        steps: &[&[Index]],
        span: Span,
    ) -> LowerResult<Addresses> {
        let mut addresses = self.all_addresses(id, span)?;
        for step in steps.iter().rev() {
            addresses = self.narrow(&addresses, step, span)?;
        }
        Ok(addresses.finish(self.lane_count()))
    }

    /// The part of a value that indices lead to, the first step last; slot by slot for an array of
    /// tuples.
    pub(super) fn part_of(
        &mut self,
        value: LaneValue,
        steps: &[&[Index]],
        span: Span,
    ) -> LowerResult<LaneValue> {
        if let Form::Tuple(slots) = value.form {
            let slots = slots.into_iter().map(|slot| self.part_of(slot, steps, span));
            return Ok(LaneValue::tuple(slots.collect::<LowerResult<Vec<_>>>()?));
        }
        let shape = value.shape(&self.sink.graph);
        let lanes = value.lanes;
        let level = if lanes { self.depth() } else { 0 };
        let mut addresses =
            Partial::all(shape.clone(), lanes.then(|| (0..self.lane_count() as u32).collect()));
        for step in steps.iter().rev() {
            addresses = self.narrow(&addresses, step, span)?;
        }
        let addresses = addresses.finish(self.lane_count()).shared();
        let storage = Storage::from_value(level, 0, shape, value);
        let full = addresses.full_shape(self.lane_count());
        let form = storage.read(&mut self.sink.graph, &addresses.flat, &full);
        Ok(LaneValue {
            form: form.expect("a whole value has all elements"),
            lanes: addresses.lanes,
        })
    }

    /// The addresses that a path of indices leads to.
    pub(super) fn path_addresses(
        &mut self,
        id: VariableId,
        path: &[Access],
        span: Span,
    ) -> LowerResult<Addresses> {
        let mut addresses = self.all_addresses(id, span)?;
        for access in path {
            match access {
                Access::Index(indices) => addresses = self.narrow(&addresses, indices, span)?,
                Access::Field(_) => {
                    return Err(unsupported(span, "an assignment to a part of a tuple here"));
                }
            }
        }
        Ok(addresses.finish(self.lane_count()))
    }

    fn holds_tuple(&self, id: VariableId) -> bool {
        let storage = self.env.stores[id.0 as usize].as_ref();
        storage.is_some_and(
            |s| matches!(&s.cells, Cells::Whole(v) if matches!(v.form, Form::Tuple(_))),
        )
    }

    fn all_addresses(&mut self, id: VariableId, span: Span) -> LowerResult<Partial> {
        let storage = self.storage(id, span)?;
        let (shape, level, uniform) = (storage.shape.clone(), storage.level, storage.is_uniform());
        let uniform = uniform && !self.is_spread_on_write(id);
        let lanes = (!uniform).then(|| {
            self.lanes_at(level).unwrap_or_else(|| (0..self.lane_count() as u32).collect())
        });
        Ok(Partial::all(shape, lanes))
    }

    /// Whether a variable's addresses run over the lanes of its level although its value does not
    /// yet.
    fn is_spread_on_write(&self, id: VariableId) -> bool {
        let storage = self.env.stores[id.0 as usize].as_ref();
        storage.is_some_and(|s| s.level > 0)
    }

    /// A variable's place.
    pub(super) fn storage(&self, id: VariableId, span: Span) -> LowerResult<&Storage> {
        let missing = || {
            let name = &self.context.program.variable(id).name;
            unsupported(span, format!("`{name}`, which has no value in the density"))
        };
        self.env.stores[id.0 as usize].as_ref().ok_or_else(missing)
    }

    /// The elements of a variable at addresses.
    pub(super) fn read_at(
        &mut self,
        id: VariableId,
        addresses: Addresses,
        span: Span,
    ) -> LowerResult<LaneValue> {
        let storage = self.storage(id, span)?;
        let home = storage.level;
        self.touch(id, home, &addresses.flat, !addresses.lanes, Touch::Read)?;
        self.read_untouched(id, &addresses)
    }

    /// An integer that was read, as the number that it is wherever the masks in force hold, if it
    /// is one number there: what counts iterations of a `while` loop is known in each, though not
    /// after them.
    ///
    /// Real numbers stay as they are: where a mask fails their values before the choice may have no
    /// derivative.
    pub(super) fn where_masks_hold(&self, value: LaneValue, ty: &Type) -> LaneValue {
        if self.env.masks.is_empty() || *ty != Type::Int {
            return value;
        }
        self.integer_in_force(&value).unwrap_or(value)
    }

    fn integer_in_force(&self, value: &LaneValue) -> Option<LaneValue> {
        let Form::Node(node) = value.form else { return None };
        let mut node = self.bare(node);
        while let (Op::Ternary(Ternary::Select), &[condition, holds, fails]) = self.parts(node) {
            node = self.bare(match self.in_force(condition)? {
                true => holds,
                false => fails,
            });
        }
        let number = self.sink.graph.as_uniform(node)?;
        Some(LaneValue::known(Value::Int(number as i64)))
    }

    /// Whether a condition of the current lanes holds or fails wherever the masks in force hold, if
    /// that is known.
    fn in_force(&self, condition: NodeId) -> Option<bool> {
        let condition = self.bare(condition);
        let masks = self.env.masks.iter().filter(|mask| self.says_of_current_lanes(mask));
        let mut open: Vec<NodeId> = masks.map(|mask| mask.node).collect();
        while let Some(node) = open.pop() {
            let node = self.bare(node);
            match self.parts(node) {
                _ if node == condition => return Some(true),
                (Op::Unary(Unary::Not), &[argument]) if self.bare(argument) == condition => {
                    return Some(false);
                }
                (Op::Binary(Binary::And), args) => open.extend(args),
                _ => {}
            }
        }
        // A conjunction holds where all of it does.
        match self.parts(condition) {
            (Op::Binary(Binary::And), &[a, b]) => {
                (self.in_force(a)? && self.in_force(b)?).then_some(true)
            }
            _ => None,
        }
    }

    /// Whether element `k` of a mask is about current lane `k`: a mask of a loop further out, of
    /// which iterations have several lanes or none, says nothing of the lane at that place.
    fn says_of_current_lanes(&self, mask: &Mask) -> bool {
        !mask.lanes
            || self.lanes_at(mask.level).is_none_or(|outer| {
                let all = self.env.levels[mask.level].count;
                outer.len() == all
                    && (planted(Fault::OuterMaskInside)
                        || outer.iter().enumerate().all(|(k, lane)| k as u32 == *lane))
            })
    }

    /// A node without reshapes, and without copies of one number, around it: the same elements in
    /// the same order.
    fn bare(&self, mut node: NodeId) -> NodeId {
        loop {
            match self.parts(node) {
                (Op::Reshape(_), &[argument]) => node = argument,
                (Op::Broadcast(_), &[argument]) if self.sink.graph.shape(argument).len() == 1 => {
                    node = argument
                }
                _ => return node,
            }
        }
    }

    fn parts(&self, node: NodeId) -> (&Op, &[NodeId]) {
        let node = self.sink.graph.node(node);
        (&node.op, &node.args)
    }

    /// The same without noting that it was read.
    pub(super) fn read_untouched(
        &mut self,
        id: VariableId,
        addresses: &Addresses,
    ) -> LowerResult<LaneValue> {
        self.check_given(id, &addresses.flat)?;
        self.read_unchecked(id, addresses)
    }

    /// That elements have a value under the masks in force.
    pub(super) fn check_given(&self, id: VariableId, flat: &[u32]) -> LowerResult<()> {
        match &self.env.stores[id.0 as usize] {
            Some(storage) if !storage.has_value(flat, &self.env.masks) => {
                Err(Abort::Carried { level: storage.level, variable: Some(id), private: false })
            }
            _ => Ok(()),
        }
    }

    /// The same where elements may have a value only under conditions that are not in force.
    pub(super) fn read_unchecked(
        &mut self,
        id: VariableId,
        addresses: &Addresses,
    ) -> LowerResult<LaneValue> {
        if self.is_late(id) {
            return self.read_late(id, addresses);
        }
        let full = addresses.full_shape(self.lane_count());
        let Some(storage) = self.env.stores[id.0 as usize].take() else {
            unreachable!("callers looked it up");
        };
        let mut lanes = addresses.lanes;
        let form = if let (Cells::Whole(value), true) = (&storage.cells, storage.level > 0)
            && !value.lanes
        {
            // One value stands for all lanes: its addresses are those of the first.
            let size = storage.size().max(1) as u32;
            let flat: Vec<u32> = addresses.flat.iter().map(|a| a % size).collect();
            let folded = Addresses { flat, ..addresses.clone() }.shared();
            let full = folded.full_shape(self.lane_count());
            lanes = folded.lanes;
            storage.read(&mut self.sink.graph, &folded.flat, &full)
        } else {
            let rows = || addresses.rows_once(0..self.lane_count());
            let rows = storage.depends_on_parameters().then(rows).flatten();
            match rows {
                Some((rows, of_lane)) => self.rows_of(&storage, &addresses.shape, &rows, &of_lane),
                None => storage.read(&mut self.sink.graph, &addresses.flat, &full),
            }
        };
        let level = storage.level;
        self.env.stores[id.0 as usize] = Some(storage);
        match form {
            Some(form) => Ok(LaneValue { form, lanes }),
            None => Err(Abort::Carried { level, variable: Some(id), private: false }),
        }
    }

    /// A variable's whole value.
    pub(super) fn read_whole(&mut self, id: VariableId, span: Span) -> LowerResult<LaneValue> {
        let storage = self.storage(id, span)?;
        let level = storage.level;
        let depth = self.depth();
        if let Cells::Whole(value) = &storage.cells
            && (!value.lanes || level == depth)
            && storage.partly.is_empty()
            && !self.is_late(id)
        {
            let value = value.clone();
            if matches!(value.form, Form::Tuple(_)) {
                return Ok(if level == depth { value } else { self.slots_here(value, level) });
            }
            if self.is_watched(id, level) {
                let addresses = self.all_addresses(id, span)?.finish(self.lane_count());
                self.touch(id, level, &addresses.flat, !addresses.lanes, Touch::Read)?;
            }
            return Ok(value);
        }
        let addresses = self.all_addresses(id, span)?.finish(self.lane_count());
        let value = self.read_at(id, addresses, span)?;
        // What was put together once need not be again.
        if level == depth
            && let Some(storage) = &mut self.env.stores[id.0 as usize]
        {
            storage.cells = Cells::Whole(value.clone());
        }
        Ok(value)
    }

    /// A tuple of an outer level, each slot for the current lanes.
    fn slots_here(&mut self, value: LaneValue, level: usize) -> LaneValue {
        match value.form {
            Form::Tuple(slots) => LaneValue::tuple(
                slots.into_iter().map(|slot| self.slots_here(slot, level)).collect(),
            ),
            _ => self.at_current_level(value, level),
        }
    }

    /// Whether a loop between a level and the current one notes what happens to a variable.
    pub(super) fn is_watched(&self, id: VariableId, home: usize) -> bool {
        self.env.levels[home + 1..]
            .iter()
            .filter_map(|level| level.watched.as_ref())
            .any(|watch| watch.assigned.contains(&id))
    }

    fn narrow(&mut self, from: &Partial, indices: &[Index], span: Span) -> LowerResult<Partial> {
        let lanes = self.lane_count();
        let mut chosen = Vec::with_capacity(indices.len());
        for (index, extent) in indices.iter().zip(&from.shape) {
            chosen.push(self.choose(index, *extent, span)?);
        }
        if indices.len() > from.shape.len() {
            return Err(unsupported(span, "more indices than dimensions"));
        }
        let rest = &from.shape[indices.len()..];
        let inner: usize = rest.iter().product();
        let spread = from.base.is_some()
            || chosen.iter().any(|c| match c {
                Chosen::One { lanes, .. } | Chosen::Many { lanes, .. } => *lanes,
            });
        let mut shape: Vec<usize> = Vec::new();
        for c in &chosen {
            if let Chosen::Many { len, .. } = c {
                shape.push(*len);
            }
        }
        shape.extend(rest);
        let strides = Shape::from(from.shape.as_slice()).strides();
        let size: usize = from.shape.iter().product();
        let mut flat_positions = vec![0_u32; if spread { lanes } else { 1 }];
        let mut width = 1;
        for (c, stride) in chosen.iter().zip(&strides) {
            let (len, positions, per_lane) = match c {
                Chosen::One { positions, lanes } => (1, positions, *lanes),
                Chosen::Many { len, positions, lanes } => (*len, positions, *lanes),
            };
            flat_positions =
                outer_sums(&flat_positions, width, positions, len, per_lane, *stride as u32);
            width *= len;
        }
        if inner != 1 {
            let mut all = Vec::with_capacity(flat_positions.len() * inner);
            flat_positions.iter().for_each(|start| all.extend(*start..start + inner as u32));
            flat_positions = all;
            width *= inner;
        }
        let lane_rows = flat_positions.chunks_mut(width.max(1)).enumerate();
        let offsets = match (&from.flat, &from.base) {
            (None, None) => flat_positions,
            (None, Some(base)) => {
                for (lane, row) in lane_rows {
                    let first = base[lane] * size as u32;
                    row.iter_mut().for_each(|position| *position += first);
                }
                flat_positions
            }
            (Some(flat), base) => {
                for (lane, row) in lane_rows {
                    let first = if base.is_some() { lane * size } else { 0 };
                    row.iter_mut()
                        .for_each(|position| *position = flat[first + *position as usize]);
                }
                flat_positions
            }
        };
        let base = spread.then(|| (0..lanes as u32).collect());
        Ok(Partial { shape, base, flat: Some(offsets) })
    }

    fn choose(&mut self, index: &Index, extent: usize, span: Span) -> LowerResult<Chosen> {
        match index {
            Index::Single(expr) => {
                let value = self.evaluate(expr)?;
                let positions = self.positions(&value, extent, expr.span)?;
                Ok(Chosen::One { positions, lanes: value.lanes })
            }
            Index::Multiple(expr) => {
                let value = self.evaluate(expr)?;
                let positions = self.positions(&value, extent, expr.span)?;
                let len = value.shape(&self.sink.graph).iter().product();
                Ok(Chosen::Many { len, positions, lanes: value.lanes })
            }
            Index::Range(None, None) => Ok(Chosen::Many {
                len: extent,
                positions: (0..extent as u32).collect(),
                lanes: false,
            }),
            Index::Range(low, high) => {
                let low = low.as_ref().map(|e| self.evaluate(e)).transpose()?;
                let high = high.as_ref().map(|e| self.evaluate(e)).transpose()?;
                let lanes = [&low, &high].iter().any(|v| v.as_ref().is_some_and(|v| v.lanes));
                let count = if lanes { self.lane_count() } else { 1 };
                let spread = |value: &Option<LaneValue>, default: i64| -> LowerResult<Vec<i64>> {
                    let Some(value) = value else { return Ok(vec![default; count]) };
                    match value.as_known().and_then(ints) {
                        Some(numbers) if value.lanes => Ok(numbers.into_owned()),
                        Some(numbers) => Ok(vec![numbers[0]; count]),
                        None => Err(unsupported(span, "an index that depends on parameters")),
                    }
                };
                let (low, high) = (spread(&low, 1)?, spread(&high, extent as i64)?);
                let lens: Vec<i64> =
                    low.iter().zip(&high).map(|(low, high)| (high - low + 1).max(0)).collect();
                if lens.iter().any(|len| *len != lens[0]) {
                    return Err(self.ragged(&lens, span));
                }
                let len = lens.first().map_or(0, |len| *len as usize);
                let early = |low: i64| i64::from(planted(Fault::RangeOffByOne) && low > 1);
                let first = low.iter().map(|low| low - early(*low));
                let numbers: Vec<i64> = first.flat_map(|low| low..low + len as i64).collect();
                let positions = self.places(&numbers, lanes, extent, span)?;
                Ok(Chosen::Many { len, positions, lanes })
            }
        }
    }

    fn positions(&mut self, value: &LaneValue, extent: usize, span: Span) -> LowerResult<Vec<u32>> {
        let Some(numbers) = value.as_known().and_then(ints) else {
            return Err(Abort::Symbolic { span });
        };
        // What is below one is a large number here.
        let inside = |number: &&i64| (number.wrapping_sub(1) as u64) < extent as u64;
        // Counted, since that needs no branch for each.
        if numbers.iter().filter(inside).count() == numbers.len() {
            return Ok(numbers.iter().map(|number| (number - 1) as u32).collect());
        }
        self.places(&numbers, value.lanes, extent, span)
    }

    /// Numbers, in equal rows one a lane if `lanes`, as places of a dimension.
    fn places(
        &mut self,
        numbers: &[i64],
        lanes: bool,
        extent: usize,
        span: Span,
    ) -> LowerResult<Vec<u32>> {
        let is_inside = |number: &i64| (1..=extent as i64).contains(number);
        if self.env.masks.is_empty() || extent == 0 || numbers.iter().all(is_inside) {
            return numbers.iter().map(|number| position(*number, extent, span)).collect();
        }
        // Whether the masks ever hold is seen as it runs: if they do, the density is zero, and any
        // element will do.
        let rows = if lanes { self.lane_count() } else { 1 };
        let len = (numbers.len() / rows.max(1)).max(1);
        let truth = |row: &[i64]| f64::from(u8::from(row.iter().all(is_inside)));
        let truths: Vec<f64> = numbers.chunks(len).map(truth).collect();
        let shape: Shape = if lanes { [rows].into() } else { Shape::scalar() };
        let holds = Tensor::real(shape, truths).expect("one for each lane");
        let holds = self.sink.graph.constant(holds);
        self.require_index(holds, lanes, extent, span)?;
        Ok(numbers.iter().map(|number| (number.clamp(&1, &(extent as i64)) - 1) as u32).collect())
    }
}

/// Sums of every number, in rows of `width`, and every one of `len` positions times a stride; the
/// positions are those of the row if `per_row`, else the same for all rows.
fn outer_sums(
    numbers: &[u32],
    width: usize,
    positions: &[u32],
    len: usize,
    per_row: bool,
    stride: u32,
) -> Vec<u32> {
    if width == 1 && len == 1 {
        if per_row {
            return numbers.iter().zip(positions).map(|(n, p)| n + p * stride).collect();
        }
        let shift = positions[0] * stride;
        return numbers.iter().map(|n| n + shift).collect();
    }
    let mut sums = Vec::with_capacity(numbers.len() * len);
    for (k, row) in numbers.chunks(width.max(1)).enumerate() {
        let start = if per_row { k * len } else { 0 };
        let here = &positions[start..start + len];
        if let [only] = here {
            let shift = only * stride;
            sums.extend(row.iter().map(|number| number + shift));
            continue;
        }
        for number in row {
            sums.extend(here.iter().map(|p| number + p * stride));
        }
    }
    sums
}

fn position(number: i64, extent: usize, span: Span) -> LowerResult<u32> {
    if number >= 1 && number <= extent as i64 {
        return Ok((number - 1) as u32);
    }
    let message = if extent == 0 {
        format!("index {number} is out of range; the dimension has no elements")
    } else {
        format!("index {number} is out of range; expecting 1..{extent}")
    };
    Err(runtime(span, message))
}

/// Addresses on the way: those of a whole value, or a list.
struct Partial {
    shape: Vec<usize>,
    /// For each current lane, the variable's own lane; none where all lanes address the same. Once
    /// there is a list, only whether it has one part a lane counts.
    base: Option<Vec<u32>>,
    flat: Option<Vec<u32>>,
}

impl Partial {
    fn all(shape: Vec<usize>, base: Option<Vec<u32>>) -> Self {
        Self { shape, base, flat: None }
    }

    fn finish(self, _lanes: usize) -> Addresses {
        let lanes = self.base.is_some();
        let flat = self.flat.unwrap_or_else(|| {
            let size = self.shape.iter().product::<usize>() as u32;
            match &self.base {
                None => (0..size).collect(),
                Some(base) if size == 1 => base.clone(),
                Some(base) => {
                    let mut flat = Vec::with_capacity(base.len() * size as usize);
                    base.iter().for_each(|lane| flat.extend(lane * size..(lane + 1) * size));
                    flat
                }
            }
        });
        Addresses { shape: self.shape, lanes, flat }
    }
}
