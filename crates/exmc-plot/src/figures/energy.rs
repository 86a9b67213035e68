//! Energies and how far they change between transitions.

use exmc_diagnose::e_bfmi;

use super::shape::Shape;
use crate::decimal::short;
use crate::figure::{Axis, Figure, Key, Mark, Panel, Style};

/// The distribution of the energy around its mean, and of its change from one transition to the
/// next, over all chains. Changes much narrower than energies mean that the momentum's renewal
/// moves the chain too little: a small E-BFMI.
///
/// **Shapes**: `energy[c][t]`, in nats. **Reference**: Betancourt 2016, arXiv:1604.00695.
pub fn energy_plot(energy: &[Vec<f64>]) -> Figure {
    let bfmi: Vec<String> = energy.iter().map(|chain| short(e_bfmi(chain), 3)).collect();
    let mut figure = Figure::new(
        "Energy",
        format!(
            "Distribution of the energy around its mean and of its change between transitions. \
             E-BFMI by chain: {}.",
            bfmi.join(", ")
        ),
    );
    figure.panel_height = 200.0;
    let mut all: Vec<f64> = energy.iter().flatten().copied().filter(|e| e.is_finite()).collect();
    let mean = all.iter().sum::<f64>() / all.len().max(1) as f64;
    all.iter_mut().for_each(|e| *e -= mean);
    all.sort_by(f64::total_cmp);
    let steps = energy.iter().flat_map(|chain| chain.windows(2)).map(|w| w[1] - w[0]);
    let mut steps: Vec<f64> = steps.filter(|d| d.is_finite()).collect();
    steps.sort_by(f64::total_cmp);
    let mut panel = Panel::new("", Axis::new("nats"), Axis::new("density").unmarked());
    for (k, (label, values)) in
        [("energy minus its mean", &all), ("change between transitions", &steps)]
            .into_iter()
            .enumerate()
    {
        let style = Style::series(k);
        let shape = Shape::of(values);
        if let (Some(low), Some(high)) = (values.first(), values.last()) {
            let fill = style.opacity(if k == 0 { 0.2 } else { 0.12 });
            panel.marks.extend(shape.area(*low, *high, fill));
        }
        panel.marks.extend(shape.mark(style, 1.0));
        figure.explain(label, Key::Line, style);
    }
    panel.marks.retain(|m| !matches!(m, Mark::Rule { .. }));
    figure.notes.push(format!("E-BFMI by chain: {}.", bfmi.join(", ")));
    figure.panels.push(panel);
    figure
}
