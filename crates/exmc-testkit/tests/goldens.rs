//! Golden log densities and gradients of whole models: builder -> compile -> one evaluation, no
//! sampling.
//!
//! The numbers are closed forms, given to 7 to 12 digits in the requirements; tolerances are half a
//! unit of the last digit. `D5`, `D22` and so on are the requirements' names.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use std::f64::consts::LN_2;

use exmc::advanced::{BoundModel, CompileOptions, CompiledModel, compile, sample};
use exmc::distributions::{
    bernoulli_logit, exponential, family, gaussian_random_walk, half_normal, normal, student_t,
};
use exmc::model::{DType, Expr, Reduce, Shape, Tensor, TransformSpec, Values};
use exmc::{ModelBuilder, SamplerConfig};

/// Half a unit of the sixth decimal, as most numbers are given.
const SIX: f64 = 5.1e-7;

fn compiled(model: &ModelBuilder, jacobian: bool) -> CompiledModel {
    let mut options = CompileOptions::default();
    options.jacobian = jacobian;
    compile(&model.build().unwrap(), &options).unwrap()
}

fn bound(model: &ModelBuilder) -> BoundModel {
    compiled(model, true).bind(&Values::new()).unwrap()
}

/// The log density of constrained values: no Jacobians.
fn logp_of_values(model: &ModelBuilder, values: &[(&str, Tensor)]) -> (f64, Vec<f64>) {
    let bound = compiled(model, false).bind(&Values::new()).unwrap();
    let values: Values = values.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect();
    let position = bound.unconstrain(&values).unwrap();
    bound.logp_grad(&position).unwrap()
}

fn logp_at(model: &ModelBuilder, position: &[f64]) -> (f64, Vec<f64>) {
    bound(model).logp_grad(position).unwrap()
}

#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "found {found:.12}, expected {expected:.12} within {tolerance:e}"
    );
}

fn number(x: f64) -> Tensor {
    Tensor::scalar(x)
}

// ---- D5: weights, masks and reductions of observations

/// Observed (1, 2, 3) under a standard normal: elementwise -1.418939, -2.918939, -5.418939.
fn three(reduce: Reduce) -> ModelBuilder {
    let mut model = ModelBuilder::new();
    model.rv("y", normal(0.0, 1.0)).shape([3]);
    model.observe("y_obs", "y", [1.0, 2.0, 3.0]).reduce(reduce);
    model
}

#[test]
fn d5_reductions_of_an_observed_vector() {
    close(logp_at(&three(Reduce::Sum), &[]).0, -9.756816, SIX);
    close(logp_at(&three(Reduce::Mean), &[]).0, -3.252272, SIX);
    close(logp_at(&three(Reduce::LogSumExp), &[]).0, -1.202662, SIX);
}

#[test]
fn d5_vector_weights_scale_each_element() {
    let mut model = ModelBuilder::new();
    model.rv("y", normal(0.0, 1.0)).shape([3]);
    model.observe("y_obs", "y", [1.0, 2.0, 3.0]).weight([1.0, 0.5, 2.0]);
    close(logp_at(&model, &[]).0, -13.716285, SIX);
}

/// Weight first, then mask, then reduction. A masked element is left out of a mean's count and of a
/// log-sum-exp, where counting it as zero (as some programs do) gives -1.139646 and 0.443709.
#[test]
fn d5_masked_elements_are_left_out_of_every_reduction() {
    for (reduce, expected) in
        [(Reduce::Sum, -3.418939), (Reduce::Mean, -1.709469), (Reduce::LogSumExp, -0.582541)]
    {
        let mut model = ModelBuilder::new();
        model.rv("y", normal(0.0, 1.0)).shape([3]);
        let observed = model.observe("y_obs", "y", [1.0, 2.0, 3.0]);
        observed.weight(0.5).mask([1.0, 0.0, 1.0]).reduce(reduce);
        close(logp_at(&model, &[]).0, expected, SIX);
    }
}

#[test]
fn d5_an_observation_without_likelihood_adds_nothing() {
    let mut model = ModelBuilder::new();
    model.rv("y", normal(0.0, 1.0)).shape([3]);
    model.observe("y_obs", "y", [1.0, 2.0, 3.0]).likelihood(false);
    let bound = bound(&model);
    assert_eq!(bound.logp_grad(&[]).unwrap().0, 0.0);
    assert_eq!(bound.pointwise_width(), 0);
}

