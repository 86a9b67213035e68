//! Draws against closed forms, the order of statements, and what is refused.

use std::sync::Arc;

use super::*;
use crate::check::check;
use crate::diagnostic::Severity;
use crate::source::Sources;
use crate::syntax::{NoIncludes, parse};

fn program(text: &str) -> Arc<Program> {
    let mut sources = Sources::single("model.stan", text);
    let (tree, mut found) = parse(&mut sources, &mut NoIncludes);
    let (program, more) = check(sources, &tree);
    found.extend(more);
    found.retain(|d| d.severity == Severity::Error);
    assert!(found.is_empty(), "{found:?}");
    Arc::new(program.unwrap())
}

fn simulator(text: &str, data: &str) -> Simulator {
    let recipe = Generative::new(&program(text)).unwrap();
    recipe.bind("data.json", data, 1).map_err(|e| e.diagnostics).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    crate::host::numeric::real_slice(value).unwrap().into_owned()
}

/// Of 4000 draws, each parameter's numbers and the data `y`'s.
fn draws(text: &str, data: &str) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let simulator = simulator(text, data);
    let program = program(text);
    let mut all = (Vec::new(), Vec::new());
    for number in 0..4000 {
        let draw = simulator.draw(7, number).unwrap();
        let env = crate::data::read_data(&program, "y", &draw.data).unwrap();
        let y = program.data.iter().find(|d| &*program.variable(d.variable).name == "y").unwrap();
        all.0.push(draw.parameters.iter().flat_map(|(_, v)| numbers(v)).collect());
        all.1.push(numbers(env.get(y.variable).unwrap()));
    }
    all
}

/// Asserts mean and variance of column `k`: 4.5 standard errors, one false alarm in 1e5.
fn has_moments(rows: &[Vec<f64>], k: usize, mean: f64, variance: f64) {
    let n = rows.len() as f64;
    let column: Vec<f64> = rows.iter().map(|row| row[k]).collect();
    let found = column.iter().sum::<f64>() / n;
    let spread = column.iter().map(|x| (x - found).powi(2)).sum::<f64>() / (n - 1.0);
    let fourth = column.iter().map(|x| (x - found).powi(4)).sum::<f64>() / n;
    let error = ((fourth - spread * spread) / n).sqrt();
    assert!((found - mean).abs() < 4.5 * (variance / n).sqrt(), "mean {found}, expected {mean}");
    assert!((spread - variance).abs() < 4.5 * error, "variance {spread}, expected {variance}");
}

