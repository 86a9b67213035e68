//! `method=diagnose test=gradient`: the gradient at a start, beside finite differences.

use exmc::advanced::density::{DensityModel, LogDensity};
use exmc::advanced::optimize;
use exmc::infer::OptimizeConfig;

use super::csv::Csv;
use super::inputs::Inits;
use super::{Density, Run};
use crate::console::say;
use crate::failure::Failure;
use crate::number::general;

pub(super) fn run(run: &Run<'_>) -> Result<(), Failure> {
    let args = run.arguments;
    let epsilon = args.real("method/diagnose/test/gradient/epsilon");
    let bound_of_error = args.real("method/diagnose/test/gradient/error");
    let model = run.bind(Density::Written { jacobian: true })?;
    run.warn(&model);
    let bound = model.bound();
    let inits = Inits::read(args.text("init"));
    let start = inits.one(&model, run.id, &run.program)?;
    let mut config = OptimizeConfig::default();
    (config.seed, config.initial_radius) = (run.chain_seed(run.id), inits.radius);
    config.iterations = 0;
    let evaluated = optimize(bound, &start, &config, |_| std::ops::ControlFlow::Break(()))?;
    let mut density = bound.instance();
    let dim = evaluated.position.len();
    let mut gradient = vec![0.0; dim];
    let logp = density.logp_grad(&evaluated.position, &mut gradient)?;
    let mut lines = vec![
        "TEST GRADIENT MODE".to_owned(),
        String::new(),
        format!(" Log probability={}", general(logp, 6)),
        String::new(),
        format!(
            "{:>10}{:>16}{:>16}{:>16}{:>16}",
            "param idx", "value", "model", "finite diff", "error"
        ),
    ];
    let (mut unused, mut wrong) = (vec![0.0; dim], 0);
    let mut point = evaluated.position.clone();
    for (index, place) in model.stan_order().iter().enumerate() {
        let value = evaluated.position[*place];
        let mut near = |x: f64| {
            point[*place] = x;
            let logp = density.logp_grad(&point, &mut unused);
            point[*place] = value;
            logp.unwrap_or(f64::NAN)
        };
        let (below, above) = (value - epsilon, value + epsilon);
        let difference = (near(above) - near(below)) / (above - below);
        let error = gradient[*place] - difference;
        wrong += i32::from(error.is_nan() || error.abs() > bound_of_error);
        let [value, slope, difference, error] =
            [value, gradient[*place], difference, error].map(|x| general(x, 6));
        lines.push(format!("{index:>10}{value:>16}{slope:>16}{difference:>16}{error:>16}"));
    }
    let names = model.coordinate_names();
    let mut file = Csv::create(args.text("output/file"), run.digits, &run.header())?;
    file.comment(&format!("Coordinates: {}", names.join(", ")))?;
    for line in &lines {
        file.comment(line)?;
        say(line);
    }
    file.flush()?;
    if wrong == 0 {
        return Ok(());
    }
    Err(Failure::new(format!(
        "Error: {wrong} of {dim} slopes differ from finite differences by more than {}",
        general(bound_of_error, 6)
    )))
}
