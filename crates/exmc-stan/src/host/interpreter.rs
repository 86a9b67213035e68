//! The interpreter's state and its entry points: statements and expressions over an environment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use exmc_math::random::{ChainRng, Phase};

use crate::host::by_type::Kinds;
use crate::host::environment::Environment;
use crate::host::error::{Fault, FaultKind, Outcome};
use crate::host::library::density::Densities;
use crate::source::Span;
use crate::typed::{DeclaredType, Expr, FunctionId, Program, Statement, StatementKind, VariableId};
use crate::value::Value;

/// Limits and the source of randomness of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// Seed of `_rng` functions. Default 0.
    pub seed: u64,
    /// Loop iterations and calls of user functions that a run may make before it ends with an
    /// error. Default 10^9, about a minute.
    pub fuel: u64,
    /// How deep calls of user functions may nest. Default 500, which a thread with two megabytes of
    /// stack bears.
    pub depth: u32,
    /// Looked at every few thousand loop steps and calls: where it is true, the run ends with
    /// [`FaultKind::Interrupted`]. Default none.
    pub stop: Option<Arc<AtomicBool>>,
    /// Whether [`Interpreter::log_density`] leaves out the terms that Stan leaves out of `~` and
    /// `_lupdf`. Default false.
    pub proportional: bool,
}

/// Some milliseconds.
const STEPS_BETWEEN_LOOKS: u64 = 1 << 14;

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 0, fuel: 1_000_000_000, depth: 500, stop: None, proportional: false }
    }
}

impl Settings {
    /// The defaults under a seed.
    pub fn seeded(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }
}

/// Where `print` writes its lines to.
pub type Printer<'p> = Box<dyn FnMut(&str) + 'p>;

/// Walks the typed tree over values.
pub struct Interpreter<'p> {
    pub(crate) program: &'p Program,
    pub(crate) settings: Settings,
    fuel: u64,
    pub(crate) depth: u32,
    pub(crate) rng: ChainRng,
    /// What `target()` gives: the sum of all terms so far.
    pub(crate) target: f64,
    /// Frames of each user function that are alive.
    pub(crate) alive: Vec<u32>,
    locals: Vec<Option<Vec<VariableId>>>,
    pub(crate) printer: Printer<'p>,
    pub(crate) densities: Densities,
    /// Whether unnormalised densities leave out terms now.
    pub(crate) proportional: bool,
    /// What they ask about types.
    pub(crate) kinds: Kinds,
    /// Where it is there, `~` draws its outcome instead of adding to the log density.
    pub(crate) simulation: Option<crate::generative::Simulation>,
    /// Where it is there, it takes the terms of statements on data; the log density gets nothing.
    pub(crate) observer: Option<Box<crate::pointwise::Observer>>,
}

/// A chain number that no chain has: transformed data draw from it, so that all chains see the
/// same.
const DATA_CHAIN: u32 = u32::MAX;

impl<'p> Interpreter<'p> {
    /// An interpreter for a program, its random stream that of transformed data; `print` writes
    /// nowhere.
    pub fn new(program: &'p Program, settings: Settings) -> Self {
        let functions = program.functions.len();
        Self {
            program,
            fuel: settings.fuel,
            depth: 0,
            rng: ChainRng::new(settings.seed, DATA_CHAIN, Phase::Quantities),
            settings,
            target: 0.0,
            alive: vec![0; functions],
            locals: vec![None; functions],
            printer: Box::new(|_| {}),
            densities: Default::default(),
            proportional: false,
            kinds: Kinds::default(),
            simulation: None,
            observer: None,
        }
    }

    /// The same, with `print` writing lines (without their ends) to `printer`.
    #[must_use]
    pub fn with_printer(mut self, printer: Printer<'p>) -> Self {
        self.printer = printer;
        self
    }

    /// Random numbers from now on are those of one draw of one chain, whatever was drawn before;
    /// fuel is full again.
    pub fn start_draw(&mut self, chain: u32, draw: u64) {
        self.rng = ChainRng::new(self.settings.seed, chain, Phase::Quantities);
        // Draws are 2^36 words apart: more than any draw's quantities can use up.
        self.rng.set_word_position(u128::from(draw) << 36);
        self.fuel = self.settings.fuel;
        self.target = 0.0;
    }

    /// The same, with densities that an earlier interpreter has compiled.
    #[must_use]
    pub fn with_densities(mut self, densities: Densities) -> Self {
        self.densities = densities;
        self
    }

    /// The densities that were compiled so far, for another interpreter of the same program.
    pub fn into_densities(self) -> Densities {
        self.densities
    }

