//! Functions that take functions: solvers, quadrature, parallel maps and sums.
//!
//! What is given must be a plain function whose first arguments and result are what the solver
//! calls it with; all further arguments of it follow those of the solver in the call (older solvers
//! fix them).

use std::sync::LazyLock;

use super::calls::returned;
use super::environment::{Checker, Suffix, Typed, is_proportional, parameter};
use super::expressions::Checked;
use super::overloads::{Candidate, Mismatch, convert, count, fit, ordinal, spell_signature};
use super::signatures::{self, Parameter, Signature};
use super::types::spell;
use crate::source::Span;
use crate::syntax::tree::Name;
use crate::typed::{Callee, Expr, ExprKind, Type};

/// Names; what the function given takes and returns; what the solver takes after it and returns;
/// whether further arguments of the function follow.
type Row = (&'static str, &'static str, &'static str, bool);

const ROWS: &[Row] = &[
    (
        "ode_rk45 ode_bdf ode_adams ode_ckrk",
        "real, vector -> vector",
        "vector, real, real[] -> vector[]",
        true,
    ),
    (
        "ode_rk45_tol ode_bdf_tol ode_adams_tol ode_ckrk_tol",
        "real, vector -> vector",
        "vector, real, real[], data real, data real, data int -> vector[]",
        true,
    ),
    (
        "ode_adjoint_tol_ctl",
        "real, vector -> vector",
        "vector, real, real[], data real, data vector, data real, data vector, data real, data real, data int, \
         data int, data int, data int, data int -> vector[]",
        true,
    ),
    ("dae", "real, vector, vector -> vector", "vector, vector, data real, data real[] -> vector[]", true),
    (
        "dae_tol",
        "real, vector, vector -> vector",
        "vector, vector, data real, data real[], data real, data real, data int -> vector[]",
        true,
    ),
    ("solve_newton solve_powell", "vector -> vector", "vector -> vector", true),
    (
        "solve_newton_tol solve_powell_tol",
        "vector -> vector",
        "vector, data real, data real, data int -> vector",
        true,
    ),
    (
        "integrate_1d_gauss_kronrod integrate_1d_double_exponential",
        "real, real -> real",
        "real, real -> real",
        true,
    ),
    (
        "integrate_1d_gauss_kronrod_tol integrate_1d_double_exponential_tol",
        "real, real -> real",
        "real, real, data real, data real, data int -> real",
        true,
    ),
    (
        "integrate_1d",
        "real, real, real[], data real[], data int[] -> real",
        "real, real, real[], data real[], data int[] -> real;
         real, real, real[], data real[], data int[], data real -> real",
        false,
    ),
    (
        "integrate_ode",
        "real, real[], real[], data real[], data int[] -> real[]",
        "real[], real, real[], real[], data real[], data int[] -> real[,]",
        false,
    ),
    (
        "integrate_ode_rk45 integrate_ode_bdf integrate_ode_adams",
        "real, real[], real[], data real[], data int[] -> real[]",
        "real[], real, real[], real[], data real[], data int[] -> real[,];
         real[], real, real[], real[], data real[], data int[], data real, data real, data real -> real[,]",
        false,
    ),
    (
        "algebra_solver algebra_solver_newton",
        "vector, vector, data real[], data int[] -> vector",
        "vector, vector, data real[], data int[] -> vector;
         vector, vector, data real[], data int[], data real, data real, data real -> vector",
        false,
    ),
    (
        "map_rect",
        "vector, vector, data real[], data int[] -> vector",
        "vector, vector[], data real[,], data int[,] -> vector",
        false,
    ),
];

/// The two that take any array and slice it.
const SUMS: [&str; 2] = ["reduce_sum", "reduce_sum_static"];

struct Solver {
    names: Vec<&'static str>,
    callback: Signature,
    controls: Vec<Signature>,
    variadic: bool,
}

static SOLVERS: LazyLock<Vec<Solver>> = LazyLock::new(|| {
    let solver = |(names, callback, controls, variadic): &Row| Solver {
        names: names.split_whitespace().collect(),
        callback: signatures::expand(callback).remove(0),
        controls: signatures::expand(controls),
        variadic: *variadic,
    };
    ROWS.iter().map(solver).collect()
});

/// Whether the library has a function of this name that takes functions (Laplace's apart).
pub fn exists(name: &str) -> bool {
    names().any(|known| known == name)
}

/// Whether the user may not add overloads: those whose arguments depend on the function given.
pub(super) fn is_variadic(name: &str) -> bool {
    SUMS.contains(&name) || SOLVERS.iter().any(|s| s.variadic && s.names.contains(&name))
}

/// The names of all of them.
pub fn names() -> impl Iterator<Item = &'static str> {
    SOLVERS.iter().flat_map(|solver| solver.names.iter().copied()).chain(SUMS)
}

/// Why a function cannot be given to a solver.
enum Refusal {
    /// It is of the wrong kind itself.
    Callback(String),
    /// The rest of the call does not fit it.
    Arguments(Vec<Parameter>, Mismatch),
}

