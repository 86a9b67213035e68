//! CmdStan's arguments as a tree: names, defaults and ranges of CmdStan 2.39.

use super::argument::{Argument, Range, Value};

fn int(name: &'static str, description: &'static str, default: i64, range: Range) -> Argument {
    Argument::single(name, description, Value::Int(default), range)
}

fn real(name: &'static str, description: &'static str, default: f64) -> Argument {
    Argument::single(name, description, Value::Real(default), Range::Positive)
}

fn flag(name: &'static str, description: &'static str, default: bool) -> Argument {
    Argument::single(name, description, Value::Bool(default), Range::Any)
}

fn text(name: &'static str, description: &'static str, default: &str) -> Argument {
    Argument::single(name, description, Value::Text(default.to_owned()), Range::Any)
}

/// The arguments at the top level, `method` first.
pub(crate) fn arguments() -> Vec<Argument> {
    vec![
        Argument::list(
            "method",
            "What to do (method= may be left out)",
            0,
            vec![
                sample(),
                optimize(),
                variational(),
                diagnose(),
                generate_quantities(),
                pathfinder(),
                log_prob(),
                laplace(),
            ],
        ),
        int("id", "Number of the chain; the first of several", 1, Range::NotNegative),
        Argument::category("data", "Data", vec![text("file", "File of the data", "")]),
        text("init", "Initial values: a radius, 0, or a file", "2"),
        Argument::category(
            "random",
            "Random numbers",
            vec![int(
                "seed",
                "Seed; -1 takes one from the clock",
                -1,
                Range::Or(
                    |seed| matches!(seed, Value::Int(-1..=0xFFFF_FFFF)),
                    "an integer from 0 to 4294967295, or -1",
                ),
            )],
        ),
        output(),
        int(
            "num_threads",
            "Threads to run on; -1 takes all",
            1,
            Range::Or(
                |n| matches!(n, Value::Int(-1 | 1..)),
                "num_threads > 0 || num_threads == -1",
            ),
        ),
    ]
}

fn output() -> Argument {
    Argument::category(
        "output",
        "What is written",
        vec![
            text("file", "File of the draws", "output.csv"),
            text("diagnostic_file", "File of what the sampler saw", ""),
            int("refresh", "Iterations between lines of progress", 100, Range::NotNegative),
            int(
                "sig_figs",
                "Significant digits in files; -1 writes as many as read the same number back",
                -1,
                Range::Between(-1.0, 18.0),
            ),
            text("profile_file", "File of profiling information", "profile.csv"),
            flag("save_cmdstan_config", "Whether the arguments are written as JSON", false),
        ],
    )
}

fn sample() -> Argument {
    let adapt = Argument::category(
        "adapt",
        "Warmup",
        vec![
            flag("engaged", "Whether it adapts", true),
            real("gamma", "Regularization of the step size's averages", 0.05),
            Argument::single(
                "delta",
                "Acceptance that the step size is adapted to",
                Value::Real(0.8),
                Range::Or(|x| matches!(x, Value::Real(x) if 0.0 < *x && *x < 1.0), "0 < delta < 1"),
            ),
            real("kappa", "Exponent that averages forget with", 0.75),
            real("t0", "Iterations that early averages are damped by", 10.0),
            int("init_buffer", "Iterations before the metric is estimated", 75, Range::NotNegative),
            int("term_buffer", "Iterations after the metric is estimated", 50, Range::NotNegative),
            int("window", "First window of the metric's estimate", 25, Range::NotNegative),
            flag("save_metric", "Whether the metric is written as JSON", false),
        ],
    );
    let engine = Argument::list(
        "engine",
        "How trajectories end",
        1,
        vec![
            Argument::category(
                "static",
                "After a fixed time",
                vec![real("int_time", "That time", std::f64::consts::TAU)],
            ),
            Argument::category(
                "nuts",
                "Where they turn back (NUTS)",
                vec![int("max_depth", "Doublings of a trajectory at most", 10, Range::Positive)],
            ),
        ],
    );
    let metric = Argument::list(
        "metric",
        "Metric of momenta",
        1,
        vec![
            Argument::mark("unit_e", "The identity"),
            Argument::mark("diag_e", "A diagonal matrix"),
            Argument::mark("dense_e", "A full matrix"),
        ],
    );
    let hmc = Argument::category(
        "hmc",
        "Hamiltonian Monte Carlo",
        vec![
            engine,
            metric,
            text("metric_file", "File of an inverse metric", ""),
            real("stepsize", "Step size that adaptation begins with", 1.0),
            Argument::single(
                "stepsize_jitter",
                "Relative jitter of the step size",
                Value::Real(0.0),
                Range::Between(0.0, 1.0),
            ),
        ],
    );
    Argument::category(
        "sample",
        "Draws by Hamiltonian Monte Carlo",
        vec![
            int("num_samples", "Draws after warmup", 1000, Range::NotNegative),
            int("num_warmup", "Warmup draws", 1000, Range::NotNegative),
            flag("save_warmup", "Whether warmup draws are written", false),
            int("thin", "Every how many draws one is written", 1, Range::Positive),
            adapt,
            Argument::list(
                "algorithm",
                "What samples",
                0,
                vec![
                    hmc,
                    Argument::mark("fixed_param", "Nothing: parameters stay where they start"),
                ],
            ),
            int("num_chains", "Number of chains", 1, Range::Positive),
        ],
    )
}

