//! Penalties in burn-train's dashboards and logs: an evaluation -> a numeric metric for each line.

use std::sync::Arc;

use burn::tensor::{Tensor, TensorReadError};
use burn::train::metric::state::{FormatOptions, NumericMetricState};
use burn::train::metric::{
    Adaptor, Metric, MetricAttributes, MetricMetadata, MetricName, Numeric, NumericAttributes,
    NumericEntry, SerializedEntry,
};

use crate::evaluate::Evaluation;

/// What a [`PenaltyMetric`] is fed: the evaluation of one batch.
#[derive(Clone, Debug)]
pub struct PenaltyInput {
    evaluation: Evaluation,
}

impl PenaltyInput {
    /// The input of an evaluation; its graph is dropped.
    #[must_use]
    pub fn new(evaluation: &Evaluation) -> Self {
        let mut evaluation = evaluation.clone();
        evaluation.total = evaluation.total.detach();
        for row in &mut evaluation.rows {
            row.raw = row.raw.clone().detach();
        }
        Self { evaluation }
    }
}

impl Adaptor<PenaltyInput> for Evaluation {
    fn adapt(&self) -> PenaltyInput {
        PenaltyInput::new(self)
    }
}

/// A metric of burn-train that shows one line of a recipe, or its total. Lower is better.
///
/// The training step's output implements `Adaptor<PenaltyInput>` (an [`Evaluation`] does already).
/// The value is read from the device when the metric is updated, as burn-train's own are.
#[derive(Clone)]
pub struct PenaltyMetric {
    name: MetricName,
    line: Option<String>,
    weighted: bool,
    state: NumericMetricState,
}

impl PenaltyMetric {
    /// The total over all lines, weighted.
    #[must_use]
    pub fn total() -> Self {
        Self::new("Penalty".to_owned(), None, true)
    }

    /// One line without its weight; NaN in a batch whose evaluation does not have it.
    pub fn line(name: impl Into<String>) -> Self {
        let name = name.into();
        Self::new(format!("Penalty {name}"), Some(name), false)
    }

    /// One line with its weight.
    pub fn weighted(name: impl Into<String>) -> Self {
        let name = name.into();
        Self::new(format!("Penalty {name} (weighted)"), Some(name), true)
    }

    fn new(name: String, line: Option<String>, weighted: bool) -> Self {
        Self { name: Arc::new(name), line, weighted, state: NumericMetricState::default() }
    }

    fn pick(&self, evaluation: &Evaluation) -> Result<f64, TensorReadError> {
        let read = |x: &Tensor<1>| x.clone().try_into_scalar::<f64>();
        let Some(line) = &self.line else { return read(&evaluation.total) };
        match evaluation.rows.iter().find(|row| row.name == *line) {
            Some(row) => Ok(read(&row.raw)? * if self.weighted { row.weight } else { 1.0 }),
            None => Ok(f64::NAN),
        }
    }

    fn format(&self) -> FormatOptions {
        FormatOptions::new(self.name()).precision(4)
    }
}

impl Metric for PenaltyMetric {
    type Input = PenaltyInput;

    fn name(&self) -> MetricName {
        self.name.clone()
    }

    fn attributes(&self) -> MetricAttributes {
        NumericAttributes { unit: None, higher_is_better: false }.into()
    }

    fn update(
        &mut self,
        item: &PenaltyInput,
        _metadata: &MetricMetadata,
    ) -> Result<SerializedEntry, TensorReadError> {
        let value = self.pick(&item.evaluation)?;
        self.state.update(value, 1);
        Ok(self.state.compute_update(self.format()))
    }

    fn compute(&mut self) -> Result<SerializedEntry, TensorReadError> {
        Ok(self.state.compute_final(self.format()))
    }

    fn clear(&mut self) {
        self.state.reset();
    }
}

impl Numeric for PenaltyMetric {
    fn value(&self) -> Option<NumericEntry> {
        Some(self.state.current_value())
    }

    fn running_value(&self) -> Option<NumericEntry> {
        Some(self.state.running_value())
    }

    fn final_value(&self) -> NumericEntry {
        self.state.final_value()
    }
}
