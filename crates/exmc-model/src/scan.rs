//! Loops over time, as a user writes them: what is carried from step to step, what each step reads
//! -> an expression.

use crate::expr::{Expr, ExprKind};

/// A recurrence: a state that every step makes anew from the state before and from its own rows of
/// sequences.
///
/// $$s_t = f(s_{t-1}, x_t), \qquad t = 1 \dots T, \qquad s_0\ \text{given}.$$
///
/// In the expressions of a step the names of carries, sequences and values stand for those of the
/// step; every other name is a node of the model, the same in all steps. **Shapes**: a sequence's
/// outermost extent is the number of steps, the rest is what a step reads; the next state has the
/// shape of the first. [`Scan::each`] gives `[T]` and the value's shape. **Edges**: of no steps,
/// [`Scan::last`] is the start. **Errors**: mistakes (sequences of different lengths, a state that
/// changes its shape, names that mean nothing or two things) are found when the model is built.
///
/// The errors of a moving average, $e_t = y_t - \mu - \theta e_{t-1}$:
///
/// ```
/// use exmc_graph::Tensor;
/// use exmc_model::{Expr, ModelBuilder, Scan, distributions::normal};
/// let mut model = ModelBuilder::new();
/// model.data("y", Tensor::vector(&[0.5, 1.5, -0.25]));
/// model.rv("mu", normal(0.0, 10.0));
/// model.rv("theta", normal(0.0, 2.0));
/// let error = Expr::name("now") - "mu" - Expr::name("theta") * "error";
/// let errors = Scan::new().sequence("now", "y").carry("error", 0.0, error).states("error");
/// model.potential("likelihood", errors.square().sum() * -0.5);
/// model.build()?;
/// # Ok::<(), exmc_model::ModelError>(())
/// ```
///
/// A hidden Markov chain by the forward algorithm, of which only the last state is needed:
///
/// ```
/// use exmc_graph::Tensor;
/// use exmc_model::{Expr, ModelBuilder, Scan, distributions::normal};
/// let mut model = ModelBuilder::new();
/// model.data("y", Tensor::vector(&[0.5, 1.5, -0.25]));
/// model.data("log_moves", Tensor::vector(&[-0.5, -1.0, -1.0, -0.5]));
/// model.rv("mu", normal(0.0, 1.0)).shape([2]);
/// let seen = (Expr::name("now") - "mu").square() * -0.5;
/// let moves = Expr::name("log_moves").reshape([2, 2]);
/// let pairs = Expr::name("state").reshape([2, 1]) + moves;
/// let next = pairs.log_sum_exp_over(0) + seen;
/// let last = Scan::new().sequence("now", "y").carry("state", [0.0, 0.0], next).last("state");
/// model.potential("likelihood", last.log_sum_exp());
/// model.build()?;
/// # Ok::<(), exmc_model::ModelError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// Name, first state, next state.
    pub(crate) carries: Vec<(String, Expr, Expr)>,
    pub(crate) sequences: Vec<(String, Expr)>,
    /// Parts of a step that others refer to by name, each using earlier ones only.
    pub(crate) values: Vec<(String, Expr)>,
    pub(crate) length: Option<usize>,
    pub(crate) reverse: bool,
}

/// What a loop gives.
#[derive(Clone, Debug)]
pub(crate) enum Output {
    /// A state after the last step, by name.
    Last(String),
    /// A value of every step.
    Each(Expr),
}

impl Scan {
    /// A loop that carries and reads nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A state: its name in the steps, its value before the first step and the next one, an
    /// expression of a step.
    #[must_use]
    pub fn carry(
        mut self,
        name: impl Into<String>,
        start: impl Into<Expr>,
        next: impl Into<Expr>,
    ) -> Self {
        self.carries.push((name.into(), start.into(), next.into()));
        self
    }

    /// An array of which each step reads one row, under a name.
    #[must_use]
    pub fn sequence(mut self, name: impl Into<String>, rows: impl Into<Expr>) -> Self {
        self.sequences.push((name.into(), rows.into()));
        self
    }

    /// A part of a step that later parts, next states and results refer to by name.
    #[must_use]
    pub fn value(mut self, name: impl Into<String>, value: impl Into<Expr>) -> Self {
        self.values.push((name.into(), value.into()));
        self
    }

    /// The number of steps, for loops that read no sequence.
    #[must_use]
    pub fn steps(mut self, length: usize) -> Self {
        self.length = Some(length);
        self
    }

    /// From the last row to the first. What steps give stays in the order of the rows.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        self.reverse = true;
        self
    }

    /// A state after the last step.
    pub fn last(&self, name: impl Into<String>) -> Expr {
        self.output(Output::Last(name.into()))
    }

    /// A value of every step, along a new outermost axis; a state's name there is its value before
    /// the step.
    pub fn each(&self, value: impl Into<Expr>) -> Expr {
        self.output(Output::Each(value.into()))
    }

    /// A state after every step, along a new outermost axis.
    pub fn states(&self, name: &str) -> Expr {
        let next = self.carries.iter().find(|(carry, ..)| carry == name);
        // A name that nothing has is reported when the model is built.
        next.map_or_else(|| self.last(name), |(_, _, next)| self.each(next))
    }

    fn output(&self, output: Output) -> Expr {
        Expr::of(ExprKind::Scan { scan: self.clone(), output })
    }

    /// The names that mean something of their own in the steps.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let carries = self.carries.iter().map(|(name, ..)| name);
        let others = self.sequences.iter().chain(&self.values).map(|(name, _)| name);
        carries.chain(others).map(String::as_str)
    }

    /// What is evaluated before the first step.
    pub(crate) fn before(&self) -> impl Iterator<Item = &Expr> {
        let starts = self.carries.iter().map(|(_, start, _)| start);
        starts.chain(self.sequences.iter().map(|(_, rows)| rows))
    }

    /// What every step evaluates, but for its result.
    pub(crate) fn inside(&self) -> impl Iterator<Item = &Expr> {
        let next = self.carries.iter().map(|(_, _, next)| next);
        next.chain(self.values.iter().map(|(_, value)| value))
    }

    /// Moves all expressions out.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Expr> {
        let carries = std::mem::take(&mut self.carries).into_iter();
        let rows = std::mem::take(&mut self.sequences).into_iter();
        let values = std::mem::take(&mut self.values).into_iter();
        let carries = carries.flat_map(|(_, start, next)| [start, next]);
        carries.chain(rows.chain(values).map(|(_, value)| value))
    }
}
