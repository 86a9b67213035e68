//! Densities that were once silently wrong.

use exmc_graph::Tensor;
use exmc_math::{exp, log};
use exmc_model::distributions::{
    bernoulli, binomial, categorical, censored, custom, dirichlet, half_normal, mixture,
    multi_normal, normal, poisson, truncated, uniform, zero_inflated,
};
use exmc_model::{Code, Expr, ModelBuilder, Reduce, Support, TransformSpec};

use crate::adversarial::harness::{Values, at_position, close, joint, lowered, lowered_with, s};

const HALF_LOG_TWO_PI: f64 = 0.918_938_533_204_672_7;

fn phi(z: f64) -> f64 {
    -0.5 * z * z - HALF_LOG_TWO_PI
}

/// A wider limit than the base's own does not widen the base: half_normal has no negative values.
#[test]
fn truncation_wider_than_the_support_keeps_the_support() {
    for position in [-30.0, -3.0, 0.0, 3.0, 30.0] {
        let wide = lowered(|m| {
            let _ = m.rv("x", truncated(half_normal(1.0), Some((-1.0).into()), Some(2.0.into())));
        });
        let tight = lowered(|m| {
            let _ = m.rv("x", truncated(half_normal(1.0), Some(0.0.into()), Some(2.0.into())));
        });
        let none = Values::new();
        close(
            at_position(&wide.unwrap(), &[position], &none),
            at_position(&tight.unwrap(), &[position], &none),
        );
    }
    let unit = lowered(|m| {
        let _ = m.rv("x", truncated(uniform(0.0, 1.0), Some((-1.0).into()), Some(0.5.into())));
    });
    let direct = lowered(|m| {
        let _ = m.rv("x", uniform(0.0, 0.5));
    })
    .unwrap();
    let (none, unit) = (Values::new(), unit.unwrap());
    close(at_position(&unit, &[-2.0], &none), at_position(&direct, &[-2.0], &none));
}

/// A mixture of uniform distributions reaches over all of its components.
#[test]
fn mixtures_of_intervals_reach_every_component() {
    let model = |m: &mut ModelBuilder| {
        let _ = m.rv("x", mixture([0.25, 0.75], vec![uniform(0.0, 1.0), uniform(2.0, 4.0)]));
    };
    close(joint(&[("x", s(3.0))], model).unwrap(), log(0.375));
    close(joint(&[("x", s(0.5))], model).unwrap(), log(0.25));
    close(joint(&[("x", s(1.5))], model).unwrap(), f64::NEG_INFINITY);
}

/// Counts of different kinds are still counts, which NUTS cannot move.
#[test]
fn free_mixtures_of_unlike_counts_are_refused() {
    let unlike = [
        vec![bernoulli(0.5), categorical([0.2, 0.3, 0.5])],
        vec![poisson(2.0), categorical([0.2, 0.8])],
        vec![binomial(3.0, 0.5), binomial(5.0, 0.5)],
    ];
    for components in unlike {
        let error = lowered(|m| {
            let _ = m.rv("x", mixture([0.5, 0.5], components));
        })
        .unwrap_err();
        assert!(error.has(Code::DiscreteVariable), "{error}");
    }
}

/// 12 of 10 trials is impossible, zero inflated or not.
#[test]
fn zero_inflation_keeps_the_limit_of_its_base() {
    let error = lowered(|m| {
        m.rv("x", zero_inflated(binomial(10.0, 0.5), 0.2));
        m.observe("o", "x", 12.0);
    });
    assert!(error.unwrap_err().has(Code::OutsideSupport));
    let hurdle = joint(&[], |m| {
        m.rv("x", zero_inflated(truncated(poisson(2.0), Some(1.0.into()), None), 0.3));
        m.observe("o", "x", 0.0);
    });
    close(hurdle.unwrap(), log(0.3));
}

/// A probability mass has no Jacobian: P(2 k = 6) = P(k = 3).
#[test]
fn observed_images_of_counts_have_no_jacobian() {
    let found = joint(&[], |m| {
        m.rv("k", poisson(2.0));
        m.det("y", Expr::name("k") * 2.0 + 1.0);
        m.observe("o", "y", 7.0);
    });
    close(found.unwrap(), -2.0 + 3.0 * log(2.0) - log(6.0));
}

