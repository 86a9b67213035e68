//! `bin/stansummary`: CSV files of draws -> a table, and the same as CSV for clients.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use exmc_diagnose::{Draws, Summariser, quantile_of_sorted};
use exmc_draws::{StanCsv, read_stan_csv};

use crate::failure::Failure;
use crate::number::general;

const HELP: &str = "\
Usage: stansummary [OPTIONS] FILE.csv ...

  -a, --autocorr N          autocorrelations of chain N
  -c, --csv_filename FILE   write the table as CSV; the file must not exist
  -i, --include_param NAME  only this parameter (may be repeated)
  -p, --percentiles LIST    percentiles to report (5,50,95)
  -s, --sig_figs N          significant digits (2 on the screen, 6 in CSV)
";

/// What the arguments ask for.
struct Options {
    files: Vec<String>,
    csv: Option<String>,
    only: Vec<String>,
    percentiles: Vec<f64>,
    sig_figs: Option<usize>,
    autocorrelation: Option<usize>,
}

impl Options {
    fn read(args: &[String]) -> Result<Option<Self>, Failure> {
        let mut options = Self {
            files: Vec::new(),
            csv: None,
            only: Vec::new(),
            percentiles: vec![5.0, 50.0, 95.0],
            sig_figs: None,
            autocorrelation: None,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if !arg.starts_with('-') {
                options.files.push(arg.clone());
                continue;
            }
            let (key, inline) = match arg.split_once('=') {
                Some((key, value)) => (key, Some(value.to_owned())),
                None => (arg.as_str(), None),
            };
            let mut value = || {
                let given = inline.clone().or_else(|| args.next().cloned());
                given.ok_or_else(|| Failure::new(format!("stansummary: `{key}` lacks its value")))
            };
            let wrong =
                |text: &str| Failure::new(format!("stansummary: `{text}` is no value of `{key}`"));
            match key {
                "-h" | "--help" => return Ok(None),
                "-c" | "--csv_filename" => options.csv = Some(value()?),
                "-i" | "--include_param" => options.only.push(dotted(&value()?)),
                "-s" | "--sig_figs" => {
                    let text = value()?;
                    let n = text.trim().parse().ok().filter(|n| (1..=18).contains(n));
                    options.sig_figs = Some(n.ok_or_else(|| wrong(&text))?);
                }
                "-a" | "--autocorr" => {
                    let text = value()?;
                    let n = text.trim().parse().ok().filter(|n| *n > 0);
                    options.autocorrelation = Some(n.ok_or_else(|| wrong(&text))?);
                }
                "-p" | "--percentiles" => {
                    let text = value()?;
                    let list = text.split(',').filter(|part| !part.trim().is_empty());
                    options.percentiles = list
                        .map(|part| part.trim().parse().ok().filter(|p| (0.0..=100.0).contains(p)))
                        .collect::<Option<_>>()
                        .ok_or_else(|| wrong(&text))?;
                }
                _ => return Err(Failure::new(format!("stansummary: unknown option `{arg}`"))),
            }
        }
        Ok(Some(options))
    }
}

/// `theta[1,2]` -> `theta.1.2`.
fn dotted(name: &str) -> String {
    name.replace(['[', ','], ".").replace(']', "")
}

/// `theta.1.2` -> `theta[1,2]`; parts of tuples stay apart.
fn bracketed(name: &str) -> String {
    let part = |part: &str| match part.split_once('.') {
        Some((base, index)) => format!("{base}[{}]", index.replace('.', ",")),
        None => part.to_owned(),
    };
    name.split(':').map(part).collect::<Vec<_>>().join(":")
}

/// A column of the files: its name and each chain's draws.
struct Column {
    name: String,
    chains: Vec<Vec<f64>>,
}

pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let Some(options) = Options::read(args)? else { return Ok(put(HELP)?) };
    if options.files.is_empty() {
        return Err(Failure::new(format!("stansummary: no CSV file is given\n\n{HELP}")));
    }
    if let Some(path) = options.csv.as_deref().filter(|path| Path::new(path).exists()) {
        return Err(Failure::new(format!("--csv_filename: Path already exists: {path}")));
    }
    let read = read_stan_csv(&options.files)?;
    let columns = columns(&read, &options)?;
    let seconds: f64 = read.posterior.chains.iter().map(|c| c.sampling_seconds).sum();
    let mut names =
        vec!["Mean".to_owned(), "MCSE".to_owned(), "StdDev".to_owned(), "MAD".to_owned()];
    names.extend(options.percentiles.iter().map(|p| format!("{}%", general(*p, 6))));
    names.extend(["ESS_bulk", "ESS_tail", "ESS_bulk/s", "R_hat"].map(str::to_owned));
    let rows: Vec<(String, Vec<f64>)> = columns
        .iter()
        .map(|column| (bracketed(&column.name), statistics(column, &options.percentiles, seconds)))
        .collect();
    put(&screen(&read, &names, &rows, options.sig_figs.unwrap_or(2)))?;
    if let Some(chain) = options.autocorrelation {
        put(&autocorrelations(&columns, chain)?)?;
    }
    if let Some(path) = &options.csv {
        let digits = options.sig_figs.unwrap_or(6);
        let mut text = String::from("name");
        names.iter().for_each(|name| _ = write!(text, ",\"{name}\""));
        text.push('\n');
        for (name, values) in &rows {
            let _ = write!(text, "\"{name}\"");
            values.iter().for_each(|x| _ = write!(text, ",{}", general(*x, digits)));
            text.push('\n');
        }
        let timing = timing(&read).lines().map(|line| format!("# {line}\n")).collect::<String>();
        fs::write(path, text + &timing).map_err(|e| Failure::unwritable(Path::new(path), &e))?;
    }
    Ok(())
}

/// The columns that are asked for: `lp__`, the sampler's, the model's.
fn columns(read: &StanCsv, options: &Options) -> Result<Vec<Column>, Failure> {
    let posterior = &read.posterior;
    let width = posterior.width();
    let n = posterior.chains.iter().map(|c| c.infos.len()).min().unwrap_or(0);
    let order = exmc_draws::file_order(&posterior.variables);
    let names = exmc_draws::file_names(&posterior.variables);
    let mut all: Vec<Column> = names
        .into_iter()
        .zip(order)
        .map(|(name, place)| {
            let values_of = |values: &[f64]| (0..n).map(|k| values[k * width + place]).collect();
            Column { name, chains: posterior.chains.iter().map(|c| values_of(&c.values)).collect() }
        })
        .collect();
    if read.has_statistics {
        let statistic = |name: &str, value_of: fn(&exmc_infer::Info) -> f64| Column {
            name: name.to_owned(),
            chains: posterior
                .chains
                .iter()
                .map(|c| c.infos.iter().take(n).map(value_of).collect())
                .collect(),
        };
        let statistics = [
            statistic("accept_stat__", |i| i.accept_stat),
            statistic("stepsize__", |i| i.step_size),
            statistic("treedepth__", |i| f64::from(i.tree_depth)),
            statistic("n_leapfrog__", |i| f64::from(i.n_steps)),
            statistic("divergent__", |i| f64::from(u8::from(i.divergent))),
            statistic("energy__", |i| i.energy),
        ];
        let position = usize::from(all.first().is_some_and(|c| c.name == "lp__"));
        all.splice(position..position, statistics);
    }
    if options.only.is_empty() {
        return Ok(all);
    }
    let missing: Vec<&str> = options
        .only
        .iter()
        .filter(|name| !all.iter().any(|c| c.name == **name))
        .map(String::as_str)
        .collect();
    if !missing.is_empty() {
        let missing = missing.join("', '");
        return Err(Failure::new(format!(
            "--include_param: Unrecognized parameter(s): '{missing}'"
        )));
    }
    all.retain(|c| c.name.ends_with("__") || options.only.contains(&c.name));
    Ok(all)
}

fn statistics(column: &Column, percentiles: &[f64], seconds: f64) -> Vec<f64> {
    let chains: Vec<&[f64]> = column.chains.iter().map(Vec::as_slice).collect();
    let sorted = |mut all: Vec<f64>| {
        all.sort_by(f64::total_cmp);
        all
    };
    let all = sorted(chains.concat());
    let Ok(draws) = Draws::new(&chains) else { return vec![f64::NAN; 8 + percentiles.len()] };
    let summary = Summariser::new().summary(&draws);
    let median = quantile_of_sorted(&all, 0.5);
    let distances = sorted(all.iter().map(|x| (x - median).abs()).collect());
    // 1/Phi^{-1}(3/4), so that it estimates the deviation of normal draws.
    let mad = 1.482_602_218_505_602 * quantile_of_sorted(&distances, 0.5);
    let mut row = vec![summary.mean, summary.mcse_mean, summary.sd, mad];
    row.extend(percentiles.iter().map(|p| quantile_of_sorted(&all, p / 100.0)));
    let rate = if seconds > 0.0 { summary.ess_bulk / seconds } else { f64::NAN };
    row.extend([summary.ess_bulk, summary.ess_tail, rate, summary.rhat]);
    row
}

