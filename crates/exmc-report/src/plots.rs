//! A fit -> the figures of its page, as many as are readable whatever the number of parameters.

use exmc_diagnose::Summary;
use exmc_plot::figures;
use exmc_plot::statistics::Interval;
use exmc_plot::{Figure, Parameter, SamplerStatistics, SvgOptions, parameters, svg};

use crate::fit::Fit;

/// Most parameters that are shown one by one.
const ONE_BY_ONE: usize = 6;
/// Most rows of a forest; longer arrays are drawn over their index.
const ROWS: usize = 40;
/// Most arrays that are drawn over their index.
const ARRAYS: usize = 6;
/// Most parameters whose prior is shown.
const PRIORS: usize = 12;
/// Probability of intervals.
const PROBABILITY: f64 = 0.9;

/// Widths of an image in pixels, on wide screens and on narrow ones.
const WIDTHS: [(&str, f64); 2] = [("broad", 760.0), ("narrow", 328.0)];

/// An image for the page, once for wide screens and once for narrow ones.
pub(crate) fn image(figure: &Figure, id: &str) -> String {
    let one = |(class, width): (&str, f64)| {
        let id = if class == "broad" { id.to_owned() } else { format!("{id}-{class}") };
        let options = SvgOptions { width, styled: false, id, ..SvgOptions::default() };
        format!("<div class=\"{class}\">\n{}</div>", svg(figure, &options))
    };
    format!("<figure>{}</figure>\n", WIDTHS.map(one).concat())
}

/// The columns whose R-hat is largest, worst first, of those that vary; at most `most`.
pub(crate) fn worst(summaries: &[(String, Summary)], most: usize) -> Vec<String> {
    let mut all: Vec<&(String, Summary)> =
        summaries.iter().filter(|(_, s)| s.rhat.is_finite() && s.sd > 0.0).collect();
    all.sort_by(|a, b| b.1.rhat.total_cmp(&a.1.rhat));
    all.into_iter().take(most).map(|(name, _)| name.clone()).collect()
}

/// Figures of health: all parameters at once, the worst ones, energies.
pub(crate) fn health_figures(fit: &Fit, summaries: &[(String, Summary)]) -> Vec<Figure> {
    let posterior = fit.posterior();
    let mut made = vec![figures::overview_plot(summaries, posterior.usable_chains().len())];
    let shown: Vec<(String, Summary)> =
        summaries.iter().filter(|(name, _)| fit.is_shown(name)).cloned().collect();
    let Ok(chosen) = parameters(posterior, &worst(&shown, 4)) else { return made };
    if chosen.is_empty() || summaries.is_empty() {
        return made;
    }
    let statistics = SamplerStatistics::of(posterior);
    made.push(figures::trace_plot(&chosen, fit.is_sampled().then_some(&statistics)));
    if chosen[0].chains().len() > 1 {
        made.push(figures::rank_plot(&chosen, 0.05));
    }
    if !fit.is_sampled() {
        return made;
    }
    made.push(figures::energy_plot(&statistics.energy));
    made.push(figures::ess_evolution_plot(&chosen[..chosen.len().min(3)]));
    if statistics.divergent.iter().flatten().any(|is| *is) {
        let flags = statistics.pooled_divergent();
        made.extend(figures::pair_plot(&chosen, Some(&flags)).ok());
    }
    made
}

