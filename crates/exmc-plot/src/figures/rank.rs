//! How far each chain's ranks are from uniform, with a band that all chains stay in together.

use super::{explain_chains, names_of, percent};
use crate::figure::{Axis, Figure, Key, Mark, Panel, Style};
use crate::parameter::Parameter;
use crate::statistics::{pooled_ranks, rank_band};

/// Most draws of a chain in the band's calculation.
const MOST: usize = 1000;
/// Steps of a band that are lower than this are seen as a line.
const JUMP: f64 = 0.01;

/// For each parameter and chain the empirical distribution of its ranks among all draws, minus the
/// uniform one; and the band that independent draws of chains which agree leave with probability
/// `alpha`, over all places and all chains together.
///
/// Draws of a chain are thinned to about their effective sample size (at most 1000), since the band
/// is of independent draws. **Edges**: a run of one chain has nothing to compare and no band.
/// **Reference**: Säilynoja, Bürkner, Vehtari 2022, *Statistics and Computing* 32.
pub fn rank_plot(parameters: &[Parameter], alpha: f64) -> Figure {
    let mut figure = Figure::new(
        "Rank ECDF difference",
        format!(
            "For {}: the share of a chain's draws below each rank minus what it would be if all \
             chains agreed. Lines that leave the shaded band show chains that do not agree; the \
             band holds all chains with probability {}.",
            names_of(parameters),
            percent(1.0 - alpha)
        ),
    );
    figure.panel_height = 150.0;
    explain_chains(&mut figure, parameters.first().map_or(0, |p| p.chains().len()));
    let band_style = Style::muted().opacity(0.25);
    figure.explain(format!("{} simultaneous band", percent(1.0 - alpha)), Key::Patch, band_style);
    let mut steps = Vec::new();
    // Parameters with the same number of draws share the band.
    let mut known = None;
    for parameter in parameters {
        let (thinned, step) = thin(parameter);
        steps.push(step);
        let (n, n_chains) = (thinned[0].len(), thinned.len());
        if !matches!(&known, Some((length, _)) if *length == n) {
            known = Some((n, rank_band(n, n_chains, alpha)));
        }
        let mut panel = Panel::new(
            parameter.name(),
            Axis::new("rank (share of all draws)").between(0.0, 1.0),
            Axis::new("ECDF difference"),
        );
        if let Some((_, Some(band))) = &known {
            panel.marks.push(band_mark(&band.places, &band.limits, n, n * n_chains, band_style));
        }
        panel.marks.push(Mark::Rule {
            vertical: false,
            value: 0.0,
            style: Style::muted().width(1.0),
        });
        for (c, ranks) in pooled_ranks(&thinned).iter().enumerate() {
            let points = ecdf_difference(ranks, n * n_chains);
            panel.marks.push(Mark::Line { points, style: Style::series(c) });
        }
        figure.panels.push(panel);
    }
    let most = steps.iter().copied().max().unwrap_or(1);
    if most > 1 {
        figure.notes.push(format!(
            "Draws are thinned to about their effective sample size (to one in {most} at most): the \
             band is of independent draws."
        ));
    }
    figure.in_columns(2)
}

/// Every k-th draw, so that about as many are left as they are worth; and k.
fn thin(parameter: &Parameter) -> (Vec<Vec<f64>>, usize) {
    let n = parameter.chains()[0].len();
    let ess = parameter.statistic(|d| exmc_diagnose::ess_bulk(d).min(exmc_diagnose::ess_tail(d)));
    let worth = if ess.is_finite() { ess / parameter.chains().len() as f64 } else { n as f64 };
    let step = ((n as f64 / worth.clamp(1.0, MOST as f64)).ceil() as usize)
        .clamp(1, n.div_ceil(10).max(1));
    let thinned = |chain: &Vec<f64>| chain.iter().copied().step_by(step).collect();
    (parameter.chains().iter().map(thinned).collect(), step)
}

/// Points (rank as share, ECDF minus that share) at each of a chain's ranks, before and after it.
fn ecdf_difference(ranks: &[f64], total: usize) -> Vec<(f64, f64)> {
    let mut sorted = ranks.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let mut points = vec![(0.0, 0.0)];
    for (k, rank) in sorted.iter().enumerate() {
        let share = rank / total as f64;
        points.push((share, k as f64 / n - share));
        points.push((share, (k + 1) as f64 / n - share));
    }
    points.push((1.0, 0.0));
    points
}

/// Limits of counts as a band of ECDF differences. Between two places a count, which does not fall,
/// is at least the fewest at the first of them and at most the most at the second.
pub(super) fn band_mark(
    places: &[usize],
    limits: &[(usize, usize)],
    n: usize,
    total: usize,
    style: Style,
) -> Mark {
    let share = |place: usize| place as f64 / total as f64;
    let (mut x, mut lower, mut upper) = (Vec::new(), Vec::new(), Vec::new());
    let mut add = |place: usize, fewest: usize, most: usize| {
        x.push(share(place));
        lower.push(fewest as f64 / n as f64 - share(place));
        upper.push(most as f64 / n as f64 - share(place));
    };
    let is_coarse = 1.0 / n as f64 > JUMP;
    let (mut before, mut fewest) = (0, 0);
    if !is_coarse {
        add(0, 0, 0);
    }
    for (place, (low, high)) in
        places.iter().copied().zip(limits.iter().copied()).chain([(total, (n, n))])
    {
        if is_coarse {
            add(before, fewest, high);
            add(place, fewest, high);
        } else {
            add(place, low, high);
        }
        (before, fewest) = (place, low);
    }
    Mark::Band { x, lower, upper, style }
}
