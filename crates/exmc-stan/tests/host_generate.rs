//! Generated quantities: streams, rejections, draws of `_rng` functions, differential equations,
//! mutated programs.

use exmc_stan::host::numeric::real_slice;
use exmc_stan::host::{Environment, Interpreter, Settings};
use exmc_stan::typed::Program;
use exmc_stan::value::{UNSET_INT, Value};

use crate::support::{program, try_program};

/// The first generated quantity of some draws.
fn first(program: &Program, seed: u64, draws: u64) -> Vec<Vec<f64>> {
    let mut host = Interpreter::new(program, Settings::seeded(seed));
    let mut env = Environment::new(program);
    (0..draws)
        .map(|draw| {
            let found = host.generate(&mut env, 1, draw).expect("the block runs");
            assert_eq!(found.rejected, None);
            real_slice(&found.values[0].1).expect("numbers").into_owned()
        })
        .collect()
}

#[test]
fn a_draw_depends_on_seed_chain_and_number_only() {
    let program =
        program("generated quantities { vector[2] x = [normal_rng(0, 1), exponential_rng(1)]'; }");
    let all = first(&program, 7, 4);
    let mut host = Interpreter::new(&program, Settings::seeded(7));
    let mut env = Environment::new(&program);
    // Draw 2 alone, after others or not, is the same.
    for (chain, draw) in [(1, 3), (2, 2), (1, 2)] {
        let found = host.generate(&mut env, chain, draw).unwrap();
        let found = real_slice(&found.values[0].1).unwrap().into_owned();
        let same = found == all[draw as usize];
        assert_eq!(same, chain == 1);
    }
    assert_ne!(first(&program, 8, 1), all[..1]);
    assert_ne!(all[0], all[1]);
}

#[test]
fn a_rejected_draw_has_no_quantities() {
    let text = "generated quantities { int n = 3; vector[2] v = [1, 2]'; real<lower=0> p = normal_rng(0, 1); \
                tuple(int, real) t = (1, 2); }";
    let program = program(text);
    let mut host = Interpreter::new(&program, Settings::seeded(1));
    let (mut rejected, mut kept) = (0, 0);
    for draw in 0..100 {
        let mut env = Environment::new(&program);
        let found = host.generate(&mut env, 0, draw).unwrap();
        let values: Vec<Value> = found.values.into_iter().map(|(_, value)| value).collect();
        match found.rejected {
            Some(error) => {
                rejected += 1;
                assert!(error.message.starts_with("`p` is -"), "{}", error.message);
                assert_eq!(values[0], Value::Int(UNSET_INT));
                assert!(real_slice(&values[1]).unwrap().iter().all(|x| x.is_nan()));
                let Value::Tuple(slots) = &values[3] else { panic!("a tuple") };
                assert_eq!(slots[0], Value::Int(UNSET_INT));
            }
            None => {
                kept += 1;
                assert_eq!(values[0], Value::Int(3));
            }
        }
    }
    // Half of them, within 4.4 standard deviations of five (false alarms: 1e-5).
    assert!(rejected > 25 && kept > 25, "{rejected} {kept}");
}