/// In `y = a + k` only a can be solved for, and k stays a free count.
#[test]
fn a_count_left_free_by_a_measurable_map_is_refused() {
    for name in ["k", "z"] {
        let error = lowered(|m| {
            m.rv("m", normal(0.0, 1.0));
            m.rv(name, poisson(2.0));
            m.det("y", Expr::name("m") + Expr::name(name));
            m.observe("o", "y", 7.5);
        });
        assert!(error.unwrap_err().has(Code::DiscreteVariable));
    }
}

/// `p(y1, y2)` of a sum and a difference: y1 ~ N(0, sqrt 2), y2 ~ N(0, sqrt 2), independent.
#[test]
fn two_images_of_two_variables_are_solved_together() {
    let found = joint(&[], |m| {
        m.rv("a", normal(0.0, 1.0));
        m.rv("b", normal(0.0, 1.0));
        m.det("sum", Expr::name("a") + Expr::name("b"));
        m.det("difference", Expr::name("a") - Expr::name("b"));
        m.observe("o1", "sum", 1.5);
        m.observe("o2", "difference", 0.7);
    });
    let one = |y: f64| phi(y / 2.0_f64.sqrt()) - 0.5 * log(2.0);
    close(found.unwrap(), one(1.5) + one(0.7));
}

/// a = y - b would make b's value wait for itself once b is non-centred; b is solved for instead.
#[test]
fn a_map_is_solved_for_the_variable_that_no_other_waits_for() {
    let values = [("a", s(0.4)), ("s", s(1.5)), ("z", s(0.9))];
    let found = joint(&values, |m| {
        m.rv("a", normal(0.0, 1.0));
        m.rv("s", half_normal(1.0));
        m.rv("b", normal("a", "s"));
        m.rv("z", normal("b", 1.0));
        m.det("y", Expr::name("a") + Expr::name("b"));
        m.observe("o", "y", 1.0);
    });
    let b = 0.6;
    let expected = phi(0.4) + log(2.0) + phi(1.5) + phi((b - 0.4) / 1.5) - log(1.5) + phi(0.9 - b);
    close(found.unwrap(), expected);
    let bounded = joint(&[("a", s(0.4)), ("z", s(0.9))], |m| {
        m.rv("a", normal(0.0, 1.0));
        m.rv("b", uniform("a", 10.0));
        m.rv("z", normal("b", 1.0));
        m.det("y", Expr::name("a") + Expr::name("b"));
        m.observe("o", "y", 1.0);
    });
    close(bounded.unwrap(), phi(0.4) - log(9.6) + phi(0.3));
}

/// A partly observed variable is not free to be solved for.
#[test]
fn a_partly_observed_variable_is_not_observed_again_through_an_image() {
    let error = lowered(|m| {
        m.rv("x", normal(0.0, 1.0)).shape([2]);
        m.observe_partly("o", "x", &[Some(1.0), None]);
        m.det("y", Expr::name("x") * 2.0);
        m.observe("o2", "y", [2.0, 3.0]);
    });
    assert!(error.unwrap_err().has(Code::BadObservation));
}

/// The density of `2 x`, x multivariate normal, is counted once and not once an element.
#[test]
fn scaled_vectors_are_one_outcome() {
    let covariance = Tensor::real([2, 2], vec![1.0, 0.0, 0.0, 1.0]).unwrap();
    let found = joint(&[], |m| {
        m.rv("x", multi_normal([0.0, 0.0], covariance.clone()));
        m.det("y", Expr::name("x") * Expr::from([2.0, 3.0]));
        m.observe("o", "y", [1.0, 1.5]);
    });
    close(found.unwrap(), phi(0.5) + phi(0.5) - log(6.0));
    let batch = joint(&[], |m| {
        m.rv("x", multi_normal([0.0, 0.0], covariance)).shape([3, 2]);
        m.det("y", Expr::name("x") * 2.0);
        m.observe("o", "y", Tensor::real([3, 2], vec![0.0; 6]).unwrap());
    });
    close(batch.unwrap(), 6.0 * (phi(0.0) - log(2.0)));
    let simplex = lowered(|m| {
        m.rv("x", dirichlet([1.0, 1.0]));
        m.det("y", Expr::name("x") * 2.0);
        m.observe("o", "y", [1.0, 1.0]);
    });
    assert!(simplex.unwrap_err().has(Code::BadObservation));
}

