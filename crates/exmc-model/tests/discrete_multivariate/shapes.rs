//! Shapes of outcomes from those of parameters, and densities of batches.

use exmc_graph::Shape;

use super::examples::EXAMPLES;
use super::harness::Quantity::Lpdf;
use super::harness::{compile_shaped, event_shape, family, value};

fn outcome(
    name: &str,
    args: &[&[usize]],
    declared: Option<&[usize]>,
) -> Result<Vec<usize>, String> {
    let args: Vec<Shape> = args.iter().map(|a| Shape::from(*a)).collect();
    let args: Vec<&Shape> = args.iter().collect();
    let declared = declared.map(Shape::from);
    family(name).outcome_shape(&args, declared.as_ref()).map(|s| s.extents().to_vec())
}

#[test]
fn follow_from_the_parameters() {
    assert_eq!(outcome("poisson", &[&[5]], None), Ok(vec![5]));
    assert_eq!(outcome("categorical", &[&[3]], None), Ok(vec![]));
    assert_eq!(outcome("categorical", &[&[3]], Some(&[7])), Ok(vec![7]));
    assert_eq!(outcome("categorical", &[&[7, 3]], None), Ok(vec![7]));
    assert_eq!(outcome("ordered_logistic", &[&[7], &[4]], None), Ok(vec![7]));
    assert_eq!(outcome("dirichlet", &[&[3]], None), Ok(vec![3]));
    assert_eq!(outcome("dirichlet", &[&[3]], Some(&[5, 3])), Ok(vec![5, 3]));
    assert_eq!(outcome("multinomial", &[&[5], &[3]], None), Ok(vec![5, 3]));
    assert_eq!(outcome("multi_normal", &[&[2], &[2, 2]], Some(&[9, 2])), Ok(vec![9, 2]));
    assert_eq!(outcome("multi_normal", &[&[9, 2], &[2, 2]], None), Ok(vec![9, 2]));
    assert_eq!(outcome("lkj_corr_cholesky", &[&[]], Some(&[4, 4])), Ok(vec![4, 4]));
    assert_eq!(outcome("gaussian_random_walk", &[&[], &[], &[]], Some(&[8])), Ok(vec![8]));
    assert_eq!(outcome("gaussian_random_walk", &[&[3], &[], &[]], Some(&[3, 8])), Ok(vec![3, 8]));
    assert_eq!(outcome("ar", &[&[2], &[], &[], &[], &[]], Some(&[8])), Ok(vec![8]));
}

#[test]
fn that_do_not_fit_are_plain_sentences() {
    let error = |name: &str, args: &[&[usize]], declared: Option<&[usize]>| {
        outcome(name, args, declared).unwrap_err()
    };
    assert_eq!(
        error("categorical", &[&[]], None),
        "its parameter theta must be a vector, found shape []"
    );
    assert_eq!(
        error("categorical", &[&[7, 3]], Some(&[6])),
        "its declared shape is [6], but its parameters make outcomes [7]"
    );
    assert_eq!(
        error("dirichlet", &[&[3]], Some(&[4])),
        "its declared shape is [4], but its parameters make outcomes [3]"
    );
    assert_eq!(
        error("multinomial", &[&[5], &[6, 3]], None),
        "its parameters come in batches [5] and [6], which do not broadcast"
    );
    assert_eq!(
        error("multi_normal", &[&[3], &[2, 2]], None),
        "its parameter covariance must have shape [3, 3] for outcomes of length 3, found [2, 2]"
    );
    assert_eq!(
        error("multi_normal_cholesky", &[&[2], &[2]], None),
        "its parameter cholesky must be a matrix, found shape [2]"
    );
    assert_eq!(
        error("lkj_corr_cholesky", &[&[]], None),
        "the size of the matrix is not known: declare a shape such as [3, 3]"
    );
    assert_eq!(
        error("lkj_corr_cholesky", &[&[]], Some(&[3, 2])),
        "a Cholesky factor is one square matrix, but its declared shape is [3, 2]"
    );
    assert_eq!(
        error("gaussian_random_walk", &[&[], &[], &[]], None),
        "the length of the series is not known: declare a shape such as [100]"
    );
    assert_eq!(
        error("ar", &[&[3], &[], &[], &[], &[]], Some(&[2])),
        "3 coefficients need a series of at least 3 values, found 2"
    );
}

/// Every family's row with all outcomes in one array, and with parameters repeated for each outcome
/// where they have batches: the same numbers as one by one.
#[test]
fn of_batches_give_what_single_outcomes_give() {
    for e in EXAMPLES.iter().filter(|e| e.family != "lkj_corr_cholesky") {
        let f = family(e.family);
        let n = e.outcomes.len();
        let event = event_shape(f.event_rank(), e.outcomes[0].len());
        let y = (Shape::from([n]).join(event.extents()), e.outcomes.concat());
        let one_by_one: Vec<f64> =
            e.outcomes.iter().map(|y| value(e.family, Lpdf, y, e.parameters)).collect();
        for repeated in [false, true] {
            let parameters: Vec<_> = f
                .parameters()
                .iter()
                .zip(e.parameters)
                .map(|(p, values)| {
                    let shape = event_shape(p.rank, values.len());
                    if repeated && p.rank < 2 {
                        (Shape::from([n]).join(shape.extents()), values.repeat(n))
                    } else {
                        (shape, values.to_vec())
                    }
                })
                .collect();
            let found = compile_shaped(e.family, Lpdf, y.clone(), &parameters).result();
            assert_eq!(found.len(), n, "{}", e.family);
            for (a, b) in found.iter().zip(&one_by_one) {
                assert!((a - b).abs() <= 1e-14 * b.abs().max(1.0), "{}: {a} {b}", e.family);
            }
        }
    }
}

#[test]
fn of_categories_meet_rows_of_probabilities() {
    // Row i's category y_i, also where one row or one category meets many.
    let theta = vec![0.2, 0.3, 0.5, 0.1, 0.6, 0.3];
    let rows = (Shape::from([2, 3]), theta);
    let log = |p: f64| p.ln();
    for (y, expected) in [
        ((Shape::from([2]), vec![2.0, 1.0]), vec![log(0.5), log(0.6)]),
        ((Shape::scalar(), vec![0.0]), vec![log(0.2), log(0.1)]),
        (
            (Shape::from([2, 2]), vec![0.0, 0.0, 2.0, 2.0]),
            vec![log(0.2), log(0.1), log(0.5), log(0.3)],
        ),
    ] {
        let found = compile_shaped("categorical", Lpdf, y, std::slice::from_ref(&rows)).result();
        assert_eq!(found.len(), expected.len());
        for (a, b) in found.iter().zip(&expected) {
            assert!((a - b).abs() < 1e-15, "{found:?} {expected:?}");
        }
    }
}
