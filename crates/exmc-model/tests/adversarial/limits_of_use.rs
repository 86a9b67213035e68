//! Inputs of absurd size, depth or emptiness: errors, never a panic, an overflow or an endless
//! wait.

use std::time::Instant;

use exmc_graph::{DType, Tensor};
use exmc_model::distributions::{
    bernoulli, categorical_logit, dirichlet, gaussian_random_walk, half_normal, lkj_corr_cholesky,
    mixture, multi_normal, normal, ordered_logistic, truncated, uniform,
};
use exmc_model::{Code, Expr, ModelBuilder, TransformSpec};

use crate::adversarial::harness::{Values, at_position, joint, lowered};

/// Dropping and refusing a chain of 10^5 additions takes no stack.
#[test]
fn deep_expressions_are_errors_not_overflows() {
    let mut chain = Expr::name("x");
    for _ in 0..100_000 {
        chain = chain + 1.0;
    }
    let error = lowered(|m| {
        m.rv("x", normal(0.0, 1.0));
        m.potential("p", chain);
    });
    assert!(error.unwrap_err().has(Code::BadArguments));
}

#[test]
fn huge_shapes_are_refused_before_memory_is_asked_for() {
    let huge = 1_000_000_000_000;
    let models: [fn(&mut ModelBuilder, usize); 8] = [
        |m, n| {
            let _ = m.rv("x", normal(0.0, 1.0)).shape([n]);
        },
        |m, n| {
            let _ = m.rv("x", normal(0.0, 1.0)).shape([n, n]);
        },
        |m, n| {
            let _ = m.rv("x", dirichlet([1.0, 1.0])).shape([n, 2]);
        },
        |m, n| {
            let _ = m.rv("x", lkj_corr_cholesky(1.0)).shape([n, n]);
        },
        |m, n| {
            let _ = m.rv("x", gaussian_random_walk(1.0, 1.0)).shape([n]);
        },
        |m, n| {
            m.declare_data("d", DType::Real, [n, n]);
        },
        |m, n| {
            m.det("d", Expr::from(1.0).reshape([n, n]));
        },
        |m, n| {
            m.plate("p", n);
            let _ = m.rv("x", normal(0.0, 1.0)).over(["p"]);
        },
    ];
    for (k, model) in models.into_iter().enumerate() {
        let error = lowered(|m| model(m, huge)).unwrap_err();
        assert!(error.has(Code::ShapeMismatch) || error.has(Code::BadArguments), "{k}: {error}");
    }
}

#[test]
fn empty_arrays_are_ordinary_values() {
    let empty = || Expr::from(Vec::<f64>::new());
    let none = Values::new();
    let found = lowered(|m| {
        let _ = m.rv("x", normal(0.0, 1.0)).shape([0]);
    })
    .unwrap();
    assert_eq!((found.dim, at_position(&found, &[], &none)), (0, 0.0));
    let found = lowered(|m| {
        let _ = m.rv("x", normal(empty(), 1.0));
    })
    .unwrap();
    assert_eq!(at_position(&found, &[], &none), 0.0);
    let found = lowered(|m| {
        let _ = m.rv("x", half_normal(empty()));
    })
    .unwrap();
    assert_eq!(at_position(&found, &[], &none), 0.0);
    let found = joint(&[], |m| {
        m.rv("x", normal(0.0, 1.0)).shape([0]);
        m.observe("o", "x", empty());
    });
    assert_eq!(found.unwrap(), 0.0);
    let found = joint(&[], |m| {
        m.rv("x", bernoulli(0.5)).shape([0]);
        m.observe("o", "x", empty());
    });
    assert_eq!(found.unwrap(), 0.0);
    let cases: [fn(&mut ModelBuilder); 7] = [
        |m| {
            let _ = m.rv("x", dirichlet(Vec::<f64>::new()));
        },
        |m| {
            let _ = m.rv("x", categorical_logit(Vec::<f64>::new()));
        },
        |m| {
            let _ = m.rv("x", ordered_logistic(0.0, Vec::<f64>::new()));
        },
        |m| {
            let _ = m.rv("x", mixture(Vec::<f64>::new(), vec![]));
        },
        |m| {
            let _ =
                m.rv("x", multi_normal(Vec::<f64>::new(), Tensor::real([0, 0], vec![]).unwrap()));
        },
        |m| {
            let _ = m.rv("x", normal(0.0, 1.0)).shape([0]).transform(TransformSpec::Ordered);
        },
        |m| {
            let _ = m.rv("x", truncated(normal(0.0, 1.0), Some(Vec::<f64>::new().into()), None));
        },
    ];
    for case in cases {
        // An error or a density, but no panic.
        if let Ok(found) = lowered(case) {
            assert_eq!(found.dim, 0);
        }
    }
}

