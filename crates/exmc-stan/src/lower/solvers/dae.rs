//! Differential-algebraic equations: the user's residual is walked once with symbolic time, state
//! and slope into a graph of its own, which the solver's operation carries.

use exmc_graph::{DaeArguments, Graph, NodeId, Op, Shape, dae};
use exmc_math::OdeControl;

use super::ode::{Call, real_node};
use crate::dae::{DaeForm, INITIAL_TIME, SLOPE, STATE, TIMES, check_sizes};
use crate::lower::Lowering;
use crate::lower::abort::{LowerResult, unsupported};
use crate::lower::variables::lane_value::{LaneValue, reals};
use crate::ode::check_times;
use crate::source::Span;
use crate::typed::{Expr, Type};

impl Lowering<'_> {
    /// `dae(f, yy0, yp0, t0, ts, …)` and `dae_tol`, `[T, n]`; nothing if `name` is neither.
    pub(in crate::lower) fn dae(
        &mut self,
        name: &str,
        args: &[Expr],
        returns: &Type,
        span: Span,
    ) -> LowerResult<Option<LaneValue>> {
        let Some(form) = DaeForm::of(name, args.len()) else { return Ok(None) };
        let solve = |this: &mut Self, call: &Call<'_>, args: &[(LaneValue, Type)]| {
            let known = |k: usize| args.get(k).and_then(|(value, _)| value.as_known());
            let control = form.settings(known).map_err(|message| call.mistake(message))?;
            if let (Some(initial), Some(times)) = (known(INITIAL_TIME), known(TIMES)) {
                let initial = initial.as_real().unwrap_or(f64::NAN);
                check_times(initial, &reals(times)).map_err(|message| call.mistake(message))?;
            }
            let lost = "too many steps, or the solution leaves every bound, or its start does not \
                        fulfil the equations";
            this.solve_with(call, args, lost, &|this, graph, call, args| {
                this.dae_in(graph, call, &form, control, args)
            })
        };
        self.solver(name, "equations", args, returns, span, &solve).map(Some)
    }

    fn dae_in(
        &mut self,
        graph: &mut Graph,
        call: &Call<'_>,
        form: &DaeForm,
        control: OdeControl,
        args: &[(LaneValue, Type)],
    ) -> LowerResult<NodeId> {
        let [start, slope, initial_time, times] =
            [STATE, SLOPE, INITIAL_TIME, TIMES].map(|k| real_node(graph, &args[k].0));
        let states = graph.shape(start).len();
        check_sizes(states, graph.shape(slope).len()).map_err(|message| call.mistake(message))?;
        let refused = |error: exmc_graph::GraphError| unsupported(call.span, error.to_string());
        // The state determines the solution: its slope is where the first step begins.
        let slope = graph.apply(Op::Hold, &[slope]).map_err(refused)?;
        let extras: Vec<&LaneValue> =
            args[form.extras.clone()].iter().map(|(value, _)| value).collect();
        let vector = Shape::from([states]);
        let inputs = [("t", Shape::scalar()), ("y", vector.clone()), ("yp", vector.clone())];
        let (body, residual, values) = self.walked(graph, call, &inputs, &extras, vector)?;
        let times = [initial_time, times];
        let arguments =
            DaeArguments { graph: body, residual, control, start, slope, values, times };
        dae(graph, arguments).map_err(refused)
    }
}
