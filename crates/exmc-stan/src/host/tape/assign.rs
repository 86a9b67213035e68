//! Assignments on the tape: a value into a variable or a part of it, and its places into theirs.

use exmc_fault::planted;

use crate::host::assign::{read_steps, write_steps};
use crate::host::error::{Fault, Outcome};
use crate::source::Span;
use crate::typed::{BinaryOp, Expr, LValue, LValueKind};
use crate::value::Value;

use super::Tracer;
use super::expression::promoted;
use super::traced::{Traced, in_form};

impl Tracer<'_> {
    /// `target op= value`; the value is computed before anything is written.
    pub(super) fn assign(
        &mut self,
        target: &LValue,
        op: Option<BinaryOp>,
        value: &Expr,
        span: Span,
    ) -> Outcome<()> {
        let new = self.trace(value)?;
        let new = match (op, &target.kind) {
            (Some(op), LValueKind::Path(id, path)) => {
                let steps = self.host.steps(&mut self.env, path)?;
                let Some(old) = self.env.get(*id) else {
                    return Err(self.host.unknown(*id, target.span));
                };
                let read =
                    |from: &Value| read_steps(from, &steps).map_err(|fault| fault.at(target.span));
                let old =
                    Traced { value: read(old)?, ids: self.ids.get(*id).map(read).transpose()? };
                self.binary(op, (&old, &target.ty), (&new, &value.ty), &target.ty)
                    .map_err(|fault| fault.at(span))?
            }
            _ => new,
        };
        self.store(target, new)
    }

    /// Stores a value; of a tuple of targets, slot by slot.
    fn store(&mut self, target: &LValue, value: Traced) -> Outcome<()> {
        match (&target.kind, value.value) {
            (LValueKind::Tuple(targets), Value::Tuple(slots)) => {
                let mut ids = match value.ids {
                    Some(Value::Tuple(ids)) => ids,
                    _ => Vec::new(),
                }
                .into_iter();
                for (target, slot) in targets.iter().zip(slots) {
                    self.store(target, Traced { value: slot, ids: ids.next() })?;
                }
                Ok(())
            }
            (LValueKind::Tuple(_), _) => {
                Err(Fault::unsupported("several targets of what is no tuple").at(target.span))
            }
            (LValueKind::Path(id, path), assigned) => {
                let value = Traced { value: assigned, ids: value.ids };
                let value = promoted(value, &target.ty).map_err(|fault| fault.at(target.span))?;
                let steps = self.host.steps(&mut self.env, path)?;
                let Some(place) = self.env.get_mut(*id) else {
                    return Err(self.host.unknown(*id, target.span));
                };
                let name = &self.host.program().variable(*id).name;
                let located = |fault: Fault| match steps.is_empty() {
                    true => fault.at(target.span),
                    false => Fault { message: format!("`{name}`: {}", fault.message), ..fault }
                        .at(target.span),
                };
                if steps.is_empty() {
                    write_steps(place, &steps, value.value).map_err(located)?;
                    match value.ids {
                        Some(ids) => self.ids.set(*id, ids),
                        None => drop(self.ids.take(*id)),
                    }
                    return Ok(());
                }
                if value.ids.is_some() || self.ids.get(*id).is_some() {
                    if self.ids.get(*id).is_none() {
                        self.ids.set(*id, in_form(place, &mut || 0.0));
                    }
                    let places = value.places();
                    if let Some(variable_ids) = self.ids.get_mut(*id)
                        && !planted(exmc_fault::Fault::TapeLostPlace)
                    {
                        write_steps(variable_ids, &steps, places).map_err(located)?;
                    }
                }
                write_steps(place, &steps, value.value).map_err(located)
            }
        }
    }
}