/// Built, rewritten and lowered in time that does not grow with the square of the number of nodes.
/// The limit is twenty times what a quiet machine needs.
#[test]
fn a_thousand_nodes_take_no_time() {
    let count = 1000;
    let mut m = ModelBuilder::new();
    m.rv("tau", half_normal(1.0));
    for k in 0..count / 2 {
        let name = format!("x{k:04}");
        match k % 4 {
            0 => {
                let _ = m.rv(&name, normal(0.0, "tau"));
            }
            1 => {
                let _ = m.rv(&name, uniform(0.0, 1.0 + k as f64));
            }
            2 => {
                let _ = m.rv(&name, truncated(normal(0.0, 1.0), Some(0.0.into()), None));
            }
            _ => {
                let _ = m.rv(&name, normal(format!("x{:04}", k - 1), 1.0));
            }
        }
        m.rv(&format!("y{k:04}"), normal(name, 1.0));
        m.observe(&format!("o{k:04}"), &format!("y{k:04}"), 0.5);
    }
    let start = Instant::now();
    let model = m.build().unwrap();
    let built = start.elapsed();
    let rewritten = exmc_model::rewrite(&model, &[]).unwrap();
    let rewrote = start.elapsed();
    let found = exmc_model::lower(&rewritten, exmc_model::LowerOptions::default()).unwrap();
    let total = start.elapsed();
    assert_eq!(found.dim, count / 2 + 1);
    assert!(total.as_millis() < 2000, "build {built:?}, rewritten {rewrote:?}, lowered {total:?}");
}

/// Shared subexpressions are looked at once: 2^60 paths, 60 nodes.
#[test]
fn shared_paths_to_an_observed_image_are_walked_once() {
    let mut m = ModelBuilder::new();
    m.rv("x", normal(0.0, 1.0));
    m.det("d00", Expr::name("x") * 0.5);
    m.det("d01", Expr::name("x") * 0.5);
    for k in 2..60 {
        let (a, b) = (format!("d{:02}", k - 1), format!("d{:02}", k - 2));
        m.det(&format!("d{k:02}"), (Expr::name(a) + Expr::name(b)) * 0.5);
    }
    m.observe("o", "d59", 1.0);
    let rewritten = exmc_model::rewrite(&m.build().unwrap(), &[]).unwrap();
    assert!(rewritten.free_variables().is_empty());
}

/// A chain of ten thousand deterministic nodes before the observed one.
#[test]
fn long_chains_of_deterministic_nodes_take_no_stack() {
    let mut m = ModelBuilder::new();
    m.rv("x", normal(0.0, 1.0));
    m.det("d0", Expr::name("x") + 1.0);
    for k in 1..3000 {
        m.det(&format!("d{k}"), Expr::name(format!("d{}", k - 1)) + 1.0);
    }
    m.observe("o", "d2999", 3000.5);
    let rewritten = exmc_model::rewrite(&m.build().unwrap(), &[]).unwrap();
    assert!(rewritten.free_variables().is_empty());
}

#[test]
fn plates_of_one_name_and_two_sizes_are_refused() {
    let error = lowered(|m| {
        m.plate("p", 2).plate("p", 3);
        let _ = m.rv("x", normal(0.0, 1.0)).over(["p"]);
    });
    assert!(error.unwrap_err().has(Code::DuplicateName));
}

/// Names may hold dots, brackets and commas; nothing else that is odd.
#[test]
fn odd_names_are_refused_with_a_hint() {
    for name in ["", " x", "x y", "1x", "x\n", "x;", "-", "x/y", "\u{1F600}", "x\"", "x`"] {
        let error = lowered(|m| {
            let _ = m.rv(name, normal(0.0, 1.0));
        })
        .unwrap_err();
        assert!(error.has(Code::InvalidName), "{name:?}");
        assert!(error.to_string().contains("help: a name starts with"), "{error}");
    }
    for name in ["x.y", "x[1,2]", "_", "\u{03bc}", "x_1"] {
        lowered(|m| {
            let _ = m.rv(name, normal(0.0, 1.0));
        })
        .unwrap();
    }
}