#[test]
fn statements_are_drawn_in_the_order_of_dependence() {
    // y before theta before mu; marginally y has mean 3 and variance 4 + 1 + 9.
    let text = "data { int N; vector[N] y; } parameters { real mu; vector[N] theta; }
        transformed parameters { vector[N] twice = theta * 1; }
        model { y ~ normal(twice, 3); theta ~ normal(mu, 1); mu ~ normal(3, 2); }";
    let (parameters, y) = draws(text, r#"{"N": 2}"#);
    has_moments(&parameters, 0, 3.0, 4.0);
    has_moments(&parameters, 1, 3.0, 5.0);
    has_moments(&y, 1, 3.0, 14.0);
    // Numbers of one draw belong together: cov(mu, y) = 4.
    let products: Vec<Vec<f64>> =
        parameters.iter().zip(&y).map(|(p, y)| vec![(p[0] - 3.0) * (y[0] - 3.0)]).collect();
    let mean = products.iter().map(|p| p[0]).sum::<f64>() / 4000.0;
    // var of the product of jointly normal numbers: 4 * 14 + 4^2.
    assert!((mean - 4.0).abs() < 4.5 * (72.0_f64 / 4000.0).sqrt(), "{mean}");
}

#[test]
fn bounds_cut_off_and_loops_walk() {
    // Half-normal: mean s sqrt(2 / pi), variance s^2 (1 - 2 / pi).
    let text = "data { int N; array[N] real y; } parameters { real<lower=0> s; real<lower=0> t; }
        model { s ~ normal(0, 2); t ~ normal(0, s);
          y[1] ~ normal(0, 1); for (n in 2:N) y[n] ~ normal(0.5 * y[n - 1], 1); }";
    let (parameters, y) = draws(text, r#"{"N": 3}"#);
    let pi = std::f64::consts::PI;
    has_moments(&parameters, 0, 2.0 * (2.0 / pi).sqrt(), 4.0 * (1.0 - 2.0 / pi));
    // E t = E s sqrt(2 / pi); E t^2 = E s^2 = 4.
    let mean = 4.0 / pi;
    has_moments(&parameters, 1, mean, 4.0 - mean * mean);
    has_moments(&y, 2, 0.0, 1.0 + 0.25 * (1.0 + 0.25));
}

#[test]
fn bounds_that_depend_on_parameters_weigh_hyperparameters() {
    // The density is N(m | 0, 1) N(x | m, 1) on x > 0, so that m is skew normal with slope 1:
    // mean sqrt(1 / pi), variance 1 - 1 / pi.
    let text = "data { real y; } parameters { real m; real<lower=0> x; }
        model { m ~ normal(0, 1); x ~ normal(m, 1); y ~ normal(x, 1); }";
    let (parameters, _) = draws(text, "{}");
    let pi = std::f64::consts::PI;
    has_moments(&parameters, 0, (1.0 / pi).sqrt(), 1.0 - 1.0 / pi);
    // With the truncation written, the prior of m stays.
    let text = text.replace("x ~ normal(m, 1);", "x ~ normal(m, 1) T[0, ];");
    let (parameters, _) = draws(&text, "{}");
    has_moments(&parameters, 0, 0.0, 1.0);
}

#[test]
fn groups_of_numbers_are_drawn_together() {
    let text = "data { int N; array[N] int y; array[2] int counts; }
        parameters { simplex[3] p; cholesky_factor_corr[2] L; ordered[2] c; real<lower=1, upper=3> u;
          array[2] vector[2] b; matrix[2, 2] z; }
        model { p ~ dirichlet([1, 2, 3]'); L ~ lkj_corr_cholesky(2); c ~ normal(0, 1);
          b ~ multi_normal([1, 2]', [[2, 0], [0, 1]]); to_vector(z) ~ std_normal();
          counts ~ multinomial([0.5, 0.5]'); y ~ categorical(p); }";
    let (parameters, y) = draws(text, r#"{"N": 2, "counts": [3, 4]}"#);
    has_moments(&parameters, 1, 2.0 / 6.0, 2.0 * 4.0 / (36.0 * 7.0));
    assert!(parameters.iter().all(|row| row[7] < row[8] && (1.0..3.0).contains(&row[9])));
    // The smaller of two standard normal numbers.
    let pi = std::f64::consts::PI;
    has_moments(&parameters, 7, -1.0 / pi.sqrt(), 1.0 - 1.0 / pi);
    has_moments(&parameters, 9, 2.0, 4.0 / 12.0);
    has_moments(&parameters, 10, 1.0, 2.0);
    has_moments(&parameters, 13, 2.0, 1.0);
    has_moments(&parameters, 15, 0.0, 1.0);
    // P(y = k) is k / 6: mean 14/6, variance 36/6 - (14/6)^2.
    has_moments(&y, 1, 14.0 / 6.0, 6.0 - (14.0 / 6.0_f64).powi(2));
}

#[test]
fn densities_as_terms_and_linear_predictors_are_drawn() {
    let text = "data { int N; matrix[N, 1] x; vector[N] y; } parameters { real a; vector[1] b; }
        model { target += normal_lpdf(a | 1, 2); b ~ normal(0, 1);
          y ~ normal_id_glm(x, a, b, 0.5); }";
    let (parameters, y) = draws(text, r#"{"N": 2, "x": [[1], [2]]}"#);
    has_moments(&parameters, 0, 1.0, 4.0);
    has_moments(&y, 1, 1.0, 4.0 + 4.0 + 0.25);
}

#[test]
fn what_is_no_recipe_is_refused_where_it_stands() {
    let refused = |text: &str| {
        let program = program(text);
        let found = Generative::new(&program).unwrap_err();
        let first = &found[0];
        let place = first.span.start as usize..first.span.end as usize;
        (first.message.clone(), text[place].to_owned())
    };
    let model_text =
        |body: &str| format!("data {{ real y; }} parameters {{ real m; }} model {{ {body} }}");
    let cases = [
        ("target += -m^2; y ~ normal(m, 1); m ~ normal(0, 1);", "target", "target +="),
        ("y ~ normal(m, 1);", "no proper prior", "real m"),
        ("m ~ normal(0, 1); log(y) ~ normal(m, 1);", "computed", "log(y)"),
        ("real z = m; m ~ normal(0, 1); z ~ normal(0, 1);", "neither", "z"),
    ];
    for (body, says, expected_start) in cases {
        let (message, place) = refused(&model_text(body));
        assert!(message.contains(says), "{message}");
        assert!(place.starts_with(expected_start), "{place}");
    }
    let twice = model_text("m ~ normal(0, 1); m ~ normal(1, 1); y ~ normal(m, 1);");
    let recipe = Generative::new(&program(&twice)).unwrap();
    let found = recipe.bind("data", "{}", 1).unwrap_err();
    assert!(found.diagnostics[0].message.contains("second time"), "{found:?}");
}
