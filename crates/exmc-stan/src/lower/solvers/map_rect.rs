//! `map_rect(f, shared, own, reals, ints)`: the shards side by side, as lanes; one by one where
//! their sizes differ.

use crate::lower::Lowering;
use crate::lower::abort::{Abort, LowerResult, unsupported};
use crate::lower::loops::lanes::IterationLanes;
use crate::lower::variables::lane_value::LaneValue;
use crate::lower::variables::store::Storage;
use crate::source::Span;
use crate::typed::{Expr, ExprKind, FunctionId};
use crate::value::{Numbers, Value};

impl Lowering<'_> {
    /// All results in one vector, those of the first shard first.
    pub(in crate::lower) fn map_rect(
        &mut self,
        args: &[Expr],
        span: Span,
    ) -> LowerResult<LaneValue> {
        let [function, shared, shard_parameters, reals, ints] = args else {
            return Err(unsupported(span, "this call of `map_rect`"));
        };
        let ExprKind::Function { function, .. } = function.kind else {
            return Err(unsupported(span, "`map_rect` over a library function"));
        };
        let shared = self.evaluate(shared)?;
        let shards =
            [self.evaluate(shard_parameters)?, self.evaluate(reals)?, self.evaluate(ints)?];
        let counts = shards.each_ref().map(|value| value.shape(&self.sink.graph)[0]);
        let count = counts[0];
        if counts != [count; 3] {
            let [parameters, reals, ints] = counts;
            let message = format!(
                "`map_rect` has parameters of {parameters} shards, but data of {reals} and integers \
                 of {ints}"
            );
            return Err(crate::lower::abort::runtime(span, message));
        }
        if count == 0 {
            return Ok(LaneValue::known(Value::Reals(Numbers::new([0], Vec::new()))));
        }
        // Lanes in lanes would need every argument spread over them.
        if self.depth() == 0 && count > 1 {
            let snapshot = self.snapshot();
            match self.side_by_side(function, &shared, &shards, count, span) {
                Err(Abort::Mistake(_) | Abort::Ragged { .. }) => self.restore(&snapshot),
                other => return other,
            }
        }
        let mut results = Vec::with_capacity(count);
        for k in 0..count {
            let mut values = vec![shared.clone()];
            for shard in &shards {
                values.push(self.shard(shard, k, span)?);
            }
            results.push(self.result(function, values, span)?.to_node(&mut self.sink.graph));
        }
        let lanes =
            self.depth() > 0 && results.iter().any(|node| self.sink.graph.shape(*node).rank() > 1);
        if lanes {
            return Err(unsupported(span, "`map_rect` in a loop"));
        }
        Ok(LaneValue::node(self.sink.graph.concat(&results, 0), false))
    }

    fn side_by_side(
        &mut self,
        function: FunctionId,
        shared: &LaneValue,
        shards: &[LaneValue; 3],
        count: usize,
        span: Span,
    ) -> LowerResult<LaneValue> {
        self.env.levels.push(IterationLanes { count, up: vec![0; count].into(), watched: None });
        let mut values = vec![shared.clone()];
        values.extend(shards.iter().map(|shard| LaneValue { lanes: true, ..shard.clone() }));
        let result = self.result(function, values, span);
        self.env.levels.pop();
        let result = result?;
        let size: usize = result.shape(&self.sink.graph).iter().product();
        let node = result.to_node(&mut self.sink.graph);
        let node = if result.lanes {
            node
        } else {
            let all = exmc_graph::Shape::from([count, size]);
            self.sink.graph.broadcast_to(node, &all)
        };
        Ok(LaneValue::node(self.sink.graph.reshape(node, [count * size]), false))
    }

    fn result(
        &mut self,
        function: FunctionId,
        values: Vec<LaneValue>,
        span: Span,
    ) -> LowerResult<LaneValue> {
        let value = self.call_with(function, false, (values, &[]), span)?;
        value.ok_or_else(|| unsupported(span, "`map_rect` over a function without a value"))
    }

    /// One shard's part of an array.
    fn shard(&mut self, array: &LaneValue, k: usize, span: Span) -> LowerResult<LaneValue> {
        if array.lanes {
            return Err(unsupported(span, "`map_rect` in a loop"));
        }
        let full = array.shape(&self.sink.graph);
        let (shape, size) = (full[1..].to_vec(), full[1..].iter().product::<usize>());
        let flat: Vec<u32> = (k * size..(k + 1) * size).map(|position| position as u32).collect();
        let storage = Storage::from_value(0, 0, full, array.clone());
        let form = storage.read(&mut self.sink.graph, &flat, &shape);
        Ok(LaneValue { form: form.expect("a whole value has all elements"), lanes: false })
    }
}