/// Draws of one number, their mean and variance (closed forms).
const MOMENTS: &[(&str, f64, f64)] = &[
    ("normal_rng(1, 2)", 1.0, 4.0),
    ("std_normal_rng()", 0.0, 1.0),
    ("student_t_rng(9, 1, 2)", 1.0, 4.0 * 9.0 / 7.0),
    ("logistic_rng(1, 2)", 1.0, 4.0 * 3.289_868_133_696_453),
    ("gumbel_rng(1, 2)", 1.0 + 2.0 * 0.577_215_664_901_532_9, 4.0 * 1.644_934_066_848_226_4),
    ("double_exponential_rng(1, 2)", 1.0, 8.0),
    ("lognormal_rng(0.1, 0.5)", 1.2523227161918644, 0.4454405219803076),
    ("exponential_rng(2)", 0.5, 0.25),
    ("gamma_rng(3, 2)", 1.5, 0.75),
    ("inv_gamma_rng(9, 4)", 0.5, 16.0 / (64.0 * 7.0)),
    ("chi_square_rng(3)", 3.0, 6.0),
    ("inv_chi_square_rng(10)", 0.125, 2.0 / (64.0 * 6.0)),
    ("scaled_inv_chi_square_rng(10, 2)", 5.0, 2.0 * 100.0 * 16.0 / (64.0 * 6.0)),
    ("weibull_rng(2, 3)", 2.658_680_776_358_274, 1.931_416_529_422_966_6),
    ("rayleigh_rng(2)", 2.506_628_274_631_000_7, 1.716_814_692_820_413_5),
    ("frechet_rng(9, 2)", 2.155517666266992, 0.11434833806239286),
    ("pareto_rng(2, 9)", 2.25, 4.0 * 9.0 / (64.0 * 7.0)),
    ("pareto_type_2_rng(1, 2, 9)", 1.25, 4.0 * 9.0 / (64.0 * 7.0)),
    ("beta_rng(2, 3)", 0.4, 0.04),
    ("beta_proportion_rng(0.4, 5)", 0.4, 0.04),
    ("uniform_rng(1, 4)", 2.5, 0.75),
    ("skew_double_exponential_rng(1, 2, 0.5)", 1.0, 8.0),
    ("exp_mod_normal_rng(1, 2, 0.5)", 3.0, 8.0),
    ("bernoulli_rng(0.3)", 0.3, 0.21),
    ("bernoulli_logit_rng(0)", 0.5, 0.25),
    ("binomial_rng(10, 0.3)", 3.0, 2.1),
    ("beta_binomial_rng(10, 2, 3)", 4.0, 10.0 * 0.24 * 15.0 / 6.0),
    ("poisson_rng(3.5)", 3.5, 3.5),
    ("poisson_log_rng(1)", std::f64::consts::E, std::f64::consts::E),
    ("neg_binomial_rng(3, 2)", 1.5, 2.25),
    ("neg_binomial_2_rng(1.5, 3)", 1.5, 2.25),
    ("neg_binomial_2_log_rng(0.4054651081081644, 3)", 1.5, 2.25),
    ("discrete_range_rng(2, 6)", 4.0, 2.0),
    ("hypergeometric_rng(5, 6, 4)", 3.0, 5.0 * 0.24 * 5.0 / 9.0),
    ("categorical_rng([0.2, 0.5, 0.3]')", 2.1, 0.49),
    ("categorical_logit_rng(log([0.2, 0.5, 0.3]'))", 2.1, 0.49),
    ("ordered_logistic_rng(0.5, [-0.886294361119891, 0.5]')", 2.3, 0.61),
    ("multinomial_rng([0.2, 0.8]', 10)[1]", 2.0, 1.6),
    ("dirichlet_rng([2, 3]')[1]", 0.4, 0.04),
    ("multi_normal_rng([1, 2]', [[4, 1], [1, 3]])[2]", 2.0, 3.0),
    ("multi_normal_cholesky_rng([1, 2]', [[2, 0], [1, 3]])[2]", 2.0, 10.0),
    ("multi_student_t_rng(9, [1, 2]', [[4, 1], [1, 3]])[2]", 2.0, 3.0 * 9.0 / 7.0),
    ("lkj_corr_rng(3, 2)[2, 1]", 0.0, 1.0 / 6.0),
    ("lkj_corr_rng(3, 2)[3, 2]", 0.0, 1.0 / 6.0),
    ("lkj_corr_cholesky_rng(3, 2)[2, 1]", 0.0, 1.0 / 6.0),
    ("wishart_rng(5, [[2, 1], [1, 3]])[2, 1]", 5.0, 5.0 * (1.0 + 6.0)),
    ("inv_wishart_rng(9, [[2, 1], [1, 3]])[1, 1]", 2.0 / 6.0, 2.0 * 4.0 / (36.0 * 4.0)),
    ("normal_rng([1, 2], 2)[2]", 2.0, 4.0),
];

