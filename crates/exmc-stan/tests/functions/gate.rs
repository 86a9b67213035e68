//! The tables against graph and host.

use exmc_exec::Executor;
use exmc_stan::check::signatures::exists;

use crate::functions::short::{Failure, Short};
use crate::functions::table::{Claim, Section, Want, sections};
use crate::functions::tolerance::{self, Tolerance};
use crate::functions::{graph, host};

pub(crate) const SCALAR: &str = "scalar.csv";
pub(crate) const DENSITIES: &str = "densities.csv";

/// What is wrong, in lines that name function, point and both numbers.
struct Wrong {
    short: Short,
    lines: Vec<String>,
    points: usize,
}

impl Wrong {
    fn finish(mut self) {
        self.lines.extend(self.short.idle());
        // A table that was not read must not look like success.
        assert!(self.points > 0, "no points");
        let (count, points) = (self.lines.len(), self.points);
        let most = std::env::var("EXMC_ALL").map_or(60, |_| usize::MAX);
        let lines: Vec<String> = self.lines.into_iter().take(most).collect();
        assert!(count == 0, "{count} lines about {points} claims:\n{}", lines.join("\n"));
    }

    /// Takes in what was wrong about one function.
    fn add(&mut self, who: &str, name: &str, mut failures: Vec<Failure>, claims: usize) {
        self.points += claims;
        failures.iter_mut().for_each(|failure| name.clone_into(&mut failure.name));
        self.lines.extend(self.short.beyond(who, name, &failures));
    }
}

/// A claim that does not hold: `who` is one of the ways to compute the function.
fn failure(who: &str, name: &str, point: &[f64], found: f64, wanted: Want) -> Failure {
    let error = match wanted {
        Want::Number(wanted) if found.is_finite() && wanted.is_finite() => {
            (found - wanted).abs() / if wanted == 0.0 { 1.0 } else { wanted.abs() }
        }
        _ => f64::INFINITY,
    };
    let wanted = match wanted {
        Want::Number(wanted) => format!("{wanted:?}"),
        other => format!("{other:?}"),
    };
    Failure {
        who: if who == "host" { "host" } else { "graph" },
        name: name.to_owned(),
        point: point.to_vec(),
        slope: None,
        error,
        text: format!("{who}: {name}{point:?} is {found:?}, expected {wanted}"),
    }
}

/// Sum of |argument times derivative|: by how much the value moves when every argument moves by its
/// size.
fn swing(claim: &Claim, section: &Section, args: &[f64]) -> f64 {
    let terms = section.reals().zip(&claim.slopes);
    terms
        .filter_map(|(k, slope)| slope.map(|s| (args[k] * s).abs()))
        .filter(|t| t.is_finite())
        .sum()
}

#[expect(clippy::disallowed_methods, reason = "what judges shares no code with exmc-math")]
/// The claim for `_cdf`, from the one for its logarithm.
fn exponential(claim: &Claim) -> Claim {
    let Want::Number(log) = claim.value else { return claim.clone() };
    let value = log.exp();
    let slopes = claim.slopes.iter().map(|s| s.map(|s| s * value)).collect();
    Claim { value: Want::Number(value), slopes }
}

fn check_graph(section: &Section, name: &str, claims: &[Claim]) -> Vec<Failure> {
    let points: Vec<&[f64]> = section.rows.iter().map(|row| row.args.as_slice()).collect();
    let tolerance = tolerance::tolerance_of(name);
    let is_density = name.contains("_lpdf") || name.contains("_lpmf");
    let mut wrong = Vec::new();
    for executor in [Executor::Reference, Executor::Native] {
        let who = if executor == Executor::Reference { "reference" } else { "native" };
        let all = match graph::evaluate(executor, name, &section.kinds, &points) {
            Ok(all) => all,
            Err(error) => {
                let text = format!("{who}: {name}: {error}");
                let nowhere = failure(who, name, &[], f64::NAN, Want::Any);
                wrong.push(Failure { text, ..nowhere });
                continue;
            }
        };
        for ((found, claim), point) in all.iter().zip(claims).zip(&points) {
            let none = found.rejected || found.value.is_nan();
            let impossible = found.value == f64::NEG_INFINITY;
            // At an infinite parameter Stan throws; in a density its limit will do, mostly minus
            // infinity.
            let endless = point[1.min(point.len())..].iter().any(|x| x.is_infinite());
            let right = match claim.value {
                Want::Any => true,
                Want::Error => none || endless,
                // An outcome that is NaN lies outside of every support.
                Want::Nothing => none || (is_density && impossible),
                Want::Impossible => none || impossible,
                Want::Number(wanted) => {
                    !found.rejected
                        && tolerance.accepts(found.value, wanted, swing(claim, section, point))
                }
            };
            if !right {
                let value = if found.rejected { f64::NAN } else { found.value };
                wrong.push(failure(who, name, point, value, claim.value));
                continue;
            }
            for ((k, slope), wanted) in section.reals().zip(&found.slopes).zip(&claim.slopes) {
                let Some(wanted) = wanted.filter(|w| w.is_finite()) else { continue };
                if !tolerance.accepts_slope(*slope, wanted, point[k]) {
                    let base_failure = failure(who, name, point, *slope, Want::Number(wanted));
                    let text = format!("derivative {k} by {}", base_failure.text);
                    wrong.push(Failure { slope: Some(k), text, ..base_failure });
                }
            }
        }
    }
    wrong
}

