//! Tests of clients that do not apply, and those that fail, each with its reason.

/// Tests that do not apply: their names, or beginnings of them before a `*`, and why.
const NOT_APPLICABLE: &[(&str, &str)] = &[
    ("test_download.py*", "downloads a release of BridgeStan"),
    ("test_compile.py::test_compile_user_header", "compiles a function that is written in C++"),
    ("test_install_cmdstan.py*", "downloads and builds releases of CmdStan"),
    ("test_cxx_installation.py*", "downloads a C++ compiler"),
    ("test_model.py::test_model_good", "compiles a function that is written in C++"),
    (
        "test_sample.py::test_validate_big_run",
        "its data, `runset-big`, are not in checkouts without the largest files",
    ),
    (
        "test_sample.py::test_instantiate_from_csvfiles*",
        "its data, `runset-big`, are not in checkouts without the largest files",
    ),
    (
        "test-install.R::install_cmdstan() successfully installs cmdstan",
        "downloads and builds releases of CmdStan",
    ),
    (
        "test-install.R::install_cmdstan() errors if it times out",
        "downloads and builds releases of CmdStan",
    ),
    (
        "test-install.R::install_cmdstan() works with version and release_url",
        "downloads and builds releases of CmdStan",
    ),
    (
        "test-model-compile.R::compile() method works",
        "asks for the C++ of a program; exmc makes none",
    ),
    (
        "test-model-compile.R::*hpp_file() functions work",
        "asks for the C++ of a program; exmc makes none",
    ),
    (
        "test-model-compile.R::name in STANCFLAGS is set correctly",
        "looks for the command that makes C++ of a program",
    ),
    (
        "test-model-compile.R::switching threads on and off works without rebuild",
        "looks for an object file of CmdStan's C++",
    ),
    (
        "test-model-compile.R::cmdstan_model works with user_header",
        "compiles a function that is written in C++",
    ),
    (
        "test-model-compile.R::check_syntax() works with pedantic=TRUE #2",
        "its program assigns with `<-`, which Stan has not had since 2.33",
    ),
    (
        "test-model-compile.R::format() works",
        "its program calls `normal_log`, which Stan has not had since 2.33",
    ),
    (
        "test-fit-shared.R::sig_figs works with all methods",
        "its program has arrays in the syntax that Stan has not had since 2.33",
    ),
    (
        "test-data.R::process_data() corrrectly casts integers*",
        "its program has arrays in the syntax that Stan has not had since 2.33",
    ),
    (
        "test-failed-chains.R::correct warnings are thrown when some chains fail",
        "uses a value before it makes it with testthat 3.1.6, whatever CmdStan does",
    ),
];

/// Tests that fail, with what is behind it.
const FAILURES: &[(&str, &str)] = &[
    (
        "test_sample.py::test_diagnostics",
        "asks for divergences, which exmc does not have: it integrates the effects of this model out",
    ),
    (
        "test_variational.py::test_variational_good",
        "asks for numbers of Stan's random stream (the program says that its results are unstable)",
    ),
    (
        "test-csv.R::as_cmdstan_fit can check MCMC diagnostics",
        "asks for trajectories of the largest depth and for divergences in one fit; exmc integrates the effects of this model out and has one of them",
    ),
    (
        "test-fit-mcmc.R::diagnostic_summary() works",
        "asks for divergences, which exmc does not have: it integrates the effects of this model out",
    ),
    (
        "test_sample.py::test_sample_sporadic_exception",
        "asks for the message of a scale that is rounded to zero on Stan's way from its first point; exmc takes another way",
    ),
    (
        "test-failed-chains.R::correct warnings are thrown when all chains fail",
        "asks for words of Stan's C++ (`Location parameter is inf`); exmc names the statement whose density is -inf",
    ),
];

fn find(table: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    let is_named = |pattern: &str| match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    };
    table.iter().find(|(pattern, _)| is_named(pattern)).map(|(_, why)| *why)
}

/// Why a test does not apply.
pub(super) fn not_applicable(name: &str) -> Option<&'static str> {
    find(NOT_APPLICABLE, name)
}

/// What is behind a failure.
pub(super) fn failure(name: &str) -> Option<&'static str> {
    find(FAILURES, name)
}