/// Masks and weights of vector outcomes are per outcome; a masked outcome may be anything.
#[test]
fn vector_outcomes_take_masks_and_weights() {
    let covariance = Tensor::real([2, 2], vec![1.0, 0.0, 0.0, 1.0]).unwrap();
    let value = Tensor::real([3, 2], vec![0.0, 0.0, f64::NAN, 1.0, 1.0, 1.0]).unwrap();
    let found = joint(&[], |m| {
        m.rv("x", multi_normal([0.0, 0.0], covariance)).shape([3, 2]);
        m.observe("o", "x", value).mask([1.0, 0.0, 1.0]).weight([1.0, 1.0, 0.5]);
    });
    close(found.unwrap(), 2.0 * phi(0.0) + phi(1.0));
    let rows = Tensor::real([2, 2], vec![0.25, 0.75, 0.0, 0.0]).unwrap();
    let found = joint(&[], |m| {
        m.rv("x", dirichlet([2.0, 1.0])).shape([2, 2]);
        m.observe("o", "x", rows).mask([1.0, 0.0]);
    });
    close(found.unwrap(), log(0.5));
}

/// Missing elements keep their prior whatever mask, weight or censoring the others have.
#[test]
fn missing_elements_always_have_their_density() {
    let values = [("x", Tensor::vector(&[1.0, 0.3]))];
    let partly = |m: &mut ModelBuilder| {
        let _ = m.rv("x", normal(0.0, 1.0)).shape([2]);
    };
    let masked = joint(&values, |m| {
        partly(m);
        m.observe_partly("o", "x", &[Some(1.0), None]).mask(0.0);
    });
    close(masked.unwrap(), phi(0.3));
    let weighted = joint(&values, |m| {
        partly(m);
        m.observe_partly("o", "x", &[Some(1.0), None]).weight(0.5);
    });
    close(weighted.unwrap(), 0.5 * phi(1.0) + phi(0.3));
    let right = joint(&values, |m| {
        partly(m);
        m.observe_partly("o", "x", &[Some(1.0), None]).right_censored();
    });
    close(right.unwrap(), log(0.158_655_253_931_457_05) + phi(0.3));
}

/// One value does not stand for five when some are missing; an ordered vector cannot be imputed by
/// element.
#[test]
fn partly_observed_values_have_the_whole_shape() {
    let error = lowered(|m| {
        m.rv("x", normal(0.0, 1.0)).shape([5]);
        m.observe_partly("o", "x", &[None]);
    });
    assert!(error.unwrap_err().has(Code::ShapeMismatch));
    let error = lowered(|m| {
        m.rv("x", normal(0.0, 1.0)).shape([3]).transform(TransformSpec::Ordered);
        m.observe_partly("o", "x", &[None, Some(2.0), None]);
    });
    assert!(error.unwrap_err().has(Code::BadTransform));
}

/// A scale must be positive whether its variable is centred or not.
#[test]
fn non_centring_keeps_the_check_of_the_scale() {
    for centred in [true, false] {
        let found = joint(&[("s", s(-0.5)), ("x", s(0.2))], |m| {
            m.rv("s", normal(0.0, 1.0));
            let x = m.rv("x", normal(0.0, "s"));
            let _ = if centred { x.centred() } else { x.non_centred() };
        });
        assert_eq!(found.unwrap(), f64::NEG_INFINITY, "centred: {centred}");
    }
    let asked = lowered(|m| {
        m.data("s", s(-1.0));
        m.rv("x", normal(0.0, "s")).non_centred();
    });
    assert_eq!(asked.unwrap().checks.len(), 1, "a scale that is data is checked when bound");
}

/// A free censored variable would have atoms at its limits (and no finite integral beyond them).
#[test]
fn free_censored_variables_are_refused() {
    let base = || censored(normal(0.0, 1.0), None, Some(1.0.into()));
    for dist in [base(), mixture([0.5, 0.5], vec![base(), base()])] {
        let error = lowered(|m| {
            let _ = m.rv("x", dist.clone());
        })
        .unwrap_err();
        assert!(error.to_string().contains("its limits have probabilities"), "{error}");
        let error = lowered(|m| {
            m.rv("x", dist).shape([2]);
            m.observe_partly("o", "x", &[Some(0.5), None]);
        });
        assert!(error.unwrap_err().has(Code::BadArguments));
    }
}

/// Censoring codes are -1, 0, 1, 2; an interval needs an upper limit that lies above.
#[test]
fn censoring_codes_are_checked() {
    let observe = |code: f64, upper: Option<f64>| {
        joint(&[], |m| {
            m.rv("x", normal(0.0, 1.0)).shape([2]);
            m.observe("o", "x", [0.1, 0.2]).censoring([0.0, code], upper.map(Expr::from));
        })
    };
    close(observe(1.0, None).unwrap(), phi(0.1) + log(0.420_740_290_560_896_9));
    for (code, upper) in [(3.0, None), (0.5, None), (2.0, None), (2.0, Some(-1.0))] {
        let error = observe(code, upper).unwrap_err();
        assert!(error.has(Code::BadObservation), "{code} {upper:?}: {error}");
    }
}

