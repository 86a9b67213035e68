//! Calls of the library's functions: values -> nodes, or values again where all of them are known.

use exmc_graph::{Graph, evaluate};

use super::Lowering;
use super::abort::{LowerResult, runtime, unsupported};
use super::variables::host_conversion::to_host;
use super::variables::lane_value::{Form, LaneValue, from_tensor, holds_ints, ints, lane_of};
use crate::host::FaultKind;
use crate::library::{self, Argument, LibraryError};
use crate::source::Span;
use crate::typed::{Expr, ExprKind, Index, Type};
use crate::value::Value;

impl Lowering<'_> {
    /// The first extent of a variable, or of what is left of it after some single indices.
    pub(super) fn first_extent(&self, expr: &Expr) -> Option<usize> {
        let (base, dropped) = match &expr.kind {
            ExprKind::Index(base, indices) => (&**base, indices.as_slice()),
            _ => (expr, [].as_slice()),
        };
        let ExprKind::Variable(id) = base.kind else { return None };
        let single = dropped.iter().all(|index| matches!(index, Index::Single(_)));
        let storage = self.env.stores[id.0 as usize].as_ref().filter(|_| single)?;
        storage.shape.get(dropped.len()).copied()
    }

    /// A call of a library function on values.
    pub(super) fn library(
        &mut self,
        name: &str,
        args: &[(LaneValue, Type)],
        returns: &Type,
        span: Span,
    ) -> LowerResult<LaneValue> {
        if let Some(value) = self.about_shape(name, args) {
            return Ok(value);
        }
        if let ("generate_laplace_options", [(start, _)]) = (name, args) {
            return Ok(super::solvers::laplace::options(start));
        }
        if args.iter().any(|(value, _)| matches!(value.form, Form::Tuple(_))) {
            return Err(unsupported(span, format!("`{name}` of tuples in the density")));
        }
        if is_density(name) {
            return self.density_value(name, args, &[], span);
        }
        if self.context.options.checked {
            self.require_as_host(name, args, span)?;
        }
        if args.iter().all(|(value, _)| value.is_known()) {
            return self.library_known(name, args, returns, span);
        }
        if let (Some(parts), Type::Tuple(types)) = (library::parts_of(name), returns) {
            let slots =
                parts.iter().zip(types).map(|(part, ty)| self.library(part, args, ty, span));
            return Ok(LaneValue::tuple(slots.collect::<LowerResult<Vec<_>>>()?));
        }
        let arguments = self.arguments(args);
        match library::function(&mut self.sink.graph, name, &arguments) {
            Ok(output) => Ok(LaneValue::node(output.node, output.batched)),
            Err(LibraryError::Unbatchable) => {
                self.lane_by_lane(args, returns, span, |this, args| {
                    this.library(name, args, returns, span)
                })
            }
            Err(error) => Err(self.refused(&error, name, args, span)),
        }
    }

    /// The same on known values: computed at once.
    fn library_known(
        &mut self,
        name: &str,
        args: &[(LaneValue, Type)],
        returns: &Type,
        span: Span,
    ) -> LowerResult<LaneValue> {
        if let Some(value) = self.on_host(name, args, returns, span)? {
            return Ok(value);
        }
        let mut scratch = Graph::new();
        let arguments: Vec<Argument> = args
            .iter()
            .map(|(value, ty)| Argument {
                node: value.to_node(&mut scratch),
                ty: ty.clone(),
                batched: value.lanes,
            })
            .collect();
        match library::function(&mut scratch, name, &arguments) {
            Ok(output) => {
                let values = evaluate(&scratch, &[output.node], &|_| None)
                    .map_err(|error| runtime(span, error.to_string()))?;
                let value = from_tensor(&values[0], holds_ints(returns));
                let value = if holds_ints(returns) { to_ints(value) } else { value };
                Ok(LaneValue { form: Form::Known(value), lanes: output.batched })
            }
            Err(LibraryError::Unbatchable | LibraryError::Unsupported(_))
                if args.iter().any(|(value, _)| value.lanes) =>
            {
                self.lane_by_lane(args, returns, span, |this, args| {
                    this.library_known(name, args, returns, span)
                })
            }
            Err(error) => Err(self.refused(&error, name, args, span)),
        }
    }

    /// The same by the host, for values that are the same in all lanes; nothing where it has no
    /// such function.
    fn on_host(
        &mut self,
        name: &str,
        args: &[(LaneValue, Type)],
        returns: &Type,
        span: Span,
    ) -> LowerResult<Option<LaneValue>> {
        let values: Option<Vec<Value>> =
            args.iter().map(|(value, ty)| to_host(value, ty)).collect();
        let Some(values) = values else { return Ok(None) };
        let types: Vec<&Type> = args.iter().map(|(_, ty)| ty).collect();
        match self.context.host.call_library(name, &values, &types, returns) {
            Ok(value) => Ok(Some(LaneValue::known(value))),
            Err(fault) if fault.kind == FaultKind::Unsupported => Ok(None),
            Err(fault) => Err(runtime(span, fault.message)),
        }
    }

    /// Functions that ask only for extents.
    fn about_shape(&self, name: &str, args: &[(LaneValue, Type)]) -> Option<LaneValue> {
        let [(value, ty)] = args else { return None };
        let mut outer = value;
        while let Form::Tuple(slots) = &outer.form {
            outer = slots.first()?;
        }
        let mut shape = outer.shape(&self.sink.graph);
        // TupleSlots of tuples and the parts of complex numbers have extents of their own.
        shape.truncate(ty.rank());
        let int = |n: usize| Some(LaneValue::known(Value::Int(n as i64)));
        match name {
            "size" if matches!(ty, Type::Matrix | Type::ComplexMatrix) => {
                int(shape.iter().product())
            }
            "size" => int(shape.first().copied().unwrap_or(1)),
            "num_elements" => int(shape.iter().product()),
            "rows" => int(if matches!(ty, Type::RowVector | Type::ComplexRowVector) {
                1
            } else {
                *shape.first()?
            }),
            "cols" => int(if matches!(ty, Type::Vector | Type::ComplexVector) {
                1
            } else {
                *shape.last()?
            }),
            "dims" => {
                Some(LaneValue::known(Value::ints(shape.iter().map(|n| *n as i64).collect())))
            }
            _ => None,
        }
    }

    /// Arguments as the library takes them.
    pub(super) fn arguments(&mut self, args: &[(LaneValue, Type)]) -> Vec<Argument> {
        args.iter()
            .map(|(value, ty)| Argument {
                node: value.to_node(&mut self.sink.graph),
                ty: ty.clone(),
                batched: value.lanes,
            })
            .collect()
    }

    /// A call once for each lane.
    pub(super) fn lane_by_lane(
        &mut self,
        args: &[(LaneValue, Type)],
        returns: &Type,
        span: Span,
        mut call: impl FnMut(&mut Self, &[(LaneValue, Type)]) -> LowerResult<LaneValue>,
    ) -> LowerResult<LaneValue> {
        let count = self.lane_count();
        if self.enclosing.steps.is_some() && args.iter().any(|(value, _)| !value.is_known()) {
            return Err(unsupported(span, "a call in each lane by itself, in steps of a loop"));
        }
        let mut results = Vec::with_capacity(count);
        for lane in 0..count {
            let mut of_lane = Vec::with_capacity(args.len());
            for (value, ty) in args {
                let value = match &value.form {
                    Form::Known(known) if value.lanes => LaneValue::known(lane_of(known, lane)),
                    Form::Node(node) if value.lanes => {
                        let shape = value.shape(&self.sink.graph);
                        let row = self.sink.graph.slice(*node, 0, lane, lane + 1);
                        LaneValue::node(self.sink.graph.reshape(row, shape), false)
                    }
                    _ => value.clone(),
                };
                of_lane.push((value, ty.clone()));
            }
            results.push(call(self, &of_lane)?);
        }
        // One more extent in front: that of the lanes.
        let stacked = self.stacked(&results, &returns.clone().array(1), span)?;
        Ok(LaneValue { lanes: true, ..stacked })
    }

    /// What the library's refusal means here.
    pub(super) fn refused(
        &mut self,
        error: &LibraryError,
        name: &str,
        args: &[(LaneValue, Type)],
        span: Span,
    ) -> super::abort::Abort {
        match error {
            LibraryError::Varies(k) => {
                let numbers = args.get(*k).and_then(|(value, _)| value.as_known()).and_then(ints);
                match numbers {
                    Some(numbers) if args[*k].0.lanes => {
                        // Lanes with the same numbers run together.
                        let count = self.lane_count();
                        let each = (numbers.len() / count.max(1)).max(1);
                        let mut seen: Vec<&[i64]> = Vec::new();
                        let keys: Vec<i64> = numbers
                            .chunks(each)
                            .map(|row| match seen.iter().position(|s| *s == row) {
                                Some(k) => k as i64,
                                None => {
                                    seen.push(row);
                                    seen.len() as i64 - 1
                                }
                            })
                            .collect();
                        self.ragged(&keys, span)
                    }
                    _ => unsupported(span, format!("this call of `{name}`")),
                }
            }
            LibraryError::Mistake(message) => runtime(span, format!("`{name}`: {message}")),
            other => unsupported(span, format!("`{name}`: {other}")),
        }
    }
}

/// Whether a name is that of a density or distribution function.
pub(super) fn is_density(name: &str) -> bool {
    [
        "_lpdf",
        "_lpmf",
        "_lupdf",
        "_lupmf",
        "_lcdf",
        "_lccdf",
        "_cdf",
        "_lcdf_unnorm",
        "_lccdf_unnorm",
    ]
    .iter()
    .any(|suffix| name.ends_with(suffix))
}

fn to_ints(value: Value) -> Value {
    match value {
        Value::Real(x) => Value::Int(x as i64),
        Value::Reals(n) => {
            let numbers = n.values.iter().map(|v| *v as i64).collect();
            Value::Ints(crate::value::Numbers::new(n.shape, numbers))
        }
        other => other,
    }
}