// ---- D6: observed affine and matrix images

#[test]
fn d6_an_observed_affine_image_is_lifted_with_its_jacobian() {
    let affine = |scale: f64, x: exmc::model::DistSpec, y: f64| {
        let mut model = ModelBuilder::new();
        model.rv("x", x);
        model.det("y", scale * Expr::name("x") + 1.0);
        model.observe("y_obs", "y", y);
        logp_at(&model, &[]).0
    };
    close(affine(2.0, normal(0.0, 1.0), 1.4), -1.632086, SIX);
    close(affine(2.0, exponential(1.0), 2.0), -1.193147, SIX);

    let mut model = ModelBuilder::new();
    model.rv("x", normal(0.0, 1.0)).shape([2]);
    model.det("y", Expr::from([2.0, 3.0]) * Expr::name("x") + 1.0);
    model.observe("y_obs", "y", [1.4, 2.5]);
    close(logp_at(&model, &[]).0, -3.774637, SIX);
}

/// The scale may be a name: data, or a free variable.
#[test]
fn d6_parameters_of_a_lifted_variable_may_be_references() {
    let mut model = ModelBuilder::new();
    model.data("s", number(2.0));
    model.rv("x", normal(0.0, "s"));
    model.det("y", 3.0 * Expr::name("x") + 1.0);
    model.observe("y_obs", "y", 4.0);
    close(logp_at(&model, &[]).0, -2.835698, SIX);

    let mut model = ModelBuilder::new();
    model.rv("s", exponential(1.0));
    model.rv("x", normal(0.0, "s"));
    model.det("y", 3.0 * Expr::name("x") + 1.0);
    model.observe("y_obs", "y", 4.0);
    // An exponential with rate 1 at 2 has log density -2.
    close(logp_of_values(&model, &[("s", number(2.0))]).0, -2.835698 - 2.0, SIX);
}

fn image(matrix: [f64; 4]) -> ModelBuilder {
    let mut model = ModelBuilder::new();
    model.rv("x", normal(0.0, 1.0)).shape([2]);
    let matrix = Tensor::real([2, 2], matrix).unwrap();
    model.det("y", Expr::constant(matrix).matmul("x"));
    model.observe("y_obs", "y", [1.0, 1.5]);
    model
}

/// The density of a multivariate normal with covariance A A'.
#[test]
fn d6_an_observed_matrix_image_is_lifted_with_its_determinant() {
    close(logp_at(&image([2.0, 1.0, 0.0, 3.0]), &[]).0, -3.785887, SIX);
}

#[test]
fn d6_a_singular_matrix_is_an_error() {
    let built = image([1.0, 2.0, 2.0, 4.0]).build().map_err(exmc::Error::from);
    let compiled = built.and_then(|m| compile(&m, &CompileOptions::default()));
    let bound = compiled.and_then(|m| m.bind(&Values::new()));
    let error = bound.unwrap_err();
    assert!(error.is_model() && error.to_string().contains("singular"), "{error}");
}

// ---- D9, D12, D13: what is free, what is constant, and the layout

#[test]
fn d9_free_variables_are_those_that_are_not_observed() {
    let mut model = ModelBuilder::new();
    model.rv("mu", normal(0.0, 1.0));
    model.rv("y", normal("mu", 1.0));
    model.observe("y_obs", "y", 0.5);
    assert_eq!(bound(&model).compiled().dim(), 1);

    let mut model = ModelBuilder::new();
    model.rv("y", normal(0.0, 1.0));
    model.observe("y_obs", "y", 0.5);
    let all_observed = bound(&model);
    assert_eq!(all_observed.compiled().dim(), 0);
    let posterior = sample(&all_observed, &SamplerConfig::default()).unwrap();
    assert!(posterior.draws_of("y", 0).is_none());
}