/// A likelihood with every element masked is empty, whether the mask is a constant or data.
#[test]
fn an_empty_mask_adds_nothing() {
    for how in [Reduce::Sum, Reduce::Mean, Reduce::LogSumExp] {
        let found = joint(&[("mask", Tensor::vector(&[0.0, 0.0]))], |m| {
            m.data("mask", Tensor::vector(&[0.0, 0.0]));
            m.rv("x", normal(0.0, 1.0)).shape([2]);
            m.observe("o", "x", [1.0, 2.0]).mask("mask").reduce(how);
        });
        close(found.unwrap(), 0.0);
    }
}

/// A deterministic value of data is data: it can be observed, and is no funnel.
#[test]
fn values_computed_from_data_are_data() {
    let found = joint(&[("raw", Tensor::vector(&[1.0, 3.0]))], |m| {
        m.data("raw", Tensor::vector(&[1.0, 3.0]));
        m.det("z", (Expr::name("raw") - 2.0) / 2.0);
        m.rv("x", normal(0.0, 1.0)).shape([2]);
        m.observe("o", "x", "z");
    });
    close(found.unwrap(), 2.0 * phi(0.5));
}

/// A parameter called like the outcome would hide it; two of one name would hide each other.
#[test]
fn names_of_custom_parameters_are_checked() {
    for names in [["value", "b"], ["b", "b"]] {
        let args = names.map(|n| (n, Expr::from(1.0)));
        let error = lowered(|m| {
            let _ = m.rv("x", custom(args, Support::Real, Expr::name("value") * 1.0, None));
        });
        assert!(error.unwrap_err().has(Code::DuplicateName));
    }
}

/// Limits of a transform that do not increase have nothing between them.
#[test]
fn transforms_with_limits_the_wrong_way_round_are_refused() {
    for (a, b) in [(1.0, 0.0), (1.0, 1.0), (f64::NAN, 1.0)] {
        let error = lowered(|m| {
            m.rv("x", normal(0.0, 1.0)).transform(TransformSpec::Interval(a.into(), b.into()));
        });
        assert!(error.unwrap_err().has(Code::BadTransform), "{a} {b}");
    }
}

/// Simplexes and factors have fewer free numbers than elements: only their own transforms count
/// them.
#[test]
fn outcomes_of_lower_dimension_need_their_own_transform() {
    let error = lowered(|m| {
        m.rv("x", dirichlet([1.0, 1.0])).transform(TransformSpec::Identity);
    });
    assert!(error.unwrap_err().has(Code::BadTransform));
    let plain = lowered(|m| {
        m.rv("x", dirichlet([1.0, 1.0])).transform(TransformSpec::SimplexPlain);
    });
    assert_eq!(plain.unwrap().dim, 1);
}

/// Jacobians of custom shapes inside mixtures follow the mixture's shape.
#[test]
fn custom_components_take_the_shape_of_the_mixture() {
    let logp = Expr::name("value") * -1.0;
    let found = lowered_with(false, |m| {
        let component = custom([], Support::Real, logp, None);
        m.rv("x", mixture([0.5, 0.5], vec![component, normal([0.0, 0.0, 0.0], 1.0)]));
        m.observe("o", "x", [0.0, 0.0, 0.0]);
    });
    let found = at_position(&found.unwrap(), &[], &Values::new());
    close(found, 3.0 * log(0.5 + 0.5 * exp(phi(0.0))));
}

/// Weights multiply log densities; one that is negative or NaN is a mistake.
#[test]
fn weights_are_not_negative() {
    for weight in [-1.0, f64::NAN] {
        let error = lowered(|m| {
            m.rv("x", normal(0.0, 1.0)).shape([2]);
            m.observe("o", "x", [0.0, 1.0]).weight([1.0, weight]);
        });
        assert!(error.unwrap_err().has(Code::BadObservation));
    }
    let checked = lowered(|m| {
        m.data("w", s(1.0));
        m.rv("x", normal(0.0, 1.0));
        m.observe("o", "x", 0.5).weight("w");
    });
    assert_eq!(checked.unwrap().checks.len(), 1, "weights that are data are checked when bound");
}
