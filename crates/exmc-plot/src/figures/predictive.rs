//! Observations against replications that the model predicts: densities and distributions.

use exmc_diagnose::quantile_of_sorted;

use super::shape::Shape;
use super::{percent, spread};
use crate::figure::{Axis, Figure, Key, Mark, Panel, Style};
use crate::parameter::PlotError;

/// Most replications that are shown.
const SHOWN: usize = 50;

/// Observations and what the posterior predicts for them.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictive {
    observed: Vec<f64>,
    replications: Vec<Vec<f64>>,
    group: Vec<String>,
}

impl Predictive {
    /// Observations with replications of all of them.
    ///
    /// **Shapes**: `replications[s][i]` predicts `observed[i]` in draw `s`.
    ///
    /// # Errors
    /// No observations or replications, or replications of another length; a value that is not
    /// finite.
    pub fn new(observed: Vec<f64>, replications: Vec<Vec<f64>>) -> Result<Self, PlotError> {
        if observed.is_empty() || replications.is_empty() {
            return Err(PlotError::new("a predictive check needs observations and replications"));
        }
        if let Some(wrong) = replications.iter().find(|r| r.len() != observed.len()) {
            let message = format!(
                "there are {} observations, but a replication has {} values",
                observed.len(),
                wrong.len()
            );
            return Err(PlotError::new(message));
        }
        if !replications.iter().chain([&observed]).flatten().all(|x| x.is_finite()) {
            return Err(PlotError::new("an observation or a replication is not finite"));
        }
        let group = vec![String::new(); observed.len()];
        Ok(Self { observed, replications, group })
    }

    /// The same with a group for each observation; figures then have a panel a group.
    ///
    /// # Errors
    /// Another number of groups than observations.
    pub fn by_group(self, group: Vec<String>) -> Result<Self, PlotError> {
        if group.len() != self.observed.len() {
            let (found, expected) = (group.len(), self.observed.len());
            return Err(PlotError::new(format!(
                "there are {expected} observations, but groups of {found}"
            )));
        }
        Ok(Self { group, ..self })
    }

    /// Whether all values are whole numbers.
    pub fn is_whole(&self) -> bool {
        self.replications.iter().chain([&self.observed]).flatten().all(|x| x.fract() == 0.0)
    }

    /// Whether all values are 0 or 1.
    pub fn is_binary(&self) -> bool {
        self.replications.iter().chain([&self.observed]).flatten().all(|x| *x == 0.0 || *x == 1.0)
    }