impl Checker {
    pub(super) fn apply_higher_order(
        &mut self,
        span: Span,
        function: &Name,
        mut arguments: Vec<Typed>,
    ) -> Checked {
        let name = &*function.text;
        if name.starts_with("integrate_ode") {
            self.warn(function.span, format!("`{name}` is deprecated")).help =
                Some("use ode_rk45, ode_bdf or ode_adams, whose functions take vectors".into());
        }
        let sum = SUMS.contains(&name);
        if arguments.is_empty() {
            self.error(span, format!("`{name}` needs a function and its arguments"));
            return None;
        }
        let given = arguments.remove(0);
        let Some(written) = function_name(self, &given) else {
            let found = self.describe(&given);
            let message = format!(
                "the first argument of `{name}` must be the name of a function, and this is {found}"
            );
            self.error(given.expr.span, message);
            return None;
        };
        if sum {
            self.check_sliced(span, name, arguments.first())?;
        }
        let mut fitting: Vec<(u32, Candidate, Vec<Parameter>, Type)> = Vec::new();
        let mut refusals = Vec::new();
        for candidate in self.candidates(&written) {
            for (callback, control, variadic) in requirements(name, &candidate) {
                match fits(&written, &candidate, &callback, &control, variadic, sum, &arguments) {
                    Ok((cost, parameters)) => {
                        fitting.push((cost, candidate.clone(), parameters, control.returns));
                    }
                    Err(refusal) => refusals.push((candidate.clone(), refusal)),
                }
            }
        }
        let least = fitting.iter().map(|(cost, ..)| *cost).min();
        fitting.retain(|(cost, ..)| Some(*cost) == least);
        if fitting.len() > 1 {
            let all: Vec<Candidate> = fitting.into_iter().map(|(_, c, ..)| c).collect();
            self.ambiguous(given.expr.span, &written, &all);
            return None;
        }
        let Some((_, candidate, parameters, returns)) = fitting.pop() else {
            self.refused(span, name, &given, &arguments, refusals);
            return None;
        };
        let mut args = vec![callback_expr(&given, &candidate, &written)];
        let level = arguments.iter().any(|argument| argument.level.any());
        args.extend(convert(&parameters, arguments));
        let kind = ExprKind::Call(Callee::Library(function.text.clone()), args);
        Some(returned(span, kind, returns, level))
    }

    /// The second argument of `reduce_sum`: an array of ints, reals, vectors, row vectors or
    /// matrices.
    fn check_sliced(&mut self, span: Span, name: &str, sliced: Option<&Typed>) -> Option<()> {
        let Some(sliced) = sliced else {
            self.error(span, format!("`{name}` needs a function, an array and a grain size"));
            return None;
        };
        let (depth, inner) = sliced.ty().array_parts();
        let allowed =
            matches!(inner, Type::Int | Type::Real | Type::Vector | Type::RowVector | Type::Matrix);
        if depth == 0 || !allowed {
            let found = self.describe(sliced);
            let message = format!(
                "`{name}` slices an array of ints, reals, vectors, row vectors or matrices, and this is {found}"
            );
            self.error(sliced.expr.span, message);
            return None;
        }
        Some(())
    }

    fn refused(
        &mut self,
        span: Span,
        name: &str,
        given: &Typed,
        arguments: &[Typed],
        refusals: Vec<(Candidate, Refusal)>,
    ) {
        // A function of the right kind whose other arguments are wrong says more than one of the
        // wrong.
        let (mut callback, mut rest) = (None, None);
        for (candidate, refusal) in refusals {
            match refusal {
                Refusal::Callback(why) => callback = callback.or(Some((candidate, why))),
                Refusal::Arguments(wanted, mismatch) => {
                    // The form with the right number of arguments says more than another.
                    let counts = matches!(mismatch, Mismatch::Count(..));
                    if rest.is_none()
                        || (!counts && matches!(rest, Some((_, _, Mismatch::Count(..)))))
                    {
                        rest = Some((candidate, wanted, mismatch));
                    }
                }
            }
        }
        if let Some((candidate, wanted, mismatch)) = rest {
            let (argument_span, why) = match mismatch {
                Mismatch::Count(wanted, found) => {
                    // Where the first superfluous argument is, or the last one before those
                    // missing.
                    let index = if wanted > found { found.saturating_sub(1) } else { wanted };
                    let argument_span =
                        arguments.get(index).map_or(span, |argument| argument.expr.span);
                    (
                        argument_span,
                        format!("expected {} after the function, found {found}", count(wanted)),
                    )
                }
                Mismatch::Type(k) => (
                    arguments[k].expr.span,
                    format!(
                        "the {} argument must be {}, and this is {}",
                        ordinal(k + 1),
                        spell(&wanted[k].ty),
                        self.describe(&arguments[k])
                    ),
                ),
                Mismatch::Data(k) => (
                    arguments[k].expr.span,
                    format!(
                        "the {} argument must be data, and this may depend on parameters",
                        ordinal(k + 1)
                    ),
                ),
            };
            let takes = format!(
                "with this function, `{name}` takes (function, {}",
                spell_signature(&wanted, &candidate.returns).trim_start_matches('(')
            );
            let takes =
                takes.rsplit_once(" => ").map_or(takes.clone(), |(head, _)| head.to_owned());
            if is_variadic(name) {
                self.error(argument_span, format!("`{name}`: {why}")).help = Some(takes);
            } else {
                let diagnostic = self.error(span, format!("`{name}`: {why}"));
                diagnostic.help = Some(takes);
                diagnostic.labels.push((argument_span, "this argument".into()));
            }
        } else {
            let why = callback.map_or_else(|| "there is none of that name".into(), |(_, why)| why);
            self.error(given.expr.span, format!("`{name}` cannot take this function: {why}"));
        }
    }
}