fn check_host(section: &Section, name: &str, claims: &[Claim]) -> Vec<Failure> {
    let points: Vec<&[f64]> = section.rows.iter().map(|row| row.args.as_slice()).collect();
    let tolerance: Tolerance = tolerance::tolerance_of(name);
    let is_density = name.contains("_lpdf") || name.contains("_lpmf");
    let mut wrong = Vec::new();
    for ((found, claim), point) in
        host::evaluate(name, &section.kinds, &points).iter().zip(claims).zip(&points)
    {
        let none = found.as_ref().map_or(true, |x| x.is_nan());
        let impossible = found.as_ref().is_ok_and(|x| *x == f64::NEG_INFINITY);
        let right = match claim.value {
            Want::Any => true,
            Want::Nothing => none || (is_density && impossible),
            Want::Error => found.is_err(),
            // At infinity Stan's own formulas give NaN.
            Want::Impossible => found.is_err() || impossible || (none && point[0].is_infinite()),
            Want::Number(wanted) => found
                .as_ref()
                .is_ok_and(|x| tolerance.accepts(*x, wanted, swing(claim, section, point))),
        };
        if !right {
            let value = found.as_ref().copied().unwrap_or(f64::NAN);
            let base_failure = failure("host", name, point, value, claim.value);
            let text = match found {
                Ok(_) => base_failure.text.clone(),
                Err(message) => format!("{}: {message}", base_failure.text),
            };
            wrong.push(Failure { text, ..base_failure });
        }
    }
    wrong
}

type Check = fn(&Section, &str, &[Claim]) -> Vec<Failure>;

fn of_functions(who: &str, file: &str, check: Check) {
    let mut wrong = Wrong { short: Short::read(), lines: Vec::new(), points: 0 };
    for section in sections(file) {
        for (k, function) in section.functions.iter().enumerate() {
            let claims: Vec<Claim> = section.rows.iter().map(|row| row.claims[k].clone()).collect();
            let name = format!("{}{function}", section.name);
            // Sections of one name with arguments of other kinds count apart.
            let kinds = if section.kinds.iter().all(|k| *k == crate::functions::table::Kind::Int) {
                "ints"
            } else {
                who
            };
            let label = if function.is_empty() && kinds == "ints" {
                format!("{name}:ints")
            } else {
                name.clone()
            };
            if exists(&name) {
                wrong.add(who, &label, check(&section, &name, &claims), claims.len());
            }
            let of_lower = format!("{}_cdf", section.name);
            if function == "_lcdf" && exists(&of_lower) {
                let claims: Vec<Claim> = claims.iter().map(exponential).collect();
                wrong.add(who, &of_lower, check(&section, &of_lower, &claims), claims.len());
            }
        }
    }
    wrong.finish();
}

#[test]
fn functions_of_graphs_are_those_of_stan() {
    of_functions("graph", SCALAR, check_graph);
}

#[test]
fn functions_of_values_are_those_of_stan() {
    of_functions("host", SCALAR, check_host);
}

#[test]
fn densities_of_graphs_are_those_of_stan() {
    of_functions("graph", DENSITIES, check_graph);
}

#[test]
fn densities_of_values_are_those_of_stan() {
    of_functions("host", DENSITIES, check_host);
}