fn timing(read: &StanCsv) -> String {
    let chains = &read.posterior.chains;
    let draws: Vec<String> = chains.iter().map(|c| c.infos.len().to_string()).collect();
    let list = |seconds_of: &dyn Fn(&exmc_draws::ChainDraws) -> f64| {
        let parts: Vec<String> = chains.iter().map(|c| general(seconds_of(c), 3)).collect();
        let total: f64 = chains.iter().map(seconds_of).sum();
        format!("({}) seconds, {} seconds total", parts.join(", "), general(total, 3))
    };
    format!(
        "{} chains: each with iter=({}); {} draws in all.\n\nWarmup took {}\nSampling took {}\n",
        chains.len(),
        draws.join(","),
        chains.iter().map(|c| c.infos.len()).sum::<usize>(),
        list(&|c| c.warmup_seconds),
        list(&|c| c.sampling_seconds),
    )
}

/// The table for people.
fn screen(read: &StanCsv, names: &[String], rows: &[(String, Vec<f64>)], digits: usize) -> String {
    let model = read.model.as_deref().unwrap_or("unknown");
    let mut out = format!("Inference for Stan model: {model}_model\n{}\n", timing(read));
    let first = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max(4);
    let cells: Vec<Vec<String>> =
        rows.iter().map(|(_, row)| row.iter().map(|x| general(*x, digits)).collect()).collect();
    let width =
        |k: usize| cells.iter().map(|row| row[k].len()).max().unwrap_or(0).max(names[k].len()) + 2;
    let widths: Vec<usize> = (0..names.len()).map(width).collect();
    let _ = write!(out, "{:first$}", "");
    names.iter().zip(&widths).for_each(|(name, width)| _ = write!(out, "{name:>width$}"));
    out.push('\n');
    for ((name, _), row) in rows.iter().zip(&cells) {
        let _ = write!(out, "{name:<first$}");
        row.iter().zip(&widths).for_each(|(cell, width)| _ = write!(out, "{cell:>width$}"));
        out.push('\n');
    }
    out.push_str(
        "\nESS_bulk, ESS_tail and R_hat are rank-normalised (Vehtari et al. 2021): for each \
         parameter,\nESS is a crude measure of effective sample size, and R_hat is the potential \
         scale reduction\nfactor on split chains (at convergence, R_hat=1).\n",
    );
    out
}

fn autocorrelations(columns: &[Column], chain: usize) -> Result<String, Failure> {
    let mut out = format!("\nAutocorrelations of chain {chain}, by lag\n");
    for column in columns.iter().filter(|c| !c.name.ends_with("__")) {
        let draws = column.chains.get(chain - 1).ok_or_else(|| {
            let n = column.chains.len();
            Failure::new(format!("--autocorr: there are {n} chains, and no number {chain}"))
        })?;
        let all = exmc_diagnose::autocorrelation(draws);
        let shown: Vec<String> = all.iter().take(20).map(|x| general(*x, 2)).collect();
        let _ = writeln!(out, "{}: {}", bracketed(&column.name), shown.join(" "));
    }
    Ok(out)
}

pub(super) fn put(text: &str) -> std::io::Result<()> {
    std::io::stdout().lock().write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelled_both_ways() {
        assert_eq!(bracketed("theta.1.2"), "theta[1,2]");
        assert_eq!(bracketed("t.2:1.3"), "t[2]:1[3]");
        assert_eq!(dotted("theta[1,2]"), "theta.1.2");
    }

    #[test]
    fn options_take_their_values_in_both_forms() {
        let args = ["--percentiles= 1,50", "--sig_figs", "4", "a.csv"].map(str::to_owned);
        let options = Options::read(&args).unwrap().unwrap();
        assert_eq!(options.percentiles, [1.0, 50.0]);
        assert_eq!((options.sig_figs, options.files.len()), (Some(4), 1));
        let wrong = ["-s".to_owned(), "20".to_owned()];
        assert!(Options::read(&wrong).err().unwrap().to_string().contains("`20`"));
    }

    /// Values of R's `mad`, `quantile` and `sd` for 1, 2, 4, 8.
    #[test]
    fn statistics_are_those_of_r() {
        let column = Column { name: "x".into(), chains: vec![vec![1.0, 2.0, 4.0, 8.0]] };
        let row = statistics(&column, &[25.0], 2.0);
        assert_eq!(row[0], 3.75);
        assert!((row[2] - 3.095_695_936_834_452).abs() < 1e-12);
        assert!((row[3] - 2.223_903_327_758_403).abs() < 1e-12);
        assert_eq!(row[4], 1.75);
    }
}
