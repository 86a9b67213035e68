//! Draws in the order they were made, beside how each chain's ranks spread.

use exmc_fault::{Fault, planted};

use super::{explain_chains, names_of};
use crate::figure::{Axis, Figure, Key, Mark, Marker, Panel, Style};
use crate::parameter::{Parameter, SamplerStatistics};
use crate::statistics::{pooled_ranks, rank_counts};

/// Bins of ranks.
const BINS: usize = 20;

/// Trace and rank bars of each parameter: left the draws of all chains, with divergent transitions
/// marked below; right how many of each chain's draws have small, middle and large ranks among all
/// draws. Chains that agree have flat bars.
///
/// **Reference**: Vehtari et al. 2021, *Bayesian Analysis* 16, section 5.
pub fn trace_plot(parameters: &[Parameter], statistics: Option<&SamplerStatistics>) -> Figure {
    let mut figure = Figure::new(
        "Trace and ranks",
        format!(
            "Draws of {} by iteration, one line a chain, and bars of each chain's ranks among all \
             draws. Chains that have converged look alike and have flat bars near the dashed line.",
            names_of(parameters)
        ),
    );
    figure.columns = vec![1.7, 1.0];
    figure.panel_height = 130.0;
    explain_chains(&mut figure, parameters.first().map_or(0, |p| p.chains().len()));
    let mut any_divergence = false;
    for (k, parameter) in parameters.iter().enumerate() {
        let is_last = k + 1 == parameters.len();
        let label = |text: &str| if is_last { text.to_owned() } else { String::new() };
        let mut trace = Panel::new(parameter.name(), Axis::new(label("draw")), Axis::new(""));
        let n = parameter.chains()[0].len();
        trace.x = trace.x.between(0.0, n.max(2) as f64 - 1.0);
        for (c, chain) in parameter.chains().iter().enumerate() {
            let points = chain.iter().enumerate().map(|(t, x)| (t as f64, *x)).collect();
            trace.marks.push(Mark::Line {
                points,
                style: Style::series(c).solid().width(0.8).opacity(0.8),
            });
        }
        let low = parameter.sorted().first().copied();
        if let (Some(statistics), Some(low)) = (statistics, low) {
            let chains = statistics.divergent.iter().flat_map(|chain| chain.iter().enumerate());
            let divergences: Vec<(f64, f64)> = chains
                .filter(|(_, is)| **is && !planted(Fault::LostDivergences))
                .map(|(t, _)| (t as f64, low))
                .collect();
            if !divergences.is_empty() {
                any_divergence = true;
                let style = Style::foreground().width(5.0);
                trace.marks.push(Mark::Points { points: divergences, marker: Marker::Tick, style });
            }
        }
        figure.panels.push(trace);
        figure.panels.push(rank_bars(parameter, &label("rank (share of all draws)")));
    }
    if any_divergence {
        let style = Style::foreground().width(5.0);
        figure.explain("divergent transition", Key::Point(Marker::Tick), style);
    }
    figure
}

fn rank_bars(parameter: &Parameter, x_label: &str) -> Panel {
    let ranks = pooled_ranks(parameter.chains());
    let total = ranks.iter().map(Vec::len).sum();
    let bins = BINS.min(ranks[0].len());
    let edges: Vec<f64> = (0..=bins).map(|k| k as f64 / bins as f64).collect();
    let mut panel = Panel::new("", Axis::new(x_label).between(0.0, 1.0), Axis::new("draws"));
    let expected = ranks[0].len() as f64 / bins as f64;
    panel.marks.push(Mark::Rule {
        vertical: false,
        value: expected,
        style: Style::muted().dashed(1),
    });
    for (c, chain) in ranks.iter().enumerate() {
        let heights = rank_counts(chain, total, bins).into_iter().map(|n| n as f64).collect();
        let style = Style::series(c).width(1.3);
        panel.marks.push(Mark::Bars { edges: edges.clone(), heights, filled: false, style });
    }
    panel
}