    /// The axis of the values.
    fn axis(&self) -> Axis {
        let all = || self.replications.iter().chain([&self.observed]).flatten().copied();
        let (low, high) =
            (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
        let axis = Axis::new("value");
        if self.is_whole() { axis.whole_numbers(low, high) } else { axis }
    }

    /// The observed values.
    pub(super) fn observed(&self) -> &[f64] {
        &self.observed
    }

    /// The replications.
    pub(super) fn replications(&self) -> &[Vec<f64>] {
        &self.replications
    }

    /// Groups in the order of their names, numbers in them by size, each with its part of the
    /// values.
    pub(super) fn groups(&self) -> Vec<(String, Self)> {
        let mut names: Vec<&String> = Vec::new();
        for name in &self.group {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.sort_by_key(|name| natural(name));
        let part = |name: &String, values: &[f64]| -> Vec<f64> {
            let members = self.group.iter().zip(values).filter(|(g, _)| *g == name);
            members.map(|(_, x)| *x).collect()
        };
        names
            .into_iter()
            .map(|name| {
                let observed = part(name, &self.observed);
                let replications = self.replications.iter().map(|r| part(name, r)).collect();
                let group = vec![name.clone(); observed.len()];
                (name.clone(), Self { observed, replications, group })
            })
            .collect()
    }

    pub(super) fn describe(&self) -> String {
        format!("{} observations and {} replications", self.observed.len(), self.replications.len())
    }
}

/// A name's texts and whole numbers in turn, so that 10 comes after 9.
fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts = vec![(String::new(), 0_u64)];
    let mut in_number = false;
    for c in name.chars() {
        let digit = c.to_digit(10).map(u64::from);
        if digit.is_none() && in_number {
            parts.push((String::new(), 0));
        }
        in_number = digit.is_some();
        let Some((text, number)) = parts.last_mut() else { continue };
        match digit {
            Some(digit) => *number = number.saturating_mul(10).saturating_add(digit),
            None => text.push(c),
        }
    }
    parts
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// The density of the observations over those of up to 50 replications, a panel a group. Whole
/// numbers have outlines of bars.
pub fn predictive_density_plot(check: &Predictive) -> Figure {
    let mut figure = Figure::new(
        "Posterior predictive check",
        format!(
            "Density of the observations (thick) over those of replications (thin): {}.",
            check.describe()
        ),
    );
    let (thin, thick) = (Style::series(0).width(0.6).opacity(0.35), Style::foreground().width(2.4));
    figure.explain("observed", Key::Line, thick);
    figure.explain("replicated", Key::Line, Style::series(0).width(1.0));
    // Measurements that were rounded are no counts: what predicts them tells.
    let shape = if check.is_whole() { Shape::of } else { Shape::of_measured };
    for (name, group) in check.groups() {
        let mut panel = Panel::new(name, group.axis(), Axis::new("density").unmarked());
        for s in spread(group.replications.len(), SHOWN) {
            panel.marks.extend(shape(&sorted(&group.replications[s])).mark(thin, 1.0));
        }
        panel.marks.extend(shape(&sorted(&group.observed)).mark(thick, 1.0));
        figure.panels.push(panel);
    }
    figure.in_columns(2)
}

/// The distribution function of the observations over the pointwise interval of those of the
/// replications, a panel a group.
pub fn predictive_ecdf_plot(check: &Predictive, probability: f64) -> Figure {
    let mut figure = Figure::new(
        "Posterior predictive distribution function",
        format!(
            "Distribution function of the observations over the pointwise {} interval of those of \
             replications: {}.",
            percent(probability),
            check.describe()
        ),
    );
    let (band, line) = (Style::series(0).opacity(0.25), Style::foreground().width(1.8));
    figure.explain("observed", Key::Line, line);
    figure.explain(
        format!("{} of replications, pointwise", percent(probability)),
        Key::Patch,
        band,
    );
    for (name, group) in check.groups() {
        let mut panel =
            Panel::new(name, group.axis(), Axis::new("share at or below").between(0.0, 1.0));
        let observed = sorted(&group.observed);
        let replications: Vec<Vec<f64>> = group.replications.iter().map(|r| sorted(r)).collect();
        let low = replications.iter().map(|r| r[0]).fold(observed[0], f64::min);
        let high =
            replications.iter().chain([&observed]).map(|r| r[r.len() - 1]).fold(low, f64::max);
        let x: Vec<f64> = (0..=100).map(|k| low + (high - low) * f64::from(k) / 100.0).collect();
        let share = |values: &[f64], threshold: f64| {
            values.partition_point(|v| *v <= threshold) as f64 / values.len() as f64
        };
        let tail = 0.5 * (1.0 - probability);
        let ends = x.iter().map(|threshold| {
            let shares: Vec<f64> = replications.iter().map(|r| share(r, *threshold)).collect();
            let shares = sorted(&shares);
            (quantile_of_sorted(&shares, tail), quantile_of_sorted(&shares, 1.0 - tail))
        });
        let (lower, upper): (Vec<f64>, Vec<f64>) = ends.unzip();
        let mut points = vec![(low, 0.0)];
        for (k, value) in observed.iter().enumerate() {
            points.push((*value, k as f64 / observed.len() as f64));
            points.push((*value, (k + 1) as f64 / observed.len() as f64));
        }
        points.push((high, 1.0));
        panel.marks.push(Mark::Band { x, lower, upper, style: band });
        panel.marks.push(Mark::Line { points, style: line });
        figure.panels.push(panel);
    }
    figure.in_columns(2)
}

#[cfg(test)]
mod tests {
    use super::natural;

    #[test]
    fn groups_come_in_the_order_that_people_count_in() {
        let mut names = ["group 10", "group 9", "b", "group 2", "a 1 c", "a 1 b"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["a 1 b", "a 1 c", "b", "group 2", "group 9", "group 10"]);
    }
}
