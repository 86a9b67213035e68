//! Inner products of parts whose lengths differ -> inner products of whole variables with known
//! numbers that are zero outside of the parts.

use crate::lower::Lowering;
use crate::lower::abort::LowerResult;
use crate::lower::slice_functions::as_index;
use crate::lower::variables::lane_value::{LaneValue, constant_of, ints, reals};
use crate::source::Span;
use crate::typed::{Access, Expr, ExprKind, Index, SyntaxId, Type};

/// Numbers that the weights of one inner product may have.
const MAX_ELEMENTS: usize = 20_000_000;

/// Numbers for each number that lies within a part, beyond which lanes with parts of one size are
/// apart instead.
const MAX_PADDING: usize = 4;

/// A part of a variable along one dimension.
struct Stretch {
    /// The variable along the whole dimension.
    variable: Expr,
    /// First and last position in each lane, from 1.
    ends: Vec<(i64, i64)>,
}

impl Lowering<'_> {
    /// `dot_product(a, b)` of two stretches, one of which is known; nothing where it is none.
    pub(in crate::lower) fn padded_dot(
        &mut self,
        args: &[Expr],
        span: Span,
    ) -> LowerResult<Option<LaneValue>> {
        let [a, b] = args else { return Ok(None) };
        let (Some(a), Some(b)) = (self.stretch(a)?, self.stretch(b)?) else { return Ok(None) };
        let (left, right) =
            (self.evaluate_outside(&a.variable)?, self.evaluate_outside(&b.variable)?);
        let ((value, _), source, within, (weights, row_of_lane), weight_ends) =
            match (left.0.is_known(), right.0.is_known()) {
                (false, true) => (left, &a.variable, a.ends, right, b.ends),
                (true, false) => (right, &b.variable, b.ends, left, a.ends),
                _ => return Ok(None),
            };
        let fits = |ends: &[(i64, i64)], extent: usize| {
            ends.iter().all(|(low, high)| *low >= 1 && *high <= extent as i64)
        };
        let lengths = |ends: &[(i64, i64)]| -> Vec<i64> {
            ends.iter().map(|(low, high)| (high - low + 1).max(0)).collect()
        };
        let (&[extent], &[known]) =
            (&value.shape(&self.sink.graph)[..], &weights.shape(&self.sink.graph)[..])
        else {
            return Ok(None);
        };
        let lanes = self.lane_count();
        let sound = fits(&within, extent)
            && fits(&weight_ends, known)
            && lengths(&within) == lengths(&weight_ends);
        // What is wrong is reported where the parts are read as they are.
        if !sound || lanes * extent > MAX_ELEMENTS {
            return Ok(None);
        }
        let parts = lengths(&within);
        let needed: usize = parts.iter().map(|len| *len as usize).sum();
        let is_wasteful = lanes * extent > MAX_PADDING * needed;
        // Parts of first iterations may be shorter than most, and nothing is left of them.
        let probed = self.enclosing.probed == Some(self.depth());
        if is_wasteful && !probed && parts.iter().any(|len| *len != parts[0]) {
            return Ok(None);
        }
        let Some(numbers) = weights.as_known().map(reals) else { return Ok(None) };
        let shared = !weights.lanes
            && within.iter().zip(&weight_ends).all(|e| e == (&within[0], &weight_ends[0]));
        let count = if shared { 1 } else { lanes };
        let mut padded = vec![0.0; count * extent];
        // Of each lane: where its part begins, and how many elements it has.
        let stretch =
            |lane: usize| (lane * extent + within[lane].0 as usize - 1, parts[lane] as usize);
        for (lane, (first, _)) in weight_ends.iter().enumerate().take(count) {
            let (start, len) = stretch(lane);
            let row = row_of_lane.as_ref().map_or(lane, |rows| rows[lane] as usize);
            let from = if weights.lanes { row * known } else { 0 } + *first as usize - 1;
            if len > 0 {
                padded[start..start + len].copy_from_slice(&numbers[from..from + len]);
            }
        }
        let shape: Vec<usize> = (!shared).then_some(lanes).into_iter().chain([extent]).collect();
        let weights = constant_of(&mut self.sink.graph, &shape, padded, false);
        let both = value.lanes || !shared;
        let node = value.to_node(&mut self.sink.graph);
        let kept = if shared && self.is_finite_beside(args, source, within[0])? {
            node
        } else {
            // What lies outside of the part must not matter even where it is not finite.
            let mut inside = vec![0.0; count * extent];
            for (start, len) in (0..count).map(stretch) {
                inside[start..start + len].fill(1.0);
            }
            let inside = constant_of(&mut self.sink.graph, &shape, inside, true);
            let zero = self.sink.graph.scalar(0.0);
            self.sink.graph.select(inside, node, zero)
        };
        let weights = LaneValue::node(weights, !shared);
        let kept = LaneValue::node(kept, both);
        let arguments = [(kept, Type::Vector), (weights, Type::Vector)];
        self.library("dot_product", &arguments, &Type::Real, span).map(Some)
    }

    /// Whether the elements of a variable along one dimension that lie outside of a part are known
    /// and finite in all lanes, as those are that a loop has not come to yet. Where the part is
    /// all, the same as the last time, so that the iterations of a loop do the same.
    fn is_finite_beside(
        &mut self,
        args: &[Expr],
        variable: &Expr,
        (low, high): (i64, i64),
    ) -> LowerResult<bool> {
        let key = args.first().map_or(SyntaxId::NONE, |arg| arg.id);
        let ExprKind::Index(base, indices) = &variable.kind else { return Ok(false) };
        let ExprKind::Variable(id) = base.kind else { return Ok(false) };
        let span = variable.span;
        let int = |value: i64| Expr::new(ExprKind::Int(value), Type::Int, span);
        let mut sides = Vec::new();
        for (from, to) in [(1, Some(low - 1)), (high + 1, None)] {
            let mut side = indices.clone();
            for index in side.iter_mut().filter(|index| matches!(index, Index::Range(None, None))) {
                *index = Index::Range(Some(int(from)), to.map(int));
            }
            sides.push(Access::Index(side));
        }
        let (mut finite, mut any) = (true, false);
        for side in sides {
            let addresses = self.path_addresses(id, &[side], span)?;
            finite &= self.storage(id, span)?.is_finite_at(&addresses.flat);
            any |= !addresses.flat.is_empty();
        }
        if any {
            self.learned.finite_beside.insert(key, finite);
        }
        Ok(self.learned.finite_beside.get(&key).copied().unwrap_or(false))
    }

    /// The stretch that an expression is, if it is a part of a variable along one dimension.
    fn stretch(&mut self, expr: &Expr) -> LowerResult<Option<Stretch>> {
        let mut expr = expr.clone();
        if let ExprKind::Call(crate::typed::Callee::Library(name), args) = &expr.kind {
            let Some(part) = as_index(name, args, &expr.ty, |base| self.first_extent(base)) else {
                return Ok(None);
            };
            expr = part;
        }
        let ExprKind::Index(base, indices) = &expr.kind else { return Ok(None) };
        let mut full_indices = indices.clone();
        let mut ends = None;
        for index in &mut full_indices {
            let Index::Range(low, high) = index else { continue };
            let (Some(low), Some(high), None) = (low.take(), high.take(), &ends) else {
                return Ok(None);
            };
            ends = Some((low, high));
        }
        let Some((low, high)) = ends else { return Ok(None) };
        let (low, high) = (self.evaluate(&low)?, self.evaluate(&high)?);
        let lanes = self.lane_count();
        let spread = |value: &LaneValue| -> Option<Vec<i64>> {
            let numbers = value.as_known().and_then(ints)?;
            Some(if value.lanes { numbers.into_owned() } else { vec![numbers[0]; lanes] })
        };
        let (Some(low), Some(high)) = (spread(&low), spread(&high)) else { return Ok(None) };
        let kind = ExprKind::Index(base.clone(), full_indices);
        let variable = Expr::new(kind, expr.ty.clone(), expr.span);
        Ok(Some(Stretch { variable, ends: low.into_iter().zip(high).collect() }))
    }
}