/// Settings of BFGS, as several methods have them.
fn line_search() -> Vec<Argument> {
    vec![
        real("init_alpha", "First step of the first line search", 0.001),
        real("tol_obj", "Converged below this change of the log density", 1e-12),
        real("tol_rel_obj", "The same, relative and in units of rounding", 1e4),
        real("tol_grad", "Converged below this norm of the gradient", 1e-8),
        real("tol_rel_grad", "The same, relative and in units of rounding", 1e7),
        real("tol_param", "Converged below this length of a step", 1e-8),
    ]
}

fn history() -> Argument {
    int("history_size", "Steps that the curvature is taken from", 5, Range::Positive)
}

fn optimize() -> Argument {
    let mut lbfgs = line_search();
    lbfgs.push(history());
    Argument::category(
        "optimize",
        "The mode",
        vec![
            Argument::list(
                "algorithm",
                "How the mode is searched",
                1,
                vec![
                    Argument::category("bfgs", "BFGS", line_search()),
                    Argument::category("lbfgs", "BFGS with limited memory", lbfgs),
                    Argument::category("newton", "Newton's method, done by BFGS", Vec::new()),
                ],
            ),
            flag("jacobian", "Whether log Jacobians of constraints count", false),
            int("iter", "Iterations at most", 2000, Range::Positive),
            flag("save_iterations", "Whether every iteration is written", false),
        ],
    )
}

fn variational() -> Argument {
    Argument::category(
        "variational",
        "Draws of a normal approximation (ADVI)",
        vec![
            Argument::list(
                "algorithm",
                "Family of approximations",
                0,
                vec![
                    Argument::category("meanfield", "Independent normal coordinates", Vec::new()),
                    Argument::category("fullrank", "Normals of any covariance", Vec::new()),
                ],
            ),
            int("iter", "Iterations at most", 10_000, Range::Positive),
            int("grad_samples", "Draws for an estimate of the gradient", 1, Range::Positive),
            int("elbo_samples", "Draws for an estimate of the ELBO", 100, Range::Positive),
            real("eta", "Step size", 1.0),
            Argument::category(
                "adapt",
                "Adaptation of eta",
                vec![
                    flag("engaged", "Whether eta is adapted", true),
                    int("iter", "Iterations for each eta that is tried", 50, Range::Positive),
                ],
            ),
            real("tol_rel_obj", "Relative tolerance of the ELBO", 0.01),
            int("eval_elbo", "Iterations between evaluations of the ELBO", 100, Range::Positive),
            int("output_samples", "Draws from the approximation", 1000, Range::Positive),
        ],
    )
}

fn pathfinder() -> Argument {
    let mut all = line_search();
    all.push(history());
    all.extend([
        int("num_psis_draws", "Draws after importance resampling", 1000, Range::Positive),
        int("num_paths", "Number of paths", 4, Range::Positive),
        flag("save_single_paths", "Whether each path's draws are written", false),
        flag("psis_resample", "Whether draws of all paths are resampled", true),
        flag("calculate_lp", "Whether log densities of all draws are computed", true),
        int("max_lbfgs_iters", "Steps of a path at most", 1000, Range::Positive),
        int("num_draws", "Draws of each path", 1000, Range::Positive),
        int("num_elbo_draws", "Draws for an estimate of the ELBO", 25, Range::Positive),
    ]);
    Argument::category("pathfinder", "Draws of normal approximations along paths", all)
}

fn generate_quantities() -> Argument {
    Argument::category(
        "generate_quantities",
        "Generated quantities of given draws",
        vec![
            text("fitted_params", "CSV file of draws of the parameters", ""),
            int("num_chains", "Number of chains", 1, Range::Positive),
        ],
    )
}

fn log_prob() -> Argument {
    Argument::category(
        "log_prob",
        "Log density and its gradient at given points",
        vec![
            text("unconstrained_params", "File of unconstrained points", ""),
            text("constrained_params", "File of parameters' values", ""),
            flag("jacobian", "Whether log Jacobians of constraints count", true),
        ],
    )
}

fn laplace() -> Argument {
    Argument::category(
        "laplace",
        "Draws from the Laplace approximation",
        vec![
            text("mode", "File of the mode, as JSON or CSV", ""),
            flag("jacobian", "Whether log Jacobians of constraints count", true),
            int("draws", "Number of draws", 1000, Range::NotNegative),
            flag("calculate_lp", "Whether log densities of draws are computed", true),
        ],
    )
}

fn diagnose() -> Argument {
    Argument::category(
        "diagnose",
        "Checks of the model",
        vec![Argument::list(
            "test",
            "Diagnostic test",
            0,
            vec![Argument::category(
                "gradient",
                "Gradient against finite differences",
                vec![
                    real("epsilon", "Step of finite differences", 1e-6),
                    real("error", "Difference that is an error", 1e-6),
                ],
            )],
        )],
    )
}