#[test]
fn d12_a_constant_likelihood_follows_its_data() {
    let mut model = ModelBuilder::new();
    model.data("mu", number(0.0));
    model.rv("y", normal("mu", 1.0));
    model.observe("y_obs", "y", 1.0);
    let compiled = compiled(&model, true);
    let logp_at = |mu: f64| {
        let data = Values::from([("mu".to_owned(), number(mu))]);
        compiled.bind(&data).unwrap().logp_grad(&[]).unwrap().0
    };
    close(logp_at(0.0), -1.418939, SIX);
    close(logp_at(1.0), -0.918939, SIX);
    close(logp_at(4.0), -5.418939, SIX);
}

#[test]
fn d13_the_layout_is_in_bytewise_order_of_names() {
    let names = ["x_2", "a", "C", "x_10"];
    let mut model = ModelBuilder::new();
    for name in names {
        model.rv(name, normal(0.0, 1.0));
    }
    let bound = bound(&model);
    let layout = &bound.compiled().lowered().layout;
    let order: Vec<&str> = layout.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(order, ["C", "a", "x_10", "x_2"]);
}

// ---- D10, D25: transforms

#[test]
fn d10_the_log_transform_adds_the_position() {
    let mut model = ModelBuilder::new();
    model.rv("x", exponential(2.0));
    let z = -LN_2;
    let (logp, gradient) = logp_at(&model, &[z]);
    close(logp, -0.306853 + z, SIX);
    // d/dz (-2 e^z + z + const) = 1 - 2 x.
    close(gradient[0], 0.0, 1e-15);
}

/// Value and log Jacobian of a transform at a position, through whole models.
fn transform_at(dist: exmc::model::DistSpec, transform: TransformSpec, z: f64) -> (f64, f64) {
    let mut model = ModelBuilder::new();
    model.rv("x", dist).transform(transform);
    let on = bound(&model);
    let off = compiled(&model, false).bind(&Values::new()).unwrap();
    let x = on.constrain(&[z]).unwrap()["x"].as_scalar().unwrap();
    (x, on.logp_grad(&[z]).unwrap().0 - off.logp_grad(&[z]).unwrap().0)
}

#[test]
fn d25_softplus_and_logistic_values_and_jacobians() {
    let (x, log_jacobian) = transform_at(half_normal(1.0), TransformSpec::Softplus, 0.3);
    close(x, 0.854355, SIX);
    close(log_jacobian, -0.554355, SIX);
    let unit = || family("uniform", vec![0.0.into(), 1.0.into()]);
    let (x, log_jacobian) = transform_at(unit(), TransformSpec::Logit, 0.3);
    close(x, 0.574443, SIX);
    close(log_jacobian, -1.408710, SIX);
    // The far ends neither overflow nor lose the value.
    let softplus = |z| transform_at(half_normal(1.0), TransformSpec::Softplus, z).0;
    close(softplus(-40.0) / 4.248354e-18, 1.0, 2e-7);
    close(softplus(800.0), 800.0, 0.0);
    for z in [-800.0, 800.0] {
        close(transform_at(unit(), TransformSpec::Logit, z).1, -800.0, 1e-9);
    }
}

// ---- D22, D32, D36: references, non-centring, initial values

/// mu, s and x with x ~ normal(mu, s) and 2 seen around x. The default transform of a half normal
/// is softplus here, so the logarithm that the golden numbers assume is asked for.
fn hierarchy(centred: bool) -> ModelBuilder {
    let mut model = ModelBuilder::new();
    model.rv("mu", normal(0.0, 10.0));
    model.rv("s", half_normal(5.0)).transform(TransformSpec::Log);
    let x = model.rv("x", normal("mu", "s"));
    if centred {
        x.centred()
    } else {
        x.non_centred()
    };
    model.rv("y", normal("x", 1.0));
    model.observe("y_obs", "y", 2.0);
    model
}

#[test]
fn d22_names_refer_to_constrained_values() {
    let (logp, gradient) = logp_at(&hierarchy(true), &[1.0, LN_2, 1.5]);
    close(logp, -7.135880, SIX);
    for (found, expected) in gradient.iter().zip([0.115, -0.0975, 0.375]) {
        close(*found, expected, 1e-14);
    }
}

#[test]
fn d32_the_non_centred_density_differs_by_the_log_scale() {
    let (logp, gradient) = logp_at(&hierarchy(false), &[1.0, LN_2, 0.25]);
    close(logp, -6.442733, SIX);
    for (found, expected) in gradient.iter().zip([0.49, 1.09, 0.75]) {
        close(*found, expected, 1e-14);
    }
}