/// Figures of the posterior: densities of the first parameters, a forest, long arrays by element.
pub(crate) fn posterior_figures(fit: &Fit) -> Vec<Figure> {
    let posterior = fit.posterior();
    let parameters_of = |names: Vec<String>| parameters(posterior, &names).unwrap_or_default();
    let all = posterior.variables.iter().filter(|v| !v.is_empty() && fit.is_shown(&v.name));
    let (short, long): (Vec<_>, Vec<_>) = all.partition(|v| v.len() <= ROWS);
    let varies = |p: &Parameter| {
        let sorted = p.sorted();
        sorted.first() < sorted.last()
    };
    let mut rows: Vec<Parameter> = Vec::new();
    for variable in short {
        if rows.len() + variable.len() <= ROWS {
            rows.extend(parameters_of(vec![variable.name.clone()]).into_iter().filter(varies));
        }
    }
    let mut made = Vec::new();
    // Scalars tell most; elements of arrays follow.
    let is_scalar = |p: &&Parameter| !p.name().contains('[');
    let scalars = rows.iter().filter(is_scalar).chain(rows.iter().filter(|p| !is_scalar(p)));
    let first: Vec<Parameter> = scalars.take(ONE_BY_ONE).cloned().collect();
    if !first.is_empty() {
        made.push(figures::posterior_plot(&first, Interval::EqualTailed, PROBABILITY));
    }
    if rows.len() > 1 {
        let runs = [(String::new(), rows)];
        made.extend(figures::forest_plot(&runs, Interval::EqualTailed, (0.5, PROBABILITY)).ok());
    }
    let arrays: Vec<(String, Vec<Parameter>)> = long
        .into_iter()
        .take(ARRAYS)
        .map(|v| (v.name.clone(), parameters_of(vec![v.name.clone()])))
        .collect();
    if !arrays.is_empty() {
        made.push(figures::forest_by_index_plot(
            &arrays,
            Interval::EqualTailed,
            (0.5, PROBABILITY),
        ));
    }
    made
}

/// Runs beside each other, of the parameters that the first one has in common with any other.
pub(crate) fn comparison_figure(fits: &[Fit]) -> Option<Figure> {
    let first = fits.first()?;
    let shared: Vec<String> = first
        .posterior()
        .column_names()
        .into_iter()
        .filter(|name| first.is_shown(name))
        .filter(|name| fits[1..].iter().any(|f| f.posterior().column_names().contains(name)))
        .take(30)
        .collect();
    let runs: Vec<(String, Vec<Parameter>)> = fits
        .iter()
        .map(|fit| {
            let known = fit.posterior().column_names();
            let names: Vec<String> = shared.iter().filter(|n| known.contains(n)).cloned().collect();
            let found =
                if names.is_empty() { Ok(Vec::new()) } else { parameters(fit.posterior(), &names) };
            (fit.label.clone(), found.unwrap_or_default())
        })
        .collect();
    figures::forest_plot(&runs, Interval::EqualTailed, (0.5, PROBABILITY)).ok()
}

/// Figures of predictive checks.
pub(crate) fn check_figures(fit: &Fit) -> Vec<Figure> {
    let mut made = Vec::new();
    for (name, check) in &fit.checks {
        let mut figure = if check.is_whole() {
            figures::rootogram_plot(check, PROBABILITY)
                .unwrap_or_else(|_| figures::predictive_ecdf_plot(check, PROBABILITY))
        } else {
            figures::predictive_density_plot(check)
        };
        figure.title = format!("{}: {name}", figure.title);
        made.push(figure);
    }
    made
}

/// Figures of leave-one-out cross-validation.
pub(crate) fn loo_figures(fit: &Fit) -> Vec<Figure> {
    let mut made = Vec::new();
    if let Some(loo) = &fit.loo {
        made.push(figures::pareto_k_plot(&loo.pareto_k, loo.limit));
        if let Some(pit) = &loo.pit {
            made.extend(figures::loo_pit_plot(pit, 0.05).ok());
        }
    }
    made
}

/// Prior and posterior of the parameters of which there are prior draws, as many as are readable.
pub(crate) fn prior_figures(fit: &Fit) -> Vec<Figure> {
    let shown = &fit.prior[..fit.prior.len().min(PRIORS)];
    let names: Vec<String> = shown.iter().map(|p| p.name().to_owned()).collect();
    let posterior = parameters(fit.posterior(), &names).unwrap_or_default();
    if posterior.is_empty() {
        return Vec::new();
    }
    figures::prior_posterior_plot(&posterior, shown).into_iter().collect()
}
