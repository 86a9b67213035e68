//! What an observer saw -> the observations by name, and which term belongs to which.

use std::collections::BTreeMap;

use super::find::one_line;
use super::observe::{Key, Observer};
use super::{Observations, Observed};
use crate::source::Span;
use crate::typed::VariableId;

/// The observations of a program with its data, in the order of the data's declarations, each
/// variable's elements row by row; then those that are no elements of one variable.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// All observations.
    pub observations: Vec<Observation>,
    /// The statements that make their terms.
    pub statements: Vec<StatementTerms>,
    /// The observation of each term, in the order in which the statements make them.
    pub(super) slots: Vec<usize>,
    /// The statement of each term.
    pub(super) of_terms: Vec<usize>,
}

/// One observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The data that it is an element of, or the outcome as the program writes it.
    pub of: String,
    /// That with its index: `y[3]`.
    pub name: String,
    /// Its index, from 1; fewer indices than the data have where it is more than one element.
    pub index: Vec<usize>,
}

/// A statement and how many terms it makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementTerms {
    /// Its place.
    pub span: Span,
    /// Its line, from 1.
    pub line: u32,
    /// Its text in one line.
    pub text: String,
    /// How many terms it makes.
    pub terms: usize,
    /// Whether the density has one number for a whole container, so that its elements are not
    /// observations of their own.
    pub is_joint: bool,
}

impl Layout {
    pub(super) fn of(observed_model: &Observations, observer: Observer) -> Self {
        let sources = &observed_model.program.sources;
        let is_joint = |k: usize| {
            let mut all = observed_model.observed.values().flatten();
            let joins = |o: &Observed| o.event_rank.is_none() && o.outcome_rank() > 0;
            all.any(|observed| observed.statement == k && joins(observed))
        };
        let statement = |(k, span): (usize, &Span)| StatementTerms {
            span: *span,
            line: sources.files().get(span.file as usize).map_or(0, |f| f.place(span.start).line),
            text: one_line(sources.text(*span)),
            terms: observer
                .statements
                .iter()
                .filter(|statement_index| **statement_index == k)
                .count(),
            is_joint: is_joint(k),
        };
        let statements = observed_model.spans.iter().enumerate().map(statement).collect();
        let numbers: BTreeMap<&Key, usize> = observer.keys.iter().map(|key| (key, 0)).collect();
        let numbers: BTreeMap<&Key, usize> =
            numbers.into_keys().enumerate().map(|(number, key)| (key, number)).collect();
        let slots = observer.keys.iter().map(|key| numbers[key]).collect();
        let variable = |id: &VariableId| observed_model.program.variable(*id).name.to_string();
        let observation = |key: &&Key| {
            let (observed_name, index) = match key {
                Key::Element(id, index) => (variable(id), index.clone()),
                Key::Outcome(label, number) => (label.to_string(), vec![*number]),
            };
            let numbers: Vec<String> = index.iter().map(usize::to_string).collect();
            let name = match index.is_empty() {
                true => observed_name.clone(),
                false => format!("{observed_name}[{}]", numbers.join(",")),
            };
            Observation { of: observed_name, name, index }
        };
        let observations = numbers.keys().map(observation).collect();
        Self { observations, statements, slots, of_terms: observer.statements.clone() }
    }
}
