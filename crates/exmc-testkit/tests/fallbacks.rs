//! Whole models: no operation of a density runs but by the native executor's own instructions and
//! kernels.

use exmc::advanced::{CompileOptions, Executor, compile};
use exmc_testkit::targets::targets;

/// Functions by iteration, which have no vector form: each element takes as many terms as it needs.
const BY_ITERATION: [&str; 14] = [
    "lambert_w0",
    "lambert_wm1",
    "bessel_j",
    "bessel_y",
    "student_t_quantile",
    "beta_inc_inverse",
    "log_gamma_p",
    "log_gamma_q",
    "log_gamma_p_da",
    "log_gamma_q_da",
    "log_beta_inc",
    "log_beta_inc_da",
    "log_beta_inc_db",
    "owens_t",
];

#[test]
fn densities_of_all_targets_are_native() {
    let mut options = CompileOptions::default();
    options.executor = Executor::Native;
    let mut models = 0;
    for target in targets() {
        let compiled = compile(&target.model, &options).expect("a known target compiles");
        let program = compiled.program();
        assert_eq!(program.executor(), Executor::Native, "{}", target.name);
        let mut fallbacks = program.fallbacks();
        fallbacks.retain(|name| !BY_ITERATION.contains(name));
        assert!(fallbacks.is_empty(), "{}: {fallbacks:?} have no native form", target.name);
        models += 1;
    }
    assert!(models > 30, "{models} targets are too few to show anything");
}
