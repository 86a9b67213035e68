//! Model executables: files and exit codes, as CmdStan's clients see them. Everything runs inside
//! this process: what an executable does follows from the file behind it and from its arguments.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use exmc_cmdstan::dispatch;
use exmc_draws::{StanCsv, read_stan_csv};
use libm::log;

const COIN: &str = "data { int<lower=0> N; array[N] int<lower=0, upper=1> y; }
parameters { real<lower=0, upper=1> theta; }
model { theta ~ beta(1, 1); y ~ bernoulli(theta); }
generated quantities { int heads = bernoulli_rng(theta); real twice = 2 * theta; }
";

const COIN_DATA: &str = r#"{"N": 10, "y": [0, 1, 0, 0, 0, 0, 0, 0, 0, 1]}"#;

/// Two parameters whose order by name is not the one of the program, with unlike scales.
const SCALES: &str = "parameters { real z; real<lower=0> a; vector[2] m; } model { z ~ normal(0, 100); a ~ exponential(1); m ~ normal(0, 0.01); }";

/// A folder of files that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("exmc-cmdstan-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("image"), b"an image").unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.0.join(name), text).unwrap();
        self.path(name)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    /// Runs `stanc`.
    fn stanc(&self, args: &[&str]) -> bool {
        let args: Vec<String> =
            std::iter::once("bin/stanc").chain(args.iter().copied()).map(str::to_owned).collect();
        dispatch(&self.0.join("image"), &args) == Some(ExitCode::SUCCESS)
    }

    /// Makes an executable of a program.
    fn make(&self, name: &str, text: &str) {
        let program = self.write(&format!("{name}.stan"), text);
        assert!(self.stanc(&[&format!("--executable={}", self.path(name)), &program]));
    }

    /// Runs a model with its output in `OUT.csv` of this folder.
    fn run(&self, name: &str, args: &str) -> bool {
        let mut all = vec![format!("./{name}")];
        all.extend(args.split_whitespace().map(|arg| arg.replace("DIR", &self.path(""))));
        dispatch(&self.0.join(name), &all) == Some(ExitCode::SUCCESS)
    }

    fn csv(&self, name: &str) -> StanCsv {
        read_stan_csv(&[self.0.join(name)]).unwrap()
    }

    /// Values of a variable's first element in a file.
    fn column(&self, name: &str, variable: &str) -> Vec<f64> {
        let csv = self.csv(name);
        let width = csv.posterior.width();
        let offset = csv.posterior.variable(variable).unwrap().offset;
        csv.posterior.chains[0].values.chunks(width).map(|row| row[offset]).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn coin(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.make("coin", COIN);
    folder.write("coin.json", COIN_DATA);
    folder
}

/// Two heads in ten and a flat prior: beta(3, 9), whose mean is 1/4 and deviation 0.12. Of 1000
/// draws at least 200 are effective, so the mean's error is below 0.01; four of them are exceeded
/// once in 16 000.
#[test]
fn a_chain_is_written_as_cmdstan_writes_it() {
    let folder = coin("chain");
    assert!(
        folder
            .run("coin", "id=2 random seed=12 data file=DIRcoin.json output file=DIRo.csv sample")
    );
    let text = folder.read("o.csv");
    for line in [
        "# stan_version_major = 2\n",
        "# model = coin_model\n",
        "# method = sample (Default)\n",
        "#     num_samples = 1000 (Default)\n",
        "#         metric = diag_e (Default)\n",
        "# id = 2\n",
        "#   seed = 12\n",
        "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,theta,heads,twice\n",
        "# Adaptation terminated\n# Step size = ",
        "# Diagonal elements of inverse mass matrix:\n# ",
        "#  Elapsed Time: ",
    ] {
        assert!(text.contains(line), "{line}\n{text:.3000}");
    }
    let csv = folder.csv("o.csv");
    assert!(csv.has_statistics && csv.posterior.chains[0].infos.len() == 1000);
    let theta = folder.column("o.csv", "theta");
    assert!((mean(&theta) - 0.25).abs() < 0.04, "{}", mean(&theta));
    let twice = folder.column("o.csv", "twice");
    assert!(theta.iter().zip(&twice).all(|(t, w)| (2.0 * t - w).abs() < 1e-15));
    // Stan's lp__ leaves out the constants of `~`, which are none here.
    let exact = |t: f64| 2.0 * log(t) + 8.0 * log(1.0 - t) + log(t * (1.0 - t));
    let lp = folder.column("o.csv", "lp__");
    assert!(theta.iter().zip(&lp).all(|(t, lp)| (exact(*t) - lp).abs() < 1e-10));
}

#[test]
fn a_chains_draws_are_the_same_in_one_process_or_several() {
    let folder = coin("processes");
    let all = "random seed=7 data file=DIRcoin.json output file=DIRall.csv sample num_samples=50 num_warmup=60 num_chains=3 num_threads=2";
    assert!(folder.run("coin", all));
    let one = "id=2 random seed=7 data file=DIRcoin.json output file=DIRone.csv sample num_samples=50 num_warmup=60";
    assert!(folder.run("coin", one));
    let second = folder.column("all_2.csv", "theta");
    assert_eq!(second, folder.column("one.csv", "theta"));
    assert_ne!(second, folder.column("all_1.csv", "theta"));
    assert_eq!(folder.column("all_2.csv", "heads"), folder.column("one.csv", "heads"));
}

#[test]
fn warmup_draws_and_thinning_are_counted_as_clients_count_them() {
    let folder = coin("thin");
    let args = "data file=DIRcoin.json output file=DIRo.csv sig_figs=5 sample num_samples=101 num_warmup=51 save_warmup=1 thin=10";
    assert!(folder.run("coin", args));
    let csv = folder.csv("o.csv");
    let chain = &csv.posterior.chains[0];
    assert_eq!((chain.warmup_infos.len(), chain.infos.len()), (6, 11));
    let text = folder.read("o.csv");
    let row = text.lines().rfind(|line| !line.starts_with('#')).unwrap();
    let digits = |cell: &str| cell.chars().filter(char::is_ascii_digit).count();
    assert!(row.split(',').all(|cell| digits(cell) <= 8), "{row}");
}

/// A metric file is over Stan's coordinates in the order of the program, here z, a, m; without
/// adaptation it is written as it was read, and a metric in another order would make z, whose scale
/// is 100, hardly move.
#[test]
fn a_metric_file_is_obeyed_in_the_programs_order() {
    let folder = Folder::new("metric");
    folder.make("scales", SCALES);
    folder.write("metric.json", r#"{"inv_metric": [10000, 1.5, 0.0001, 0.0002]}"#);
    let args = "random seed=3 output file=DIRo.csv init=0.1 sample num_samples=400 num_warmup=100 algorithm=hmc metric=diag_e metric_file=DIRmetric.json stepsize=0.3 adapt engaged=0";
    assert!(folder.run("scales", args));
    let text = folder.read("o.csv");
    assert!(text.contains("# Step size = 0.3\n"), "{text:.2000}");
    let expected = "# Diagonal elements of inverse mass matrix:\n# 10000, 1.5, 0.0001, 0.0002\n";
    assert!(text.contains(expected), "{text:.3000}");
    // As in Stan, a warmup of less than 20 draws leaves it as it is.
    let short = "random seed=3 output file=DIRshort.csv sample num_samples=5 num_warmup=19 algorithm=hmc metric_file=DIRmetric.json";
    assert!(folder.run("scales", short));
    assert!(folder.read("short.csv").contains(expected));
    let z = folder.column("o.csv", "z");
    let deviation = (z.iter().map(|x| x * x).sum::<f64>() / z.len() as f64).sqrt();
    // The deviation is 100; of 400 draws about 400 are effective with this metric, so that its
    // error is 4 %.
    assert!((deviation / 100.0 - 1.0).abs() < 0.25, "{deviation}");
    let steps = folder.csv("o.csv").posterior.chains[0].infos.iter().map(|i| i.n_steps).max();
    assert!(steps < Some(64), "{steps:?}");
    let saved = "output file=DIRs.csv sample num_samples=10 num_warmup=300 adapt save_metric=1 algorithm=hmc metric=dense_e";
    assert!(folder.run("scales", saved));
    let json: serde_json::Value = serde_json::from_str(&folder.read("s_metric.json")).unwrap();
    assert_eq!(json["inv_metric"].as_array().unwrap().len(), 4);
    assert!(json["inv_metric"][0][0].as_f64().unwrap() > 100.0, "{json}");
    assert!(json["stepsize"].as_f64().unwrap() > 0.0);
}

/// A matrix is row by row for the sampler and column by column in the file, where the second
/// number is that of A[2, 1]: in another order it would hardly move.
#[test]
fn a_metric_file_is_read_column_by_column() {
    let folder = Folder::new("columns");
    let program =
        "parameters { matrix[2, 2] A; } model { to_vector(A) ~ normal(0, [1, 100, 1, 1]'); }";
    folder.make("square", program);
    folder.write("metric.json", r#"{"inv_metric": [1, 10000, 1, 1]}"#);
    let args = "random seed=3 output file=DIRo.csv init=0.1 sample num_samples=400 num_warmup=100 algorithm=hmc metric=diag_e metric_file=DIRmetric.json stepsize=0.3 adapt engaged=0";
    assert!(folder.run("square", args));
    let text = folder.read("o.csv");
    let mut rows = text.lines().filter(|line| !line.starts_with('#'));
    let column = rows.next().unwrap().split(',').position(|name| name == "A.2.1").unwrap();
    let a: Vec<f64> =
        rows.map(|row| row.split(',').nth(column).unwrap().parse().unwrap()).collect();
    let deviation = (a.iter().map(|x| x * x).sum::<f64>() / a.len() as f64).sqrt();
    // As above: an error of 4 %.
    assert!((deviation / 100.0 - 1.0).abs() < 0.25, "{deviation}");
}

/// Divergences are told where they are: a density with a wall makes them.
#[test]
fn divergences_are_written() {
    let folder = Folder::new("divergences");
    folder.make("wall", "parameters { vector[2] x; } model { x[1] ~ normal(0, 3); x[2] ~ normal(0, exp(2 * x[1])); }");
    let args = "random seed=1 output file=DIRo.csv sample num_samples=300 num_warmup=50 algorithm=hmc metric=unit_e stepsize=2 adapt engaged=0";
    assert!(folder.run("wall", args));
    let csv = folder.csv("o.csv");
    let divergent = csv.posterior.chains[0].infos.iter().filter(|i| i.divergent).count();
    assert!(divergent > 10, "{divergent}");
}

#[test]
fn what_is_integrated_out_counts_in_lp() {
    let folder = Folder::new("lp");
    let program = "data { vector[4] y; } parameters { real mu; real<lower=0> tau; vector[4] t; }
      model { mu ~ normal(0, 5); tau ~ normal(0, 2); t ~ normal(mu, tau); y ~ normal(t, 1); }";
    folder.make("levels", program);
    folder.write("d.json", r#"{"y": [1, 2, -1, 0.5]}"#);
    assert!(folder.run(
        "levels",
        "data file=DIRd.json output file=DIRo.csv sample num_samples=20 num_warmup=200"
    ));
    // The density at each draw, from the points themselves.
    let args = "data file=DIRd.json output file=DIRlp.csv sig_figs=17 log_prob constrained_params=DIRo.csv";
    assert!(folder.run("levels", args));
    let (sampled, again) = (folder.column("o.csv", "lp__"), folder.column("lp.csv", "lp__"));
    assert_eq!(sampled.len(), 20);
    assert!(sampled.iter().zip(&again).all(|(a, b)| (a - b).abs() < 1e-8), "{sampled:?} {again:?}");
    let text = folder.read("o.csv");
    let metric =
        text.lines().skip_while(|line| !line.contains("Diagonal elements")).nth(1).unwrap();
    assert_eq!(metric.split(',').count(), 6, "{metric}");
}

#[test]
fn fixed_parameters_and_models_without_any_are_run() {
    let folder = Folder::new("fixed");
    folder.make("rng", "generated quantities { real x = normal_rng(3, 1); }");
    assert!(folder.run(
        "rng",
        "random seed=4 output file=DIRf.csv sample num_samples=500 algorithm=fixed_param"
    ));
    let x = folder.column("f.csv", "x");
    // The mean of 500 draws has an error of 0.045.
    assert!((mean(&x) - 3.0).abs() < 0.25, "{}", mean(&x));
    assert!(folder.read("f.csv").contains("\nlp__,accept_stat__,x\n"));
    assert!(folder.run("rng", "random seed=4 output file=DIRh.csv sample num_samples=20"));
    assert!(folder.read("h.csv").contains("energy__,x\n# Adaptation terminated\n"));
}

/// The mode of beta(3, 9) is 1/5; that of the logit's density is 1/4.
#[test]
fn modes_are_found_with_and_without_jacobians() {
    let folder = coin("mode");
    for (jacobian, exact) in [(0, 0.2), (1, 0.25)] {
        let args = format!(
            "random seed=3 data file=DIRcoin.json output file=DIRo.csv optimize jacobian={jacobian} save_iterations=1"
        );
        assert!(folder.run("coin", &args));
        let theta = folder.column("o.csv", "theta");
        assert!(theta.len() > 2, "{theta:?}");
        // Stan's default tolerances end the search about so close.
        assert!((theta.last().unwrap() - exact).abs() < 1e-4, "{theta:?}");
        let converged = folder.column("o.csv", "converged__");
        let (last, steps) = converged.split_last().unwrap();
        assert!(*last >= 10.0 && steps.iter().all(|code| *code == 0.0), "{converged:?}");
        let lp = folder.column("o.csv", "lp__");
        assert!(lp.windows(2).all(|pair| pair[0] <= pair[1]), "{lp:?}");
    }
    let args = "random seed=3 data file=DIRcoin.json output file=DIRl.csv laplace mode=DIRo.csv draws=2000";
    assert!(folder.run("coin", args));
    // The approximation of the logit: mean log(1/3), variance 1/(12 * 3/16).
    let logit: Vec<f64> =
        folder.column("l.csv", "theta").iter().map(|t| log(t / (1.0 - t))).collect();
    let variance = logit.iter().map(|z| (z + log(3.0)).powi(2)).sum::<f64>() / 2000.0;
    assert!((variance * 12.0 * 3.0 / 16.0 - 1.0).abs() < 0.16, "{variance}");
    assert!(folder.read("l.csv").contains("\nlog_p__,log_q__,theta,heads,twice\n"));
    for algorithm in ["bfgs", "newton"] {
        let args = format!(
            "random seed=3 data file=DIRcoin.json output file=DIRo.csv optimize algorithm={algorithm}"
        );
        assert!(folder.run("coin", &args));
        assert!((folder.column("o.csv", "theta")[0] - 0.2).abs() < 1e-4, "{algorithm}");
    }
}

/// The density grows without bound as tau goes to zero: the last point is written, marked as no
/// mode, and clients that ask for it all the same look for the message's first words.
#[test]
fn a_density_without_a_mode_ends_with_a_failure() {
    let folder = Folder::new("no-mode");
    let program = "data { vector[3] y; } parameters { real mu; real<lower=0> tau; vector[3] t; }
      model { t ~ normal(mu, tau); y ~ normal(t, 10); }";
    folder.make("levels", program);
    folder.write("d.json", r#"{"y": [1, 2, 3]}"#);
    assert!(
        !folder.run("levels", "random seed=1 data file=DIRd.json output file=DIRo.csv optimize")
    );
    assert_eq!(folder.column("o.csv", "converged__"), [-1.0]);
    assert!(folder.column("o.csv", "tau")[0] < 1e-3);
}

/// $2\log\theta+8\log(1-\theta)$, with $\log\theta(1-\theta)$ where Jacobians count; the slope by
/// the logit is $3-12\theta$ or $2-10\theta$.
#[test]
fn log_densities_and_slopes_are_those_of_the_points() {
    let folder = coin("log-prob");
    let theta = 0.349_039_383_920_238_3_f64;
    folder.write("p.json", &format!("{{\"theta\": {theta}}}"));
    let plain = 2.0 * log(theta) + 8.0 * log(1.0 - theta);
    for (jacobian, exact, slope) in [
        (1, plain + log(theta * (1.0 - theta)), 3.0 - 12.0 * theta),
        (0, plain, 2.0 - 10.0 * theta),
    ] {
        let args = format!(
            "data file=DIRcoin.json output file=DIRo.csv sig_figs=17 log_prob constrained_params=DIRp.json jacobian={jacobian}"
        );
        assert!(folder.run("coin", &args));
        assert!((folder.column("o.csv", "lp__")[0] - exact).abs() < 1e-12);
        assert!((folder.column("o.csv", "g_theta")[0] - slope).abs() < 1e-12);
    }
    folder.write("u.json", r#"{"params_r": [[0], [1]]}"#);
    assert!(folder.run(
        "coin",
        "data file=DIRcoin.json output file=DIRo.csv log_prob unconstrained_params=DIRu.json"
    ));
    let text = folder.read("o.csv");
    // log(1/2) ten times, and log(1/4): eight digits where none are asked for.
    assert!(text.contains("\n-8.3177662,-3\n"), "{text}");
    folder.write("bad.json", r#"{"other": 1}"#);
    assert!(!folder.run(
        "coin",
        "data file=DIRcoin.json output file=DIRo.csv log_prob constrained_params=DIRbad.json"
    ));
    assert!(
        folder.run("coin", "random seed=1 data file=DIRcoin.json output file=DIRd.csv diagnose")
    );
    assert!(folder.read("d.csv").contains("TEST GRADIENT MODE"));
}

/// The normal approximation of the logit at its mode has mean log(1/3); skewness moves the mean of
/// theta to 0.25 with importance weights.
#[test]
fn approximations_are_written_with_their_densities() {
    let folder = coin("approximations");
    assert!(folder.run(
        "coin",
        "random seed=2 data file=DIRcoin.json output file=DIRp.csv pathfinder num_psis_draws=900"
    ));
    let theta = folder.column("p.csv", "theta");
    assert_eq!(theta.len(), 900);
    assert!((mean(&theta) - 0.25).abs() < 0.03, "{}", mean(&theta));
    let paths = folder.column("p.csv", "path__");
    assert!((1..=4).all(|path| paths.contains(&f64::from(path))), "{paths:?}");
    assert!(folder.read("p.csv").contains("\nlp_approx__,lp__,path__,theta,heads,twice\n"));
    assert!(folder.run("coin", "random seed=2 data file=DIRcoin.json output file=DIRq.csv pathfinder num_paths=3 save_single_paths=1 num_draws=50"));
    assert_eq!(folder.column("q_path_2.csv", "theta").len(), 50);
    // A path that cannot start leaves the others their numbers.
    folder.write("i_1.json", r#"{"theta": 2}"#);
    folder.write("i_2.json", r#"{"theta": 0.3}"#);
    assert!(folder.run("coin", "random seed=2 init=DIRi.json data file=DIRcoin.json output file=DIRr.csv pathfinder num_paths=2 save_single_paths=1 num_draws=50"));
    assert!(folder.column("r_path_2.csv", "path__").iter().all(|path| *path == 2.0));
    assert!(!Path::new(&folder.path("r_path_1.csv")).exists());
    assert!(folder.run(
        "coin",
        "random seed=2 data file=DIRcoin.json output file=DIRv.csv variational tol_rel_obj=0.001"
    ));
    let text = folder.read("v.csv");
    assert!(text.contains("# Stepsize adaptation complete.\n# eta = "), "{text:.2500}");
    let theta = folder.column("v.csv", "theta");
    assert_eq!(theta.len(), 1001);
    assert!((mean(&theta) - 0.25).abs() < 0.08, "{}", mean(&theta));
}

/// Approximations are judged by bounds of the evidence: their densities have all constants, those
/// of other methods have not, as in Stan.
#[test]
fn densities_of_approximations_have_their_constants() {
    let folder = Folder::new("constants");
    folder.make("normal", "parameters { real x; } model { x ~ normal(3, 2); }");
    // log(2 sqrt(2 pi)).
    let constant = 1.612_085_713_764_618;
    for (method, column, lost) in [
        ("pathfinder num_paths=1", "lp__", constant),
        ("variational", "log_p__", constant),
        ("sample num_samples=20", "lp__", 0.0),
    ] {
        assert!(folder.run("normal", &format!("random seed=1 output file=DIRo.csv {method}")));
        let (x, logp) = (folder.column("o.csv", "x"), folder.column("o.csv", column));
        // The first line of `variational` is the mean, without a density.
        for (x, logp) in x.iter().zip(&logp).skip(1) {
            let exact = -0.5 * ((x - 3.0) / 2.0).powi(2) - lost;
            assert!((logp - exact).abs() < 1e-9, "{method}: {logp} at {x}, not {exact}");
        }
    }
}

#[test]
fn quantities_of_given_draws_follow_from_them() {
    let folder = coin("generate");
    let args = "random seed=1 data file=DIRcoin.json output file=DIRo.csv sample num_samples=30 num_warmup=50 num_chains=2";
    assert!(folder.run("coin", args));
    let args = "random seed=5 data file=DIRcoin.json output file=DIRg.csv generate_quantities fitted_params=DIRo.csv num_chains=2";
    assert!(folder.run("coin", args));
    assert!(folder.read("g_1.csv").contains("\nheads,twice\n"));
    for k in 1..=2 {
        let (theta, twice) = (
            folder.column(&format!("o_{k}.csv"), "theta"),
            folder.column(&format!("g_{k}.csv"), "twice"),
        );
        assert!(theta.iter().zip(&twice).all(|(t, w)| (2.0 * t - w).abs() < 1e-15));
    }
    folder.make(
        "other",
        "parameters { real x; } model { x ~ normal(0, 1); } generated quantities { real y = x; }",
    );
    assert!(
        !folder.run("other", "output file=DIRg.csv generate_quantities fitted_params=DIRo_1.csv")
    );
}

#[test]
fn data_in_rs_format_and_initial_values_are_read() {
    let folder = coin("inputs");
    folder.write("coin.data.R", "N <- 10\ny <-\nc(0, 1, 0, 0, 0, 0, 0, 0, 0, 1)\n");
    folder.write("i.json", r#"{"theta": 0.9}"#);
    let args = "data file=DIRcoin.data.R init=DIRi.json output file=DIRo.csv sample num_samples=5 num_warmup=0 adapt engaged=0 algorithm=hmc stepsize=1e-6 engine=nuts max_depth=1";
    assert!(folder.run("coin", args));
    // Steps of a millionth lead nowhere.
    let theta = folder.column("o.csv", "theta");
    assert!(theta.iter().all(|t| (t - 0.9).abs() < 1e-4), "{theta:?}");
    folder.write("far.json", r#"{"theta": 1.1}"#);
    assert!(
        !folder.run("coin", "data file=DIRcoin.json init=DIRfar.json output file=DIRo.csv sample")
    );
}

/// Values that determine a position and are not those of any.
#[test]
fn initial_values_fit_their_types() {
    let folder = Folder::new("types");
    for (k, (ty, wrong, right)) in [
        ("simplex[3]", "[0.5, 0.6, 0.7]", "[0.2, 0.3, 0.5]"),
        // Six digits.
        ("simplex[3]", "[0.3, 0.3, 0.3]", "[0.333333, 0.333333, 0.333333]"),
        ("unit_vector[2]", "[1, 1]", "[0.6, 0.8]"),
        ("sum_to_zero_vector[3]", "[1, 2, 3]", "[1, 2, -3]"),
        ("corr_matrix[2]", "[[2, 0.5], [0.5, 2]]", "[[1, 0.5], [0.5, 1]]"),
        ("cov_matrix[2]", "[[1, 0.5], [0.4, 1]]", "[[1, 0.5], [0.5, 1]]"),
        ("cholesky_factor_cov[2]", "[[1, 0.3], [0.5, 0.5]]", "[[1, 0], [0.5, 0.5]]"),
        ("cholesky_factor_corr[2]", "[[1, 0], [0.5, 0.5]]", "[[1, 0], [0.6, 0.8]]"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("type{k}");
        folder.make(&name, &format!("parameters {{ {ty} x; }} model {{ }}"));
        for (value, is_right) in [(wrong, false), (right, true)] {
            folder.write("i.json", &format!("{{\"x\": {value}}}"));
            let args = "random seed=1 init=DIRi.json output file=DIRo.csv sample num_samples=1 num_warmup=1";
            assert_eq!(folder.run(&name, args), is_right, "{ty}: {value}");
        }
    }
}

#[test]
fn what_cannot_be_done_ends_with_a_failure() {
    let folder = coin("failures");
    for args in [
        "data file=DIRnone.json output file=DIRo.csv sample",
        "output file=DIRo.csv sample",
        "data file=DIRcoin.json output file=DIRo.csv sample algorithm=hmc engine=static",
        "data file=DIRcoin.json output file=DIRo.csv sample num_warmup=0",
        "data file=DIRcoin.json output file=DIR sample",
        "data file=DIRcoin.json output file=DIRo.csv sample adapt delta=2",
        "data file=DIRcoin.json output file=DIRo.csv laplace mode=DIRcoin.json",
        "data file=DIRcoin.json",
    ] {
        assert!(!folder.run("coin", args), "{args}");
    }
    assert!(
        folder.run("coin", "info")
            && folder.run("coin", "help-all")
            && folder.run("coin", "version")
    );
    let program = folder.write("bad.stan", "model { x ~ normal(0, 1); }");
    assert!(!folder.stanc(&[&format!("--executable={}", folder.path("bad")), &program]));
    assert!(!Path::new(&folder.path("bad")).exists());
    let cpp =
        folder.write("cpp.stan", "functions { real f(); } generated quantities { real y = f(); }");
    assert!(!folder.stanc(&[
        "--allow-undefined",
        &format!("--executable={}", folder.path("cpp")),
        &cpp
    ]));
    // A program that is exmc by its name is left to exmc.
    assert!(dispatch(&folder.0.join("image"), &["exmc".to_owned(), "sample".to_owned()]).is_none());
}

#[test]
fn arguments_are_written_as_json_where_that_is_asked_for() {
    let folder = coin("config");
    let args = "random seed=9 data file=DIRcoin.json output file=DIRo.csv save_cmdstan_config=1 sample num_samples=3 num_warmup=20";
    assert!(folder.run("coin", args));
    let json: serde_json::Value = serde_json::from_str(&folder.read("o_config.json")).unwrap();
    assert_eq!(json["model_name"], "coin_model");
    assert_eq!(json["method"]["value"], "sample");
    assert_eq!(json["method"]["sample"]["num_samples"], 3);
    assert_eq!(json["random"]["seed"], 9);
    assert_eq!(json["mpi_enabled"], false);
}
