//! A declared expression -> graph nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use exmc_graph::{Graph, NodeId};

use super::scan::lower_scan;
use crate::diagnostic::{Code, Diagnostic};
use crate::expr::{Expr, ExprKind};
use crate::function;

/// An expression as graph nodes; `value_of` gives the node that stands for a name.
pub(super) fn lower_expr(
    g: &mut Graph,
    expr: &Expr,
    value_of: &dyn Fn(&mut Graph, &str) -> Option<NodeId>,
) -> Result<NodeId, Diagnostic> {
    /// Deeper expressions are refused rather than risk the stack.
    const MAX_DEPTH: usize = 400;
    fn go(
        g: &mut Graph,
        expr: &Expr,
        value_of: &dyn Fn(&mut Graph, &str) -> Option<NodeId>,
        done: &mut BTreeMap<*const ExprKind, NodeId>,
        depth: usize,
    ) -> Result<NodeId, Diagnostic> {
        if depth > MAX_DEPTH {
            let message = format!("an expression is nested more than {MAX_DEPTH} deep");
            let help = "name parts of it with deterministic nodes, or write it over vectors";
            return Err(Diagnostic::new(Code::BadArguments, message).help(help));
        }
        let key = Arc::as_ptr(&expr.0);
        if let Some(&id) = done.get(&key) {
            return Ok(id);
        }
        let id = match &*expr.0 {
            ExprKind::Constant(tensor) => g.constant(tensor.clone()),
            ExprKind::Mistake(message) => {
                return Err(Diagnostic::new(Code::BadArguments, message.as_str()));
            }
            ExprKind::Reference(name) => value_of(g, name).ok_or_else(|| {
                Diagnostic::new(Code::UnknownReference, format!("nothing is called `{name}`"))
            })?,
            ExprKind::Call { function, args, attributes } => {
                let args = args
                    .iter()
                    .map(|a| go(g, a, value_of, done, depth + 1))
                    .collect::<Result<Vec<_>, _>>()?;
                function::call(g, function, &args, attributes)?
            }
            ExprKind::Scan { scan, output } => {
                let mut before =
                    |g: &mut Graph, expr: &Expr| go(g, expr, value_of, done, depth + 1);
                lower_scan(g, (scan, output), &mut before, value_of)?
            }
        };
        done.insert(key, id);
        Ok(id)
    }
    go(g, expr, value_of, &mut BTreeMap::new(), 0)
}