const EFFECT: [f64; 8] = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
const STANDARD_ERROR: [f64; 8] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];

fn eight_schools(centred: bool) -> ModelBuilder {
    let mut model = ModelBuilder::new();
    model.rv("mu", normal(0.0, 5.0));
    model.rv("tau", half_normal(5.0)).transform(TransformSpec::Log);
    let theta = model.rv("theta", normal("mu", "tau")).shape([8]);
    if centred {
        theta.centred()
    } else {
        theta.non_centred()
    };
    model.rv("y", normal("theta", STANDARD_ERROR));
    model.observe("y_obs", "y", EFFECT);
    model
}

#[test]
fn d32_eight_schools_centred_and_not() {
    let theta = Tensor::vector(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let values = [("mu", number(4.0)), ("tau", number(3.0)), ("theta", theta)];
    let named: Values = values.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect();
    let ln_3 = exmc_math::log(3.0);

    // The density of the values is the same in both forms.
    for centred in [true, false] {
        close(logp_of_values(&eight_schools(centred), &values).0, -53.631883, SIX);
    }
    // Over positions: the logarithm's Jacobian ln 3, and 8 ln 3 between the forms.
    let centred = bound(&eight_schools(true));
    let position = centred.unconstrain(&named).unwrap();
    close(centred.logp_grad(&position).unwrap().0, -52.533271, SIX);
    let standardised = bound(&eight_schools(false));
    let position = standardised.unconstrain(&named).unwrap();
    close(standardised.logp_grad(&position).unwrap().0, -44.842985 + ln_3, SIX);
}

#[test]
fn d36_initial_values_are_standardised_in_nested_order() {
    let mut model = ModelBuilder::new();
    model.rv("mu", normal(0.0, 1.0));
    model.rv("s", half_normal(1.0)).transform(TransformSpec::Log);
    model.rv("x", normal("mu", "s")).non_centred();
    let given = [("mu", 1.0), ("s", 2.0), ("x", 4.0)];
    let given: Values = given.iter().map(|(n, v)| ((*n).to_owned(), number(*v))).collect();
    let position = bound(&model).unconstrain(&given).unwrap();
    for (found, expected) in position.iter().zip([1.0, LN_2, 1.5]) {
        close(*found, expected, 1e-15);
    }
}

// ---- D26: values that are not numbers

#[test]
fn d26_a_start_that_is_not_a_number_names_the_variable() {
    let mut model = ModelBuilder::new();
    model.rv("mu", normal(0.0, 1.0));
    model.potential("broken", (-1.0 - Expr::name("mu").square()).log());
    let error = sample(&bound(&model), &SamplerConfig::default()).unwrap_err();
    assert!(error.to_string().contains("`broken`"), "{error}");
}

// ---- D34: observed arrays of any rank

#[test]
fn d34_an_observed_array_is_the_sum_of_its_elements() {
    let values = [0.3, -1.2, 2.5, 0.0, 0.7, -0.4];
    let single = |y: f64| {
        let mut model = ModelBuilder::new();
        model.rv("mu", normal(0.0, 1.0));
        model.rv("y", student_t(4.0, "mu", 1.5));
        model.observe("y_obs", "y", y);
        logp_at(&model, &[0.4]).0
    };
    let prior = {
        let mut model = ModelBuilder::new();
        model.rv("mu", normal(0.0, 1.0));
        logp_at(&model, &[0.4]).0
    };
    let sum: f64 = values.iter().map(|y| single(*y) - prior).sum();
    for shape in [Shape::from([6]), Shape::from([2, 3]), Shape::from([1, 3, 2])] {
        let mut model = ModelBuilder::new();
        model.rv("mu", normal(0.0, 1.0));
        model.rv("y", student_t(4.0, "mu", 1.5)).shape(shape.clone());
        model.observe("y_obs", "y", Tensor::real(shape, values).unwrap());
        close(logp_at(&model, &[0.4]).0 - prior, sum, 1e-12);
    }
}

// ---- Log densities of the benchmark models, on constrained values without Jacobians

/// `n` values (n even) with the given mean and sum of squared deviations.
fn data(n: usize, mean: f64, squares: f64) -> Vec<f64> {
    let deviation = (squares / n as f64).sqrt();
    (0..n).map(|i| if i % 2 == 0 { mean + deviation } else { mean - deviation }).collect()
}

#[test]
fn simple_normal_model() {
    let mut model = ModelBuilder::new();
    model.rv("mu", normal(0.0, 10.0));
    model.rv("sigma", exponential(1.0));
    model.rv("y", normal("mu", "sigma")).shape([50]);
    model.observe("y_obs", "y", data(50, 3.136816546, 65.075051432));
    let values = [("mu", number(3.0)), ("sigma", number(1.5))];
    close(logp_of_values(&model, &values).0, -85.655815, SIX);
}

#[test]
fn medium_hierarchical_model() {
    let mut model = ModelBuilder::new();
    model.rv("mu_global", normal(0.0, 10.0));
    model.rv("sigma_global", exponential(1.0));
    model.rv("alpha", normal("mu_global", "sigma_global"));
    model.rv("beta", normal("mu_global", "sigma_global"));
    model.rv("sigma_obs", exponential(2.0));
    model.rv("y_a", normal("alpha", "sigma_obs")).shape([30]);
    model.rv("y_b", normal("beta", "sigma_obs")).shape([30]);
    model.observe("y_a_obs", "y_a", data(30, 3.933257131, 11.443038595));
    model.observe("y_b_obs", "y_b", data(30, 6.757401056, 11.462142500));
    let values = [
        ("mu_global", number(5.0)),
        ("sigma_global", number(2.0)),
        ("alpha", number(4.0)),
        ("beta", number(7.0)),
        ("sigma_obs", number(0.8)),
    ];
    close(logp_of_values(&model, &values).0, -71.228721, SIX);
}

#[test]
fn funnel_and_its_slope() {
    let mut model = ModelBuilder::new();
    model.rv("y", normal(0.0, 3.0));
    model.rv("x", normal(0.0, (Expr::name("y") / 2.0).exp())).shape([9]).centred();
    let x: Vec<f64> = (1..=9).map(|i| 0.1 * f64::from(i)).collect();
    let (logp, gradient) = logp_of_values(&model, &[("x", Tensor::vector(&x)), ("y", number(1.0))]);
    close(logp, -15.367781, SIX);
    close(gradient[9], -4.086883, SIX);
}

#[test]
fn logistic_regression_and_its_gradient() {
    let mut model = ModelBuilder::new();
    model.data("X", Tensor::real([3, 2], [1.0, 0.0, 0.0, 1.0, 1.0, 1.0]).unwrap());
    model.rv("alpha", normal(0.0, 10.0));
    model.rv("beta", normal(0.0, 10.0)).shape([2]);
    model.rv("y", bernoulli_logit(Expr::name("alpha") + Expr::name("X").matmul("beta")));
    let outcomes = Tensor::int([3], [1.0, 0.0, 1.0]).unwrap();
    assert_eq!(outcomes.dtype(), DType::Int);
    model.observe("y_obs", "y", outcomes);
    let (logp, gradient) = logp_at(&model, &[0.5, 0.3, -0.2]);
    close(logp, -11.329415, SIX);
    for (found, expected) in gradient.iter().zip([0.084927, 0.661369, -0.218099]) {
        close(*found, expected, SIX);
    }
}

#[test]
fn stochastic_volatility_with_and_without_jacobians() {
    let mut model = ModelBuilder::new();
    model.rv("sigma", exponential(50.0));
    model.rv("nu", exponential(0.1));
    // The random walk is defined with an initial scale; the model takes the step's.
    model.rv("s", gaussian_random_walk("sigma", "sigma")).shape([3]).centred();
    model.rv("r", student_t("nu", 0.0, Expr::name("s").exp()));
    model.observe("r_obs", "r", [0.5, -1.0, 0.2]);
    let s = Tensor::vector(&[0.1, 0.2, 0.15]);
    let values = [("nu", number(10.0)), ("s", s), ("sigma", number(0.15))];
    close(logp_of_values(&model, &values).0, -8.222268, SIX);
    let with = bound(&model);
    let named: Values = values.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect();
    let position = with.unconstrain(&named).unwrap();
    close(with.logp_grad(&position).unwrap().0, -7.816803, SIX);
}
