//! Which penalty acts where, how strongly and how: a recipe, which files can hold.
//!
//! A [`Recipe`] is a list of lines. Each has a name, a weight that may change with the step, and
//! what it is about: parameters of the model, a named output, a pair of outputs, or a value that
//! the caller computed.

use std::collections::BTreeSet;
use std::sync::Arc;

use burn::module::{Module, ParamGroup};
use serde::{Deserialize, Serialize};

use crate::error::{Error, nearest};
use crate::parameters::{Parameter, parameters};
use crate::penalty::{Custom, Customs, PairPenalty, Penalty};
use crate::schedule::Schedule;

/// How a penalty of parameters acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// As a term of the loss, differentiated by Burn. The default.
    #[default]
    Loss,
    /// Its gradient, in closed form, is added to the parameters' gradients: no graph.
    Decay,
    /// A proximal step (or projection) after the optimiser's: exact zeros.
    Prox,
}

impl Act {
    fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Decay => "decay",
            Self::Prox => "prox",
        }
    }
}

/// What a line is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Term {
    /// A penalty of each parameter of a group; their sum.
    Parameters {
        /// The penalty.
        penalty: Penalty,
        /// Which parameters.
        group: ParamGroup,
        /// How it acts.
        #[serde(default)]
        act: Act,
    },
    /// A penalty of a named output.
    Output {
        /// The penalty.
        penalty: Penalty,
        /// The output's key.
        key: String,
    },
    /// A penalty of two named outputs.
    Pair {
        /// The penalty.
        penalty: PairPenalty,
        /// Key of the first.
        first: String,
        /// Key of the second.
        second: String,
    },
    /// A value that the caller computed, such as a gradient penalty.
    Computed {
        /// The value's key.
        key: String,
    },
}

/// One line of a recipe.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Line {
    /// Its name, which metrics, errors and spans use.
    pub name: String,
    /// Its weight at each step.
    pub weight: Schedule,
    /// What it is about.
    pub term: Term,
    /// Whether it counts.
    #[serde(default = "on")]
    pub enabled: bool,
    /// Whether [`Recipe::gradient_norms`] looks at it.
    #[serde(default = "on")]
    pub tracked: bool,
}

fn on() -> bool {
    true
}

impl Line {
    /// A penalty of the parameters of a group, as a term of the loss.
    pub fn parameters(
        name: impl Into<String>,
        weight: impl Into<Schedule>,
        penalty: Penalty,
        group: ParamGroup,
    ) -> Self {
        Self::new(name, weight, Term::Parameters { penalty, group, act: Act::Loss })
    }

    /// A penalty of a named output.
    pub fn output(
        name: impl Into<String>,
        weight: impl Into<Schedule>,
        penalty: Penalty,
        key: impl Into<String>,
    ) -> Self {
        Self::new(name, weight, Term::Output { penalty, key: key.into() })
    }

    /// A penalty of two named outputs.
    pub fn pair(
        name: impl Into<String>,
        weight: impl Into<Schedule>,
        penalty: PairPenalty,
        first: impl Into<String>,
        second: impl Into<String>,
    ) -> Self {
        let (first, second) = (first.into(), second.into());
        Self::new(name, weight, Term::Pair { penalty, first, second })
    }

    /// A value that the caller computes for each step.
    pub fn computed(
        name: impl Into<String>,
        weight: impl Into<Schedule>,
        key: impl Into<String>,
    ) -> Self {
        Self::new(name, weight, Term::Computed { key: key.into() })
    }

    fn new(name: impl Into<String>, weight: impl Into<Schedule>, term: Term) -> Self {
        Self { name: name.into(), weight: weight.into(), term, enabled: true, tracked: true }
    }

    /// The same line acting in another way; for a line about outputs, which only act in the loss,
    /// nothing changes.
    #[must_use]
    pub fn act(mut self, how: Act) -> Self {
        if let Term::Parameters { act, .. } = &mut self.term {
            *act = how;
        }
        self
    }

    /// Whether the line counts and is a term of the loss.
    pub(crate) fn is_loss(&self) -> bool {
        let loss = !matches!(&self.term, Term::Parameters { act, .. } if *act != Act::Loss);
        loss && (self.enabled || crate::fault::planted("disabled-counts"))
    }

    pub(crate) fn weight_at(&self, step: u64) -> f64 {
        let weight = self.weight.at(step);
        if crate::fault::planted("weight-twice") { weight * weight } else { weight }
    }
}

