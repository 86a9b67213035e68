//! Which terms `~` leaves out of every density, for every choice of which arguments are data: Stan
//! Math's own numbers (`propto.py` writes them to `propto.txt`).

use std::fmt::Write as _;

use super::harness::{logp, program};
use exmc_stan::host::{Environment, Interpreter, Settings};
use exmc_stan::lower::{Options, lower};

const TABLE: &str = include_str!("propto.txt");
const SCRIPT: &str = include_str!("propto.py");

/// The arguments of a density as the script states them, one text each.
fn arguments(name: &str) -> Vec<String> {
    let line = SCRIPT.lines().find(|l| l.trim_start().starts_with(&format!("\"{name}\": (")));
    let line = line.unwrap_or_else(|| panic!("no arguments of {name}"));
    let list = line.split_once(", [").unwrap().1.rsplit_once("])").unwrap().0;
    let (mut all, mut depth, mut text) = (Vec::new(), 0, String::new());
    for c in list.chars() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                all.push(std::mem::take(&mut text).trim().to_owned());
                continue;
            }
            _ => {}
        }
        text.push(c);
    }
    all.push(text.trim().to_owned());
    all
}

/// A program whose arguments are data or transformed parameters with known values, as a pattern
/// says.
fn text(name: &str, pattern: &str) -> String {
    let (mut data, mut local, mut call) = (String::new(), String::new(), Vec::new());
    for (k, (argument, kind)) in arguments(name).iter().zip(pattern.chars()).enumerate() {
        let value = argument.trim_start_matches('(').trim_end_matches(')');
        let (ty, value) = match value.strip_prefix('"') {
            None => ("real".to_owned(), value.to_owned()),
            Some(rest) => {
                let (letter, value) = rest.split_once("\", ").unwrap();
                let rows = value.trim_start_matches('[').split("],").count();
                let columns = value.split(']').next().unwrap().split(',').count();
                match letter {
                    "i" => ("int".to_owned(), value.to_owned()),
                    "I" => (
                        format!("array[{columns}] int"),
                        format!("{{{}}}", &value[1..value.len() - 1]),
                    ),
                    "v" => (format!("vector[{columns}]"), format!("{value}'")),
                    _ => (format!("matrix[{rows}, {columns}]"), value.to_owned()),
                }
            }
        };
        let list = if kind == 'p' { &mut local } else { &mut data };
        let _ = writeln!(list, "  {ty} a{k} = {value};");
        call.push(format!("a{k}"));
    }
    let (outcome, rest) = call.split_first().unwrap();
    format!(
        "transformed data {{\n{data}}}\nparameters {{ real x; }}\ntransformed parameters {{\n{local}}}\nmodel {{ {outcome} ~ {name}({}); }}\n",
        rest.join(", ")
    )
}

#[test]
fn every_density_leaves_out_the_terms_that_stan_leaves_out() {
    let (mut compared, mut wrong) = (0, Vec::new());
    for line in TABLE.lines() {
        let [name, pattern, value] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("not a row: {line}");
        };
        let expected: f64 = value.parse().unwrap();
        let name = name.trim_end_matches("_lpdf").trim_end_matches("_lpmf");
        let text = text(name, pattern);
        let program = program(&text);
        let mut known = Environment::new(&program);
        let mut settings = Settings::default();
        settings.proportional = true;
        let mut host = Interpreter::new(&program, settings);
        host.transform_data(&mut known).unwrap();
        let lowered = lower(&program, &known, Options::default());
        let lowered = lowered.unwrap_or_else(|why| panic!("{why:?}\n{text}"));
        let found = logp(&lowered, &[0.3]);
        let interpreted = host.log_density(&mut known.clone(), &[0.3]);
        let interpreted = interpreted.unwrap_or_else(|why| panic!("{why:?}\n{text}"));
        let near = |found: f64| (found - expected).abs() <= 1e-9 * expected.abs().max(1.0);
        if !near(found) || !near(interpreted) {
            wrong.push(format!(
                "{name} {pattern}: Stan {expected}, lowered {found}, interpreted {interpreted}"
            ));
        }
        compared += 1;
    }
    assert!(compared > 470, "{compared} rows");
    assert!(wrong.is_empty(), "these differ:\n{}", wrong.join("\n"));
}
