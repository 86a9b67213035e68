//! burn-train's metrics of a recipe.
#![cfg(feature = "train")]
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod common;

use burn::data::dataloader::Progress;
use burn::train::metric::{
    Adaptor, Metric, MetricAttributes, MetricMetadata, Numeric, NumericEntry,
};
use common::{devices, tensor};
use penalties::{Line, Outputs, Penalty, PenaltyInput, PenaltyMetric, Recipe};

fn metadata() -> MetricMetadata {
    let progress = Progress { items_processed: 1, items_total: 2, unit: None };
    MetricMetadata { progress, iteration: Some(1), lr: None }
}

fn shown(entry: Option<NumericEntry>) -> f64 {
    match entry.unwrap() {
        NumericEntry::Value(value) | NumericEntry::Final(value) => value,
        NumericEntry::Aggregated { aggregated_value, .. } => aggregated_value,
    }
}

#[test]
fn metrics_show_lines_and_their_mean_over_batches() {
    let (_, d) = &devices()[0];
    let recipe = Recipe::new([
        Line::output("l1", 0.5, Penalty::L1, "x"),
        Line::output("l2", 2.0, Penalty::L2, "x"),
    ]);
    let mut metrics = [
        PenaltyMetric::total(),
        PenaltyMetric::line("l1"),
        PenaltyMetric::weighted("l2"),
        PenaltyMetric::line("none"),
    ];
    for values in [[1.0, 2.0], [3.0, 0.0]] {
        let outputs = Outputs::new().with("x", tensor(&values, [2], d));
        let evaluation = recipe.evaluate_outputs(&outputs, 0).unwrap();
        let input: PenaltyInput = evaluation.adapt();
        for metric in &mut metrics {
            metric.update(&input, &metadata()).unwrap();
        }
    }
    let now: Vec<f64> = metrics.iter().map(|m| shown(m.value())).collect();
    assert_eq!(now[..3], [19.5, 3.0, 18.0]);
    assert!(now[3].is_nan());
    assert_eq!(shown(metrics[0].running_value()), 0.5 * (11.5 + 19.5));
    assert_eq!(*metrics[1].name(), "Penalty l1");
    match metrics[0].attributes() {
        MetricAttributes::Numeric(numeric) => assert!(!numeric.higher_is_better),
        MetricAttributes::None => panic!("a penalty is a number"),
    }
}