    /// The program.
    pub fn program(&self) -> &'p Program {
        self.program
    }

    /// The sum of all terms that statements added to the log density since the last
    /// [`start_draw`](Self::start_draw).
    pub fn target(&self) -> f64 {
        self.target
    }

    /// Sets what `target()` gives.
    pub fn set_target(&mut self, target: f64) {
        self.target = target;
    }

    /// The value of an expression.
    ///
    /// # Errors
    /// What goes wrong on the way, with its place; [`FaultKind::Unsupported`] when a variable has
    /// no value.
    pub fn evaluate(&mut self, env: &mut Environment, expr: &Expr) -> Outcome<Value> {
        self.value(env, expr)
    }

    /// Runs statements in order. Constraints of declared variables are not checked here.
    ///
    /// # Errors
    /// What goes wrong on the way, with its place.
    pub fn run(&mut self, env: &mut Environment, statements: &[Statement]) -> Outcome<()> {
        self.statements(env, statements).map(|_| ())
    }

    /// Runs a block (transformed data, generated quantities …) and then checks the constraints of
    /// the variables that it declares at its top level, in order, as Stan does.
    ///
    /// # Errors
    /// As [`run`](Self::run); [`FaultKind::Domain`] for a constraint that does not hold.
    pub fn run_block(&mut self, env: &mut Environment, block: &[Statement]) -> Outcome<()> {
        self.run(env, block)?;
        self.check_block(env, block)
    }

    /// Checks the constraints of the variables that a block declares at its top level, in order.
    ///
    /// # Errors
    /// [`FaultKind::Domain`] for the first that does not hold.
    pub fn check_block(&mut self, env: &mut Environment, block: &[Statement]) -> Outcome<()> {
        for statement in block {
            let StatementKind::Declare(declaration) = &statement.kind else { continue };
            if is_unconstrained(&declaration.ty) {
                continue;
            }
            let id = declaration.variable;
            let Some(value) = env.get(id).cloned() else { continue };
            if let Err(violation) = self.check_constraints(env, &declaration.ty, &value)? {
                let message = violation.sentence(&self.program.variable(id).name);
                return Err(Fault::domain(message).at(declaration.span));
            }
        }
        Ok(())
    }

    /// Takes one unit of fuel.
    #[inline]
    pub(crate) fn burn(&mut self, span: Span) -> Outcome<()> {
        match self.fuel.checked_sub(1) {
            Some(rest) => {
                self.fuel = rest;
                if rest.is_multiple_of(STEPS_BETWEEN_LOOKS) { self.look(span) } else { Ok(()) }
            }
            None => Err(self.out_of_fuel(span)),
        }
    }

    #[cold]
    fn look(&self, span: Span) -> Outcome<()> {
        match &self.settings.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => {
                let message = "the run was interrupted here";
                Err(Fault::new(FaultKind::Interrupted, message).at(span))
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn out_of_fuel(&self, span: Span) -> Box<crate::host::error::RuntimeError> {
        let limit = self.settings.fuel;
        let message = format!("the run took more than {limit} loop steps and calls");
        Fault::new(FaultKind::Limit, message).at(span)
    }

    /// Enters a user function's frame.
    pub(crate) fn enter(&mut self, span: Span) -> Outcome<()> {
        self.burn(span)?;
        if self.depth >= self.settings.depth {
            let message = format!("calls nest deeper than {} levels", self.settings.depth);
            return Err(Fault::new(FaultKind::Limit, message).at(span));
        }
        self.depth += 1;
        Ok(())
    }

    /// Every variable that a call of a user function may write: its arguments, locals and loop
    /// variables.
    pub(crate) fn take_locals(&mut self, id: FunctionId) -> Vec<VariableId> {
        let slot = &mut self.locals[id.0 as usize];
        slot.take().unwrap_or_else(|| {
            let function = self.program.function(id);
            let mut found: Vec<VariableId> =
                function.arguments.iter().map(|argument| argument.variable).collect();
            collect(&function.body, &mut found);
            found
        })
    }

    /// Gives back what [`take_locals`](Self::take_locals) gave.
    pub(crate) fn give_locals(&mut self, id: FunctionId, locals: Vec<VariableId>) {
        self.locals[id.0 as usize] = Some(locals);
    }
}

/// Whether nothing of a declared type needs a check.
pub fn is_unconstrained(declared: &DeclaredType) -> bool {
    use crate::typed::Constraint;
    match declared {
        DeclaredType::Leaf { constraint, .. } => {
            matches!(constraint, Constraint::None | Constraint::OffsetMultiplier(..))
        }
        DeclaredType::Array { element, .. } => is_unconstrained(element),
        DeclaredType::Tuple(slots) => slots.iter().all(is_unconstrained),
    }
}

/// The variables that statements declare, loops included.
fn collect(statements: &[Statement], found: &mut Vec<VariableId>) {
    let one = std::slice::from_ref;
    for statement in statements {
        match &statement.kind {
            StatementKind::Declare(declaration) => found.push(declaration.variable),
            StatementKind::If(_, then, otherwise) => {
                collect(one(then), found);
                if let Some(otherwise) = otherwise {
                    collect(one(otherwise), found);
                }
            }
            StatementKind::While(_, body) => collect(one(body), found),
            StatementKind::For { variable, body, .. }
            | StatementKind::ForEach { variable, body, .. } => {
                found.push(*variable);
                collect(one(body), found);
            }
            StatementKind::Block(inner) | StatementKind::Profile(_, inner) => collect(inner, found),
            _ => {}
        }
    }
}