/// A list of lines, with the user's own penalties.
///
/// ```
/// use burn::module::ParamGroup;
/// use penalties::{Act, Line, Penalty, Recipe, Schedule};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let weights = ParamGroup::from_predicate("weight");
/// let recipe = Recipe::new([
///     Line::parameters("decay", 1e-4, Penalty::L2, weights.clone()).act(Act::Decay),
///     Line::parameters("sparse", Schedule::WarmUp { to: 1e-3, steps: 100 }, Penalty::L1, weights)
///         .act(Act::Prox),
/// ]);
/// let text = serde_json::to_string(&recipe)?;
/// let same: Recipe = serde_json::from_str(&text)?;
/// assert_eq!(same.lines().len(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Recipe {
    lines: Vec<Line>,
    #[serde(skip)]
    customs: Customs,
}

impl Recipe {
    /// A recipe of these lines.
    pub fn new(lines: impl IntoIterator<Item = Line>) -> Self {
        Self { lines: lines.into_iter().collect(), customs: Customs::new() }
    }

    /// Makes a penalty of the user's own known under a name, for [`Penalty::Custom`].
    #[must_use]
    pub fn register(mut self, name: impl Into<String>, custom: Arc<dyn Custom>) -> Self {
        self.customs.insert(name.into(), custom);
        self
    }

    /// The lines in order.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The line of this name.
    pub fn line_mut(&mut self, name: &str) -> Option<&mut Line> {
        self.lines.iter_mut().find(|line| line.name == name)
    }

    /// Adds a line at the end.
    pub fn push(&mut self, line: Line) {
        self.lines.push(line);
    }

    /// Removes the line of this name, if there is one.
    pub fn remove(&mut self, name: &str) -> Option<Line> {
        let index = self.lines.iter().position(|line| line.name == name)?;
        Some(self.lines.remove(index))
    }

    pub(crate) fn customs(&self) -> &Customs {
        &self.customs
    }

    /// Checks the recipe against a model, once, before training.
    ///
    /// Every line is checked, enabled or not: settings, schedules, names, whether the penalty can
    /// act that way, whether its group matches a parameter, and whether those parameters have a
    /// shape that it accepts.
    ///
    /// # Errors
    /// The first line that is wrong; for a group that matches nothing, with the nearest paths of
    /// the model.
    pub fn check<M: Module>(&self, model: &M) -> Result<(), Error> {
        let parameters = parameters(&model.valid());
        let mut names = BTreeSet::new();
        for line in &self.lines {
            if !names.insert(&line.name) {
                return Err(Error::Duplicate { line: line.name.clone() });
            }
            line.weight.check().map_err(|e| e.in_line(&line.name))?;
            self.check_term(line, &parameters).map_err(|e| e.in_line(&line.name))?;
        }
        Ok(())
    }

    fn check_term(&self, line: &Line, parameters: &[Parameter]) -> Result<(), Error> {
        match &line.term {
            Term::Parameters { penalty, group, act } => {
                penalty.check()?;
                if !penalty.acts().contains(&act.name()) {
                    return Err(Error::Act {
                        line: line.name.clone(),
                        penalty: penalty.name().to_owned(),
                        act: act.name(),
                        allowed: penalty.acts().join(", "),
                    });
                }
                let matched: Vec<&Parameter> =
                    parameters.iter().filter(|p| p.is_in(group)).collect();
                if matched.is_empty() {
                    let wanted = wanted(group);
                    let paths: Vec<String> = parameters.iter().map(|p| p.path.clone()).collect();
                    let near = nearest(&wanted, &paths, 5);
                    return Err(Error::Unmatched { line: line.name.clone(), wanted, near });
                }
                for parameter in matched {
                    penalty.of(parameter.flat.clone(), &parameter.dims, &self.customs)?;
                }
                Ok(())
            }
            Term::Output { penalty, .. } => {
                penalty.check()?;
                match penalty {
                    // Asking a custom penalty for a value is the one way to find it missing.
                    Penalty::Custom(name) if !self.customs.contains_key(name) => {
                        let known: Vec<String> = self.customs.keys().cloned().collect();
                        let known = nearest(std::slice::from_ref(name), &known, 3);
                        Err(Error::Custom { name: name.clone(), known })
                    }
                    _ => Ok(()),
                }
            }
            Term::Pair { .. } | Term::Computed { .. } => Ok(()),
        }
    }
}

/// The texts that a group looks for. Burn keeps them private; its debug output quotes them.
fn wanted(group: &ParamGroup) -> Vec<String> {
    let text = format!("{group:?}");
    let matcher = text.split("excludes").next().unwrap_or_default();
    matcher.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}
