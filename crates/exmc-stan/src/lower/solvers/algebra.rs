//! Systems of equations: the user's function is walked once with symbolic unknowns into a graph of
//! its own, whose root an operation finds, with the derivatives of the implicit function.

use exmc_graph::{Graph, NodeId, root};
use exmc_math::RootControl;

use super::ode::{Call, real_node};
use crate::equations::{GUESS, RootForm};
use crate::lower::Lowering;
use crate::lower::abort::{LowerResult, unsupported};
use crate::lower::variables::lane_value::LaneValue;
use crate::source::Span;
use crate::typed::{Expr, Type};

impl Lowering<'_> {
    /// `solve_newton(f, guess, …)` and its like, `[n]`; nothing if `name` is no solver's.
    pub(in crate::lower) fn root(
        &mut self,
        name: &str,
        args: &[Expr],
        returns: &Type,
        span: Span,
    ) -> LowerResult<Option<LaneValue>> {
        let Some(form) = RootForm::of(name, args.len()) else { return Ok(None) };
        let solve = |this: &mut Self, call: &Call<'_>, args: &[(LaneValue, Type)]| {
            let control = form.settings(|k| args.get(k).and_then(|(value, _)| value.as_known()));
            let control = control.map_err(|message| call.mistake(message))?;
            this.solve_with(call, args, "no root is found", &|this, graph, call, args| {
                this.root_in(graph, call, &form, control, args)
            })
        };
        self.solver(name, "unknowns", args, returns, span, &solve).map(Some)
    }

    fn root_in(
        &mut self,
        graph: &mut Graph,
        call: &Call<'_>,
        form: &RootForm,
        control: RootControl,
        args: &[(LaneValue, Type)],
    ) -> LowerResult<NodeId> {
        let guess = real_node(graph, &args[GUESS].0);
        let extras: Vec<&LaneValue> =
            args[form.extras.clone()].iter().map(|(value, _)| value).collect();
        let unknowns = graph.shape(guess).len();
        let (body, residual, values) = self.body(graph, call, (unknowns, false), &extras)?;
        root(graph, (body, residual), control, guess, values)
            .map_err(|error| unsupported(call.span, error.to_string()))
    }
}