/// The name that a function was given by.
pub(super) fn function_name(checker: &Checker, given: &Typed) -> Option<String> {
    match &given.expr.kind {
        ExprKind::Function { function, proportional } => {
            let name = &checker.program.function(*function).name;
            Some(if *proportional {
                name.replace("_lpdf", "_lupdf").replace("_lpmf", "_lupmf")
            } else {
                (**name).to_owned()
            })
        }
        ExprKind::LibraryFunction(name) => Some((**name).to_owned()),
        _ => None,
    }
}

/// The argument for the function that was found among those of its name.
pub(super) fn callback_expr(given: &Typed, candidate: &Candidate, written: &str) -> Expr {
    match candidate.user {
        Some(function) => Expr::new(
            ExprKind::Function { function, proportional: is_proportional(written) },
            Type::Function(function),
            given.expr.span,
        ),
        None => given.expr.clone(),
    }
}

/// What a function must take, what the call takes after it, and whether the function's further
/// arguments follow; one entry for each form of the solver.
fn requirements(name: &str, candidate: &Candidate) -> Vec<(Signature, Signature, bool)> {
    if SUMS.contains(&name) {
        let sliced = candidate.arguments.first().map_or(Type::Real.array(1), |a| a.ty.clone());
        let slice = parameter(false, sliced);
        let range = [parameter(true, Type::Int), parameter(true, Type::Int)];
        let callback = Signature {
            arguments: std::iter::once(slice.clone()).chain(range).collect(),
            returns: Type::Real,
        };
        let control =
            Signature { arguments: vec![slice, parameter(false, Type::Int)], returns: Type::Real };
        return vec![(callback, control, true)];
    }
    let solver = SOLVERS.iter().find(|solver| solver.names.contains(&name));
    solver.map_or_else(Vec::new, |solver| {
        let controls = solver.controls.iter();
        controls.map(|c| (solver.callback.clone(), c.clone(), solver.variadic)).collect()
    })
}

fn fits(
    written: &str,
    candidate: &Candidate,
    callback: &Signature,
    control: &Signature,
    variadic: bool,
    densities: bool,
    arguments: &[Typed],
) -> Result<(u32, Vec<Parameter>), Refusal> {
    let suffix = Suffix::of(written);
    if suffix != Suffix::Plain && !(densities && matches!(suffix, Suffix::Lpdf | Suffix::Lpmf)) {
        return Err(Refusal::Callback("it must be a plain function, without a suffix".into()));
    }
    check_callback(candidate, callback, variadic).map_err(Refusal::Callback)?;
    let mut parameters = control.arguments.clone();
    if variadic {
        parameters.extend_from_slice(&candidate.arguments[callback.arguments.len()..]);
    }
    match fit(&parameters, arguments) {
        Ok(cost) => Ok((cost, parameters)),
        Err(mismatch) => Err(Refusal::Arguments(parameters, mismatch)),
    }
}

/// Whether a function can be called with exactly these types first; it may take for parameters what
/// it is given as data, and not the other way round.
pub(super) fn check_callback(
    candidate: &Candidate,
    callback: &Signature,
    variadic: bool,
) -> Result<(), String> {
    let wanted = &callback.arguments;
    let wanted_text = spell_signature(wanted, &callback.returns);
    if candidate.returns != callback.returns {
        return Err(format!(
            "it must return {}, and returns {}",
            spell(&callback.returns),
            spell(&candidate.returns)
        ));
    }
    let enough = if variadic {
        candidate.arguments.len() >= wanted.len()
    } else {
        candidate.arguments.len() == wanted.len()
    };
    if !enough {
        return Err(format!("it takes {}, not {wanted_text}", count(candidate.arguments.len())));
    }
    for (k, (wanted, found)) in wanted.iter().zip(&candidate.arguments).enumerate() {
        if wanted.ty != found.ty {
            return Err(format!(
                "its {} argument must be {}, and is {}",
                ordinal(k),
                spell(&wanted.ty),
                spell(&found.ty)
            ));
        }
        if found.data_only && !wanted.data_only {
            return Err(format!("its {} argument must not be marked `data`", ordinal(k)));
        }
    }
    Ok(())
}
