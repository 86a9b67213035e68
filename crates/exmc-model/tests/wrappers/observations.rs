//! What observations say of their elements: weights, masks, reductions, censoring by element.

use exmc_graph::{DType, Shape, Tensor};
use exmc_model::distributions::{
    dirichlet, gamma, multi_normal, multinomial, normal, poisson, weibull,
};
use exmc_model::{Code, DistSpec, Expr, ModelBuilder, ObsBuilder, Reduce};

use super::harness::{Point, close, golden, normal_lpdf};

const NAN: f64 = f64::NAN;

/// Three observations 1, 2, 3 of a standard normal with settings.
fn three(settings: impl FnOnce(ObsBuilder<'_>) -> ObsBuilder<'_>) -> Point {
    let mut model = ModelBuilder::new();
    model.rv("y", normal(0.0, 1.0)).shape([3]);
    settings(model.observe("obs", "y", [1.0, 2.0, 3.0]));
    Point::new(&model, &[])
}

#[test]
fn specification_of_weights_masks_and_reductions() {
    let check = |settings: fn(ObsBuilder<'_>) -> ObsBuilder<'_>, value: f64| {
        golden(three(settings).term("obs").unwrap(), value);
    };
    check(|o| o, -9.756816);
    check(|o| o.reduce(Reduce::Mean), -3.252272);
    check(|o| o.reduce(Reduce::LogSumExp), -1.202662);
    check(|o| o.weight([1.0, 0.5, 2.0]), -13.716285);
    check(|o| o.weight(0.5).mask([1.0, 0.0, 1.0]), -3.418939);
    check(|o| o.weight(0.5).mask([1.0, 0.0, 1.0]).reduce(Reduce::Mean), -1.709469);
    check(|o| o.weight(0.5).mask([1.0, 0.0, 1.0]).reduce(Reduce::LogSumExp), -0.582541);
}

#[test]
fn without_likelihood_there_is_no_term_and_nothing_pointwise() {
    let point = three(|o| o.likelihood(false));
    assert_eq!(point.term("obs"), None);
    assert_eq!(point.logp(), 0.0);
    assert!(point.lowered.pointwise.is_empty());
    let point = three(|o| o.mask(0.0));
    assert_eq!((point.logp(), point.lowered.pointwise.len()), (0.0, 0));
}

#[test]
fn pointwise_values_are_weighted_and_not_reduced() {
    let point = three(|o| o.weight([1.0, 0.5, 2.0]).reduce(Reduce::Mean));
    let wanted = [1.0, 0.5, 2.0].iter().zip([1.0, 2.0, 3.0]);
    for (found, (w, y)) in point.pointwise("y").into_iter().zip(wanted) {
        close(found, w * normal_lpdf(y, 0.0, 1.0));
    }
}

/// The model with a mask, and observations that are only used where it is not 0, given as data.
fn masked(dist: DistSpec, values: &[f64], mask: &[f64], how: Reduce) -> Point {
    let mut model = ModelBuilder::new();
    model.rv("a", gamma(2.0, 1.0));
    model.rv("y", dist).shape([values.len()]);
    model.declare_data("seen", DType::Real, [values.len()]);
    model.declare_data("used", DType::Real, [values.len()]);
    model.observe("obs", "y", "seen").mask("used").reduce(how);
    let values = [
        ("a", Tensor::scalar(0.4)),
        ("seen", Tensor::vector(values)),
        ("used", Tensor::vector(mask)),
    ];
    Point::new(&model, &values)
}

#[test]
fn masked_elements_may_be_nan_or_impossible() {
    let families: [fn() -> DistSpec; 3] =
        [|| normal("a", "a"), || gamma("a", 1.5), || weibull("a", "a")];
    for (k, dist) in families.iter().enumerate() {
        for how in [Reduce::Sum, Reduce::Mean, Reduce::LogSumExp] {
            let all = masked(dist(), &[0.5, 2.0], &[1.0, 1.0], how);
            let values = [NAN, 0.5, -1.0, f64::INFINITY, 2.0, 0.0];
            let some = masked(dist(), &values, &[0.0, 1.0, 0.0, 0.0, 1.0, 0.0], how);
            assert!(some.data_are_good());
            close(some.term("obs").unwrap(), all.term("obs").unwrap());
            close(some.gradient("a")[0], all.gradient("a")[0]);
            assert_eq!(some.check_gradient("a", &format!("{k} {how:?}")), 1);
            // The same value without the mask is refused.
            let mask = [1.0, 1.0, 0.0, 0.0, 1.0, 0.0];
            assert!(!masked(dist(), &values, &mask, how).data_are_good());
        }
    }
}

#[test]
fn a_mask_in_the_data_may_leave_out_everything() {
    for how in [Reduce::Sum, Reduce::Mean, Reduce::LogSumExp] {
        let none = masked(normal("a", 1.0), &[NAN, 1.0], &[0.0, 0.0], how);
        assert_eq!(none.term("obs"), Some(0.0), "{how:?}");
        assert!(none.gradient("a")[0].is_finite());
    }
}

#[test]
fn masked_vectors_may_be_nan() {
    let build = |rows: &[f64], mask: &[f64]| {
        let mut model = ModelBuilder::new();
        model.rv("a", gamma(2.0, 1.0));
        let diagonal = Tensor::real([2, 2], vec![1.0, 0.0, 0.0, 1.0]).unwrap();
        let off = Tensor::real([2, 2], vec![0.5, 0.2, 0.2, 0.0]).unwrap();
        let covariance = Expr::from(diagonal) + Expr::from(off) * Expr::name("a");
        let n = mask.len();
        model.rv("y", multi_normal([0.5, -0.5], covariance)).shape([n, 2]);
        model.declare_data("seen", DType::Real, [n, 2]);
        model.observe("obs", "y", "seen").mask(mask);
        let seen = Tensor::real([n, 2], rows.to_vec()).unwrap();
        Point::new(&model, &[("a", Tensor::scalar(0.4)), ("seen", seen)])
    };
    let all = build(&[1.0, 2.0, 0.0, 0.5], &[1.0, 1.0]);
    let some = build(&[1.0, 2.0, NAN, 3.0, 0.0, 0.5], &[1.0, 0.0, 1.0]);
    assert!(some.data_are_good());
    close(some.term("obs").unwrap(), all.term("obs").unwrap());
    close(some.gradient("a")[0], all.gradient("a")[0]);
    assert_eq!(some.check_gradient("a", "masked rows"), 1);
    assert!(!build(&[1.0, 2.0, NAN, 3.0], &[1.0, 1.0]).data_are_good());
}

#[test]
fn masked_simplexes_and_counts_may_be_impossible() {
    let rows = |seen: Vec<f64>| Tensor::real([2, 3], seen).unwrap();
    let mut model = ModelBuilder::new();
    model.rv("y", dirichlet([1.0, 2.0, 3.0])).shape([2, 3]);
    let seen = rows(vec![NAN, 0.0, 9.0, 0.2, 0.3, 0.5]);
    model.observe("obs", "y", seen).mask([0.0, 1.0]);
    let shares = Point::new(&model, &[]).term("obs").unwrap();
    // Gamma(6) / (Gamma(2) Gamma(3)) times 0.3 * 0.25
    close(shares, (60.0_f64 * 0.3 * 0.25).ln());

    let mut model = ModelBuilder::new();
    model.rv("y", multinomial(4.0, [0.2, 0.3, 0.5])).shape([2, 3]);
    let seen = rows(vec![-1.0, 7.0, 0.5, 1.0, 1.0, 2.0]);
    model.observe("obs", "y", seen).mask([0.0, 1.0]);
    let counts = Point::new(&model, &[]).term("obs").unwrap();
    close(counts, (12.0_f64 * 0.2 * 0.3 * 0.25).ln());
}

/// Normal elements: seen, above, below, within, masked.
fn by_code(code: impl Into<Expr>, upper: Option<Expr>) -> ModelBuilder {
    let mut model = ModelBuilder::new();
    model.rv("mu", normal(0.0, 1.0));
    model.rv("y", normal("mu", 2.0)).shape([5]);
    model
        .observe("obs", "y", [0.5, 2.5, 1.5, -1.0, NAN])
        .censoring(code, upper)
        .mask([1.0, 1.0, 1.0, 1.0, 0.0])
        .weight([1.0, 2.0, 1.0, 0.5, 1.0]);
    model
}

#[test]
fn censoring_by_element() {
    let upper = [NAN, NAN, NAN, 0.5, NAN];
    let code = [0.0, 1.0, -1.0, 2.0, 7.0];
    let mu = ("mu", Tensor::scalar(0.3));
    let point = Point::new(&by_code(code, Some(upper.into())), std::slice::from_ref(&mu));
    // log S(1.1), log F(.6), log(F(.1) - F(-.65)), from the normal distribution function to 16
    // digits.
    let tails = [-1.997_558_846_986_297, -0.320_553_971_987_518_86, -1.265_913_009_891_262_3];
    let parts = [normal_lpdf(0.5, 0.3, 2.0), 2.0 * tails[0], tails[1], 0.5 * tails[2]];
    for (found, expected) in point.pointwise("y").into_iter().zip(parts) {
        close(found, expected);
    }
    close(point.term("obs").unwrap(), parts.iter().sum());
    assert_eq!(point.check_gradient("mu", "censoring by element"), 1);

    // As data, the same numbers.
    let mut model = by_code("code", Some("upper".into()));
    model.declare_data("code", DType::Int, [5]);
    model.declare_data("upper", DType::Real, [5]);
    let codes = Tensor::int([5], code.to_vec()).unwrap();
    let values = [mu, ("code", codes), ("upper", Tensor::vector(&upper))];
    let bound = Point::new(&model, &values);
    assert!(bound.data_are_good());
    close(bound.term("obs").unwrap(), point.term("obs").unwrap());
    close(bound.gradient("mu")[0], point.gradient("mu")[0]);
}

#[test]
fn censoring_codes_are_checked() {
    let refused = |model: &ModelBuilder| model.build().unwrap_err().has(Code::BadObservation);
    let upper = || Some(Expr::from([NAN, NAN, NAN, 0.5, NAN]));
    assert!(refused(&by_code([0.0, 3.0, -1.0, 2.0, 0.0], upper())), "an unknown code");
    assert!(refused(&by_code([0.0, 1.0, -1.0, 2.0, 0.0], None)), "an interval without an end");
    assert!(refused(&by_code([0.0, 2.0, -1.0, 2.0, 0.0], upper())), "an end that is NaN");
    assert!(refused(&by_code(2.0, Some((-2.0).into()))), "an end below the value");
    assert!(by_code([0.0, 1.0, -1.0, 2.0, 3.0], upper()).build().is_ok(), "a masked code");

    // The same, found when data are bound.
    let mut model = by_code("code", Some("upper".into()));
    model.declare_data("code", DType::Int, [5]);
    model.declare_data("upper", DType::Real, [5]);
    for (codes, upper) in [([0, 3, -1, 2, 0], 0.5), ([0, 1, -1, 2, 0], -1.0), ([0; 5], 0.0)] {
        let codes_good = codes == [0; 5];
        let codes = Tensor::int([5], codes.map(f64::from).to_vec()).unwrap();
        let upper = Tensor::vector(&[NAN, NAN, NAN, upper, NAN]);
        let values = [("mu", Tensor::scalar(0.0)), ("code", codes), ("upper", upper)];
        assert_eq!(Point::new(&model, &values).data_are_good(), codes_good);
    }
}

#[test]
fn censored_lifetimes_may_start_at_zero() {
    let mut model = ModelBuilder::new();
    model.rv("k", gamma(2.0, 1.0));
    model.rv("t", weibull("k", 2.0)).shape([3]);
    model
        .observe("obs", "t", [0.0, 0.0, 1.0])
        .censoring([2.0, 1.0, 0.0], Some([1.5, 0.0, 0.0].into()));
    let point = Point::new(&model, &[("k", Tensor::scalar(0.2))]);
    let k = 0.2_f64.exp();
    let first = (-(-(0.75_f64.powf(k))).exp_m1()).ln();
    let density = k.ln() - 1.0_f64.ln() + k * 0.5_f64.ln() - 0.5_f64.powf(k);
    close(point.term("obs").unwrap(), first + density);
    assert_eq!(point.check_gradient("k", "lifetimes"), 1);
    let mut model = ModelBuilder::new();
    model.rv("t", weibull(1.5, 2.0)).shape([2]);
    model.observe("obs", "t", [0.0, 1.0]);
    assert!(model.build().unwrap_err().has(Code::OutsideSupport), "seen exactly at zero");
}

#[test]
fn censored_counts_take_whole_numbers() {
    // P(Y >= 2.5) and P(1.5 <= Y <= 3.5) of a Poisson with mean 1: from 3 on, and 2 to 3.
    let e = (-1.0_f64).exp();
    let mut model = ModelBuilder::new();
    model.rv("y", poisson(1.0)).shape([2]);
    model.observe("obs", "y", [2.5, 1.5]).censoring([1.0, 2.0], Some([0.0, 3.5].into()));
    let found = Point::new(&model, &[]).pointwise("y");
    close(found[0], (1.0 - 2.5 * e).ln());
    close(found[1], ((0.5 + 1.0 / 6.0) * e).ln());
}

#[test]
fn scalars_and_matrices_reduce_alike() {
    for shape in [vec![], vec![4], vec![2, 2]] {
        let shape = Shape::from(shape);
        let n = shape.len() as f64;
        let mut model = ModelBuilder::new();
        model.rv("y", normal(0.0, 1.0)).shape(shape);
        model.observe("obs", "y", 1.5).reduce(Reduce::LogSumExp);
        close(Point::new(&model, &[]).logp(), normal_lpdf(1.5, 0.0, 1.0) + n.ln());
    }
}
