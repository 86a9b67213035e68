//! `method=sample algorithm=fixed_param`: the parameters stay where they start, and generated
//! quantities are drawn anew.

use std::time::Instant;

use exmc::advanced::{Recording, optimize};
use exmc::infer::OptimizeConfig;

use super::columns::{Columns, number, record};
use super::csv::Csv;
use super::inputs::Inits;
use super::{Density, Run};
use crate::console::say;
use crate::failure::Failure;

pub(super) fn run(run: &Run<'_>) -> Result<(), Failure> {
    let args = run.arguments;
    let model = run.bind(Density::Written { jacobian: true })?;
    run.warn(&model);
    let bound = model.bound();
    let n = args.count("method/sample/num_chains");
    let inits = Inits::read(args.text("init"));
    let starts = inits.values(&model, (n, run.id), &run.program)?;
    let draws = args.count("method/sample/num_samples");
    let (thin, refresh) = (args.count("method/sample/thin"), args.count("output/refresh"));
    for (k, output) in run.output_names(n).iter().enumerate() {
        let seed = run.chain_seed(run.id + k as u64);
        let prefix = if n > 1 { format!("Chain [{}] ", run.id + k as u64) } else { String::new() };
        // The start of a search that goes nowhere: values that are not given are drawn.
        let mut config = OptimizeConfig::default();
        (config.seed, config.initial_radius, config.iterations) = (seed, inits.radius, 0);
        let start = optimize(bound, &starts[k], &config, |_| std::ops::ControlFlow::Break(()))?;
        let columns = Columns::of_model(bound);
        let mut file = Csv::create(output, run.digits, &run.header())?;
        file.names(&columns.behind(&["lp__", "accept_stat__"]))?;
        let mut recording = Recording::new(bound, seed);
        let mut row = vec![0.0; recording.width()];
        let began = Instant::now();
        for index in 0..draws {
            let iteration = index + 1;
            if refresh > 0
                && (index == 0 || iteration == draws || iteration.is_multiple_of(refresh))
            {
                let (width, percent) = (draws.to_string().len(), 100 * iteration / draws);
                say(&format!(
                    "{prefix}Iteration: {iteration:>width$} / {draws} [{percent:>3}%]  (Sampling)"
                ));
            }
            if !index.is_multiple_of(thin) {
                continue;
            }
            record(&mut recording, number(index), &start.position, &mut row, &prefix)?;
            file.row([0.0, 0.0].into_iter().chain(columns.values(&row)))?;
        }
        let seconds = began.elapsed().as_secs_f64();
        let lines = [
            " Elapsed Time: 0 seconds (Warm-up)".to_owned(),
            format!("               {seconds:.6} seconds (Sampling)"),
            format!("               {seconds:.6} seconds (Total)"),
        ];
        file.comment("")?;
        lines.iter().try_for_each(|line| file.comment(line))?;
        file.comment("")?;
        file.flush()?;
        say("");
        lines.iter().for_each(|line| say(&format!("{prefix}{line}")));
    }
    Ok(())
}
