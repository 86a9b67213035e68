//! The embedded Laplace approximation against approximations by mpmath and a closed form (made by
//! `laplace.py`): value and gradient in the density, value and draws in generated quantities.

use exmc_graph::{Tensor, differentiate, evaluate};
use exmc_stan::host::{Environment, Interpreter, Settings};
use exmc_stan::typed::{Scope, VariableId};
use exmc_stan::value::Value;

use crate::lower::harness::{assert_refused, program};

const FUNCTIONS: &str = "functions {
  real poisson(vector theta, array[] int y, vector off) { return poisson_log_lpmf(y | theta + off); }
  real normal(vector theta, matrix a, vector y, real r) { return normal_lpdf(y | a * theta, r); }
  real cubes(vector theta, vector y) { real s = 0; for (i in 1:3) s += normal_lpdf(y[i] | theta[i], 1); return s; }
  matrix K(array[] vector x, real a, real r) { return add_diag(gp_exp_quad_cov(x, a, r), 1e-6); }
  matrix none(real a) { return [[a, 0, 0], [0, a, 0]]; }
}
transformed data {
  array[3] vector[1] x = {[0.1]', [0.7]', [1.6]'};
  vector[3] off = [0.2, -0.3, 0.5]';
  matrix[3, 3] m = [[1, 0.5, 0], [0, 1, -1], [0.3, 0, 2]];
  vector[3] y = [0.4, -1.1, 0.9]';
}
";

const POISSON: &str = "laplace_marginal(poisson, ({3, 0, 40}, off), 1, K, (x, a, r))";
const NORMAL: &str = "laplace_marginal(normal, (m, y, r), 3, K, (x, a, r))";

/// Call, (a, r), value and slopes.
const GOLDEN: &[(&str, [f64; 2], [f64; 3])] = &[
    (POISSON, [1.3, 0.8], [-13.010464486840972, 3.820626232274763, -3.8458144018343243]),
    (POISSON, [3.0, 0.4], [-10.363224890611125, -0.22107997508048055, -1.5895627876963812]),
    // More of the Hessian than there is changes nothing.
    (
        "laplace_marginal_tol(poisson, ({3, 0, 40}, off), 3, K, (x, a, r), ([1, 2, 0.5]', 1e-8, 100, 1, 0, 1))",
        [1.3, 0.8],
        [-13.010464486840972, 3.820626232274763, -3.8458144018343243],
    ),
    (
        "laplace_marginal_poisson_log_lpmf({3, 0, 40} | {1, 2, 3}, off, 1, K, (x, a, r))",
        [1.3, 0.8],
        [-13.010464486840972, 3.820626232274763, -3.8458144018343243],
    ),
    (
        "laplace_marginal_bernoulli_logit_lpmf({1, 0, 1, 1, 1} | {1, 1, 2, 3, 3}, off, 1, K, (x, a, r))",
        [1.3, 0.8],
        [-3.2821192935616534, -0.16298624477468024, 0.16994045756574747],
    ),
    (
        "laplace_marginal_tol_bernoulli_logit_lpmf({1, 0, 1, 1, 1} | {1, 1, 2, 3, 3}, off, 1, K, (x, a, r), (rep_vector(0, 3), 1e-8, 100, 1, 0, 1))",
        [3.0, 0.4],
        [-3.8629050282799535, -0.24292202387358575, 0.584096600400238],
    ),
    (
        "laplace_marginal_neg_binomial_2_log_lpmf({3, 0, 12} | {1, 2, 3}, [2, a, 1.5]', off, 1, K, (x, a, r))",
        [1.3, 0.8],
        [-8.714897969023738, -0.3844933089670831, -0.3201726761160159],
    ),
    (
        "laplace_marginal_tol_neg_binomial_2_log_lpmf({3, 0, 12} | {1, 2, 3}, [2, a, 1.5]', off, 1, K, (x, a, r), (rep_vector(0, 3), 1e-8, 100, 1, 0, 1))",
        [3.0, 0.4],
        [-8.958656748909652, -0.427949605637593, -1.134951106549451],
    ),
    (
        "laplace_marginal_tol(poisson, ({3, 0, 40}, off), 1, K, (x, a, r), generate_laplace_options(3))",
        [3.0, 0.4],
        [-10.363224890611125, -0.22107997508048055, -1.5895627876963812],
    ),
    (NORMAL, [1.3, 0.8], [-4.991591270928788, -1.2482060420854209, -0.3653197071956332]),
    (NORMAL, [3.0, 0.4], [-6.749164057059057, -0.9104154378931172, 0.2319678719975889]),
];

/// Rounding of a few linear systems of three unknowns.
fn near(found: f64, wanted: f64) -> bool {
    (found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0)
}

#[test]
fn values_and_gradients_are_those_of_mpmath() {
    for (call, [a, r], wanted) in GOLDEN {
        let text =
            format!("{FUNCTIONS} parameters {{ real a; real r; }} model {{ target += {call}; }}");
        let mut lowered = lowered_with_transformed(&text);
        let l = &mut lowered.lowered;
        let inputs: Vec<_> = l.layout.iter().map(|e| e.input).collect();
        let mut nodes = vec![l.logp];
        nodes.extend(differentiate(&mut l.graph, l.logp, &inputs).unwrap());
        let lookup = |name: &str| Some(Tensor::scalar(if name == "a" { *a } else { *r }));
        let found = evaluate(&l.graph, &nodes, &lookup).unwrap();
        for (k, (found, wanted)) in found.iter().zip(wanted).enumerate() {
            let found = found.as_scalar().unwrap();
            assert!(near(found, *wanted), "{call} [{k}]: {found}, not {wanted}");
        }
    }
}

/// With transformed data computed first.
fn lowered_with_transformed(text: &str) -> exmc_stan::lower::StanLowered {
    let program = program(text);
    let mut environment = Environment::new(&program);
    let mut host = Interpreter::new(&program, Settings::default());
    host.transform_data(&mut environment).unwrap();
    let found =
        exmc_stan::lower::lower(&program, &environment, exmc_stan::lower::Options::default());
    found.unwrap_or_else(|refusal| panic!("{refusal:?}"))
}

/// What generated quantities give for a call, for that many draws.
fn generated(declared: &str, [a, r]: [f64; 2], draws: u64) -> Vec<Value> {
    let text = format!(
        "{FUNCTIONS} parameters {{ real a; real r; }} generated quantities {{ {declared} }}"
    );
    let program = program(&text);
    let mut environment = Environment::new(&program);
    let mut host = Interpreter::new(&program, Settings::default());
    host.transform_data(&mut environment).unwrap();
    let id = |name: &str| {
        let index = program
            .variables
            .iter()
            .position(|v| &*v.name == name && v.scope == Scope::GeneratedQuantities);
        VariableId(index.unwrap() as u32)
    };
    for (k, variable) in program.variables.iter().enumerate() {
        if let (Scope::Parameters, "a" | "r") = (variable.scope, &*variable.name) {
            let value = if &*variable.name == "a" { a } else { r };
            environment.set(VariableId(k as u32), Value::Real(value));
        }
    }
    let one = |draw| {
        let rejected = host.generate_in_place(&mut environment, 0, draw).unwrap();
        assert!(rejected.is_none(), "{rejected:?}");
        environment.get(id("q")).unwrap().clone()
    };
    (0..draws).map(one).collect()
}

#[test]
fn generated_quantities_have_the_same_values() {
    for (call, parameters, wanted) in GOLDEN {
        let found = generated(&format!("real q = {call};"), *parameters, 1).remove(0);
        let found = found.as_real().unwrap();
        assert!(near(found, wanted[0]), "{call}: {found}, not {}", wanted[0]);
    }
}

/// Means of 400 draws of a normal likelihood's latent variables, whose distribution is exact: each
/// is within six standard errors (1 in 1e8 by chance) of the closed form's, and a standard
/// deviation is at most that of the prior, 1.3.
#[test]
fn draws_of_latent_variables_have_their_conditional_mean() {
    const DRAWS: u64 = 400;
    let call = "vector[3] q = laplace_latent_rng(normal, (m, y, r), 3, K, (x, a, r));";
    let draws = generated(call, [1.3, 0.8], DRAWS);
    let mean = [0.09121652349351067, -0.02749459457448617, 0.49172738050768644];
    let (mut sums, mut squares) = ([0.0; 3], [0.0; 3]);
    for draw in &draws {
        let Value::Reals(numbers) = draw else { panic!("{draw:?}") };
        for k in 0..3 {
            sums[k] += numbers.values[k];
            squares[k] += numbers.values[k] * numbers.values[k];
        }
    }
    for k in 0..3 {
        let n = DRAWS as f64;
        let found = sums[k] / n;
        let deviation = (squares[k] / n - found * found).sqrt();
        assert!(deviation > 0.05 && deviation < 1.3, "{deviation}");
        assert!(
            (found - mean[k]).abs() < 6.0 * deviation / n.sqrt(),
            "{k}: {found}, not {}",
            mean[k]
        );
    }
}

/// Mode and factor of the covariance of a normal likelihood, whose conditional distribution is
/// exact, in every block.
#[test]
fn the_mode_and_its_covariances_factor_are_the_closed_forms() {
    let mean = [0.09121652349351067, -0.02749459457448617, 0.49172738050768644];
    let factor = [
        0.5695548993009321,
        0.0,
        0.0,
        0.05458539136190508,
        0.5354777667420254,
        0.0,
        -0.0793021857505458,
        0.15124832125713125,
        0.3370175628584846,
    ];
    let calls = [
        "laplace_latent_solve(normal, (m, y, 0.8), 3, K, (x, 1.3, 0.8))",
        "laplace_latent_solve_tol(normal, (m, y, 0.8), 3, K, (x, 1.3, 0.8), ([a, r, 1]', 1e-8, 100, 1, 0, 1))",
    ];
    for call in calls {
        let packed = format!("append_row({call}.1, to_vector({call}.2'))");
        let Value::Reals(found) =
            generated(&format!("vector[12] q = {packed};"), [0.3, -0.2], 1).remove(0)
        else {
            panic!("{call} is no vector")
        };
        for (found, wanted) in found.values.iter().zip(mean.iter().chain(&factor)) {
            assert!(near(*found, *wanted), "{call}: {found}, not {wanted}");
        }
        // In the density, where parameters may choose at most where the search starts.
        for k in 0..12 {
            let text = format!(
                "{FUNCTIONS} parameters {{ real a; real r; }} model {{ target += {packed}[{}] + 0 * a; }}",
                k + 1
            );
            let l = lowered_with_transformed(&text).lowered;
            let lookup = |name: &str| Some(Tensor::scalar(if name == "a" { 0.3 } else { -0.2 }));
            let found = evaluate(&l.graph, &[l.logp], &lookup).unwrap()[0].as_scalar().unwrap();
            let wanted = mean.iter().chain(&factor).nth(k).unwrap();
            assert!(near(found, *wanted), "{call} [{k}]: {found}, not {wanted}");
        }
    }
}

#[test]
fn mistakes_are_located() {
    let with = |call: &str| {
        let functions = FUNCTIONS.split("transformed data").next().unwrap();
        format!("{functions}parameters {{ real a; real r; }}\nmodel {{\n  target += {call};\n}}")
    };
    let line = with("1").lines().position(|line| line.contains("target")).unwrap() as u32 + 1;
    let cases = [
        (
            "laplace_marginal(cubes, ([1, 2, 3]'), 2, K, ({[0.1]', [0.7]', [1.6]'}, a, r))",
            "do not divide",
        ),
        ("laplace_marginal(cubes, ([1, 2, 3]'), 1, none, (a))", "square"),
        (
            "laplace_marginal_poisson_log_lpmf({3} | {4}, [0, 0, 0]', 1, K, ({[0.1]', [0.7]', [1.6]'}, a, r))",
            "out of range",
        ),
    ];
    for (call, words) in cases {
        // A tuple of one needs its comma in Stan.
        let call = call.replace("3]')", "3]',)").replace("(a))", "(a,))");
        assert_refused(&with(&call), &[], line, words);
    }
}