#[test]
fn draws_have_the_means_and_variances_of_their_distributions() {
    const DRAWS: usize = 20_000;
    let mut wrong = Vec::new();
    for (text, mean, variance) in MOMENTS {
        let program = program(&format!(
            "generated quantities {{ array[{DRAWS}] real x; for (k in 1:{DRAWS}) x[k] = {text}; }}"
        ));
        let x = &first(&program, 3, 1)[0];
        let found = x.iter().sum::<f64>() / DRAWS as f64;
        let squares: Vec<f64> = x.iter().map(|x| (x - found) * (x - found)).collect();
        let spread = squares.iter().sum::<f64>() / DRAWS as f64;
        let error = (variance / DRAWS as f64).sqrt();
        let fourth =
            squares.iter().map(|s| (s - spread) * (s - spread)).sum::<f64>() / DRAWS as f64;
        let spread_error = (fourth / DRAWS as f64).sqrt();
        // Six standard errors: about 2e-9 for each check, were they normal; tails make it less
        // certain.
        if (found - mean).abs() > 6.0 * error
            || (spread - variance).abs() > 6.0 * spread_error + 1e-3 * variance
        {
            wrong.push(format!("{text}: mean {found} ({mean}), variance {spread} ({variance})"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn differential_equations_integrals_and_roots_have_their_solutions() {
    let text = "functions {
          vector decay(real t, vector y, real k) { return -k * y; }
          array[] real old(real t, array[] real y, array[] real theta, array[] real x, array[] int n) {
            return {y[2], -theta[1] * y[1]};
          }
          real bell(real x, real xc, array[] real theta, array[] real x_r, array[] int x_i) {
            return exp(-theta[1] * x^2);
          }
          vector square(vector x, vector a) { return [x[1]^2 - a[1], x[2] * x[1] - a[2]]'; }
        }
        generated quantities {
          vector[10] out;
          array[2] vector[1] y = ode_rk45_tol(decay, [2]', 0, {1, 2}, 1e-9, 1e-9, 10000, 0.5);
          out[1] = y[2, 1];
          out[2] = ode_bdf(decay, [2]', 0, {1, 2}, 0.5)[1, 1];
          out[3] = ode_adams(decay, [2]', 0, {1, 2}, 0.5)[1, 1];
          out[4] = ode_ckrk(decay, [2]', 0, {1, 2}, 0.5)[1, 1];
          array[1, 2] real z = integrate_ode_rk45(old, {1, 0}, 0, {1}, {4}, {0.0}, {0}, 1e-9, 1e-9, 1e5);
          out[5:6] = to_vector(z[1]);
          out[7] = integrate_1d(bell, negative_infinity(), positive_infinity(), {0.5}, {0.0}, {0}, 1e-9);
          out[8] = integrate_1d(bell, 0, 1, {1}, {0.0}, {0}, 1e-9);
          out[9:10] = solve_newton(square, [1, 1]', [2, 3]');
        }";
    let found = &first(&program(text), 1, 1)[0];
    // Closed forms: exponentials, sines, Gaussian integrals, square roots.
    let e = |x: f64| 2.0 * exmc_math::exp(-0.5 * x);
    let wanted = [
        (e(2.0), 1e-8),
        (e(1.0), 1e-8),
        (e(1.0), 1e-8),
        (e(1.0), 1e-5),
        (exmc_math::cos(2.0), 1e-8),
        (-2.0 * exmc_math::sin(2.0), 1e-8),
        ((2.0 * std::f64::consts::PI).sqrt(), 1e-9),
        (0.5 * std::f64::consts::PI.sqrt() * exmc_math::erf(1.0), 1e-9),
        (2.0_f64.sqrt(), 1e-10),
        (3.0 / 2.0_f64.sqrt(), 1e-10),
    ];
    for (k, (found, (wanted, tolerance))) in found.iter().zip(wanted).enumerate() {
        assert!((found - wanted).abs() < tolerance, "{}: {found}, expected {wanted}", k + 1);
    }
}

#[test]
fn mutated_programs_never_panic() {
    let good = "functions { real f(int n, vector x) { if (n <= 0) return 0; return x[n] + f(n - 1, x); } }
        transformed data {
          int n = 3; vector[n] x = [1, 2, 3]'; matrix[2, n] m = rep_matrix(x', 2); array[2, 2] int a = {{1, 2}, {3, 4}};
          for (i in 1:n) { x[i] += f(i, x) / 2; if (x[i] > 3) break; }
          m[1, 2:3] = x[{1, 2}]'; a[1] = a[2]; print(m * x, sum(a[:, 1]), sort_asc(x), head(x, 2), normal_rng(0, 1));
          tuple(int, vector[2]) t = (n %/% 2, x[1:2]); t.2[1] = t.1; print(t, cholesky_decompose(m * m' + diag_matrix([1, 1]')));
        }";
    assert!(try_program(good).is_ok());
    let pieces = [
        "0",
        "1",
        "-1",
        "2",
        "4",
        "7",
        "n",
        "x",
        "m",
        "a",
        "x[1]",
        "1:0",
        "m[1]",
        "2147483647",
        "{1, 9}",
        "t.1",
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |bound: usize| {
        // xorshift64: only variety is needed.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % bound as u64) as usize
    };
    // Words and numbers of the body, each of which may be replaced.
    let body = good.find("transformed").unwrap();
    let mut words = Vec::new();
    let mut start = None;
    for (k, c) in good.char_indices().skip(body) {
        match (c.is_ascii_alphanumeric(), start) {
            (true, None) => start = Some(k),
            (false, Some(first)) => {
                words.push(first..k);
                start = None;
            }
            _ => {}
        }
    }
    let mut settings = Settings::default();
    settings.fuel = 2000;
    let (mut ran, mut failed) = (0, 0);
    let begun = std::time::Instant::now();
    while begun.elapsed().as_millis() < 900 || ran < 200 {
        let mut text = good.to_owned();
        for _ in 0..=next(2) {
            text.replace_range(words[next(words.len())].clone(), pieces[next(pieces.len())]);
            if text.len() != good.len() {
                break;
            }
        }
        let Ok(program) = try_program(&text) else { continue };
        let mut env = Environment::new(&program);
        ran += 1;
        let result = Interpreter::new(&program, settings.clone()).transform_data(&mut env);
        failed += usize::from(result.is_err());
    }
    assert!(failed * 20 > ran && failed < ran, "{failed} of {ran} failed");
}
