//! Complex decompositions: the equations that define them, their order and phases, edges, and
//! adjoints against differences.

use exmc_math::complex::{
    EigenLayout, SchurLayout, SingularLayout, eigen, eigen_adjoint, fourier, fourier_scratch,
    hermitian, hermitian_adjoint, pseudo_inverse, pseudo_inverse_scratch, schur, schur_adjoint,
    singular, singular_adjoint,
};
use num_complex::Complex64;

/// Numbers without a pattern, in (-1, 1).
fn numbers(seed: u64, count: usize) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn real(values: &[f64]) -> Vec<f64> {
    values.iter().flat_map(|x| [*x, 0.0]).collect()
}

fn get(x: &[f64], k: usize) -> Complex64 {
    Complex64::new(x[2 * k], x[2 * k + 1])
}

/// Of `[n, k]` and `[k, m]`.
fn product(a: &[f64], b: &[f64], (n, k, m): (usize, usize, usize)) -> Vec<f64> {
    let element = |i: usize, j: usize| -> Complex64 {
        (0..k).map(|l| get(a, i * k + l) * get(b, l * m + j)).sum()
    };
    (0..n * m).map(|x| element(x / m, x % m)).flat_map(|z| [z.re, z.im]).collect()
}

fn conjugate(a: &[f64], (n, m): (usize, usize)) -> Vec<f64> {
    (0..m * n).map(|x| get(a, (x % n) * m + x / n).conj()).flat_map(|z| [z.re, z.im]).collect()
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

/// Distance from the identity.
fn from_identity(a: &[f64], n: usize) -> f64 {
    let one: Vec<f64> =
        (0..n * n).flat_map(|k| [f64::from(u8::from(k % (n + 1) == 0)), 0.0]).collect();
    apart(a, &one)
}

fn check_schur(n: usize, a: &[f64]) -> Vec<f64> {
    let layout = SchurLayout { n };
    let mut out = vec![f64::NAN; layout.len()];
    schur(a, &mut out);
    let (t, u) = (&out[..layout.unitary()], &out[layout.unitary()..2 * layout.unitary()]);
    let scale = 1e-14 * (n + 1) as f64 * a.iter().fold(1.0_f64, |m, x| m.max(x.abs()));
    let turned = conjugate(u, (n, n));
    let off = from_identity(&product(&turned, u, (n, n, n)), n);
    assert!(off < 1e-14 * (n + 1) as f64, "n {n}: {off}");
    let back = product(&product(u, t, (n, n, n)), &turned, (n, n, n));
    assert!(apart(&back, a) < scale, "n {n}: {}", apart(&back, a));
    for i in 0..n {
        (0..i).for_each(|j| assert_eq!(get(t, i * n + j), Complex64::new(0.0, 0.0)));
        assert!(
            (get(t, i * n + i) - get(&out[layout.values()..], i)).l1_norm() < 1e-6 * scale * 1e14
        );
    }
    out
}

#[test]
fn schur_forms_are_triangular_and_give_the_matrix_back() {
    for n in [0, 1, 2, 3, 5, 8, 21] {
        check_schur(n, &numbers(n as u64, 2 * n * n));
        let out = check_schur(n, &real(&numbers(n as u64 + 50, n * n)));
        let values = &out[SchurLayout { n }.values()..];
        for k in 0..n {
            let image = get(values, k).conj();
            assert!((0..n).any(|j| get(values, j) == image), "pairs are exact");
            assert!(k == 0 || values[2 * k] >= values[2 * k - 2] - 1e-12 * n as f64);
        }
    }
    // Equal values, no vectors enough, a cycle, zero, extremes.
    check_schur(3, &real(&[2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0]));
    check_schur(3, &real(&[2.0, 1.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 2.0]));
    check_schur(4, &real(&[0., 1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1., 1., 0., 0., 0.]));
    check_schur(4, &[0.0; 32]);
    for scale in [1e-200, 1e200] {
        let a: Vec<f64> = numbers(7, 32).iter().map(|x| x * scale).collect();
        let mut out = vec![0.0; SchurLayout { n: 4 }.len()];
        schur(&a, &mut out);
        assert!(out.iter().all(|x| x.is_finite()));
    }
    for bad in [f64::NAN, f64::INFINITY] {
        let mut out = vec![0.0; SchurLayout { n: 2 }.len()];
        schur(&[1.0, 0.0, bad, 0.0, 0.0, 0.0, 1.0, 0.0], &mut out);
        assert!(out.iter().all(|x| x.is_nan()));
    }
}

fn check_eigen(n: usize, a: &[f64]) -> Vec<f64> {
    let layout = EigenLayout { n };
    let mut out = vec![f64::NAN; layout.len()];
    eigen(a, &mut out);
    let v = &out[layout.vectors()..layout.pivots()];
    let left = product(a, v, (n, n, n));
    for i in 0..n {
        for j in 0..n {
            let right = get(v, i * n + j) * get(&out, j);
            assert!((get(&left, i * n + j) - right).l1_norm() < 1e-13 * n as f64);
        }
    }
    for j in 0..n {
        let square: f64 = (0..n).map(|i| get(v, i * n + j).norm_sqr()).sum();
        assert!((square - 1.0).abs() < 1e-14 * n as f64);
        let largest = get(v, out[layout.pivots() + j] as usize * n + j);
        assert!(largest.im == 0.0 && largest.re > 0.0);
    }
    out
}

#[test]
fn eigenvectors_satisfy_the_equation() {
    for n in [0, 1, 2, 3, 6, 15] {
        check_eigen(n, &numbers(n as u64 + 9, 2 * n * n));
        check_eigen(n, &real(&numbers(n as u64 + 90, n * n)));
    }
    // A rotation by a right angle: conjugate vectors, the value above the axis first.
    let out = check_eigen(2, &real(&[0.0, -1.0, 1.0, 0.0]));
    let half = 0.5f64.sqrt();
    assert!(
        apart(&out[..12], &[0.0, 1.0, 0.0, -1.0, half, 0.0, half, 0.0, 0.0, -half, 0.0, half])
            < 1e-15
    );
    // Too few vectors, and values that are equal with vectors enough.
    check_eigen(2, &real(&[1.0, 1.0, 0.0, 1.0]));
    check_eigen(3, &real(&[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]));
}

fn made_hermitian(n: usize, a: &[f64]) -> Vec<f64> {
    let turned = conjugate(a, (n, n));
    a.iter().zip(turned).map(|(x, y)| x + y).collect()
}

#[test]
fn vectors_of_hermitian_matrices_are_orthonormal() {
    for n in [1, 2, 4, 9] {
        let a = made_hermitian(n, &numbers(n as u64, 2 * n * n));
        let layout = EigenLayout { n };
        let mut out = vec![0.0; layout.len()];
        hermitian(&a, &mut out);
        let v = &out[layout.vectors()..layout.pivots()];
        let turned = conjugate(v, (n, n));
        assert!(from_identity(&product(&turned, v, (n, n, n)), n) < 1e-13);
        let inner = product(&turned, &product(&a, v, (n, n, n)), (n, n, n));
        for k in 0..n {
            assert!(
                (get(&inner, k * n + k) - get(&out, k)).l1_norm() < 1e-13 && out[2 * k + 1] == 0.0
            );
            assert!(k == 0 || out[2 * k] >= out[2 * k - 2] - 1e-12);
        }
    }
}

#[test]
fn singular_vectors_are_orthonormal_and_give_the_matrix_back() {
    let check = |rows: usize, columns: usize, a: &[f64]| {
        let layout = SingularLayout { rows, columns };
        let count = layout.count();
        let mut out = vec![f64::NAN; layout.len()];
        singular(layout, a, &mut out);
        let (u, v) = (&out[layout.left()..layout.right()], &out[layout.right()..layout.pivots()]);
        let (turned_u, turned_v) = (conjugate(u, (rows, count)), conjugate(v, (columns, count)));
        assert!(from_identity(&product(&turned_u, u, (count, rows, count)), count) < 1e-13);
        assert!(from_identity(&product(&turned_v, v, (count, columns, count)), count) < 1e-13);
        let scaled: Vec<f64> = (0..2 * rows * count).map(|k| u[k] * out[(k / 2) % count]).collect();
        assert!(apart(&product(&scaled, &turned_v, (rows, count, columns)), a) < 1e-13);
        assert!(out[..count].is_sorted_by(|a, b| a >= b));
    };
    for (rows, columns) in [(1, 1), (3, 3), (5, 2), (2, 5), (9, 7)] {
        check(rows, columns, &numbers(rows as u64, 2 * rows * columns));
        check(rows, columns, &real(&numbers(columns as u64, rows * columns)));
    }
    check(3, 3, &[0.0; 18]);
    check(3, 2, &real(&[1.0, 2.0, 2.0, 4.0, 3.0, 6.0]));
    check(2, 3, &real(&[1.0, 0.0, 0.0, 0.0, 1.0, 0.0]));
    let layout = SingularLayout { rows: 2, columns: 0 };
    singular(layout, &[], &mut vec![0.0; layout.len()]);
}

#[test]
fn the_generalised_inverse_satisfies_moore_and_penrose() {
    let cases = [
        (2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 7.0]),
        (3, 2, vec![1.0, 2.0, 2.0, 4.0, 3.0, 6.0]),
        (2, 2, vec![0.0; 4]),
    ];
    for (rows, columns, a) in cases {
        let layout = SingularLayout { rows, columns };
        let (mut out, mut scratch) =
            (vec![0.0; a.len()], vec![0.0; pseudo_inverse_scratch(layout)]);
        pseudo_inverse(layout, &a, &mut out, &mut scratch);
        let (a, b) = (real(&a), real(&out));
        let ab = product(&a, &b, (rows, columns, rows));
        let ba = product(&b, &a, (columns, rows, columns));
        assert!(apart(&product(&ab, &a, (rows, rows, columns)), &a) < 1e-13);
        assert!(apart(&product(&ba, &b, (columns, columns, rows)), &b) < 1e-13);
        assert!(apart(&conjugate(&ab, (rows, rows)), &ab) < 1e-13);
        assert!(apart(&conjugate(&ba, (columns, columns)), &ba) < 1e-13);
    }
}

#[test]
fn transforms_are_their_sums_and_have_inverses() {
    for n in [0, 1, 2, 3, 4, 6, 7, 12, 13, 30, 64] {
        let x = numbers(n as u64, 2 * n);
        let (mut y, mut scratch) = (x.clone(), vec![0.0; fourier_scratch(n)]);
        fourier(&mut y, (0, 1, n), false, &mut scratch);
        for k in 0..n {
            let angle = |j: usize| -2.0 * std::f64::consts::PI * (j * k % n) as f64 / n as f64;
            let sum: Complex64 = (0..n)
                .map(|j| get(&x, j) * Complex64::new(libm::cos(angle(j)), libm::sin(angle(j))))
                .sum();
            assert!((get(&y, k) - sum).l1_norm() < 1e-14 * n as f64);
        }
        fourier(&mut y, (0, 1, n), true, &mut scratch);
        assert!(apart(&x, &y) < 1e-14);
    }
}

/// From a result and its adjoint to the argument's.
type Adjoint<'a> = &'a dyn Fn(&[f64], &[f64]) -> Vec<f64>;

/// The adjoint of a random linear function of the result, against central differences of the
/// function.
fn check_adjoint(
    a: &[f64],
    used: usize,
    run: &dyn Fn(&[f64]) -> Vec<f64>,
    adjoint: Adjoint<'_>,
    directions: &[Vec<f64>],
) {
    let found = run(a);
    let mut weights = numbers(77, found.len());
    weights[used..].fill(0.0);
    let value = |a: &[f64]| run(a)[..used].iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>();
    let slope = adjoint(&found, &weights);
    for direction in directions {
        let step = 1e-5;
        let moved = |h: f64| a.iter().zip(direction).map(|(x, d)| x + h * d).collect::<Vec<_>>();
        let difference = (8.0 * (value(&moved(step)) - value(&moved(-step)))
            - (value(&moved(2.0 * step)) - value(&moved(-2.0 * step))))
            / (12.0 * step);
        let exact: f64 = slope.iter().zip(direction).map(|(s, d)| s * d).sum();
        // Fourth-order differences of 1e-5 of values near one: 1e-10 of rounding, times the
        // condition.
        assert!((difference - exact).abs() < 1e-8 * (1.0 + exact.abs()), "{difference} {exact}");
    }
}

#[test]
fn adjoints_are_those_of_the_functions() {
    let all = |length: usize| (0..6).map(|k| numbers(500 + k, length)).collect::<Vec<_>>();
    let kept = |mut x: Vec<f64>, length: usize| {
        x.truncate(length);
        x
    };
    for n in [1, 2, 3, 5] {
        let (size, a) = (2 * n * n, numbers(n as u64 + 3, 2 * n * n));
        let (form, layout) = (SchurLayout { n }, EigenLayout { n });
        let run = |a: &[f64]| {
            let mut out = vec![0.0; layout.len()];
            eigen(a, &mut out);
            out
        };
        let back = |found: &[f64], adjoint: &[f64]| {
            let mut out = vec![0.0; layout.adjoint_len()];
            eigen_adjoint(n, found, adjoint, &mut out);
            kept(out, size)
        };
        check_adjoint(&a, layout.pivots(), &run, &back, &all(size));
        // A real matrix, moved within real ones.
        let lines: Vec<_> = (0..4).map(|k| real(&numbers(600 + k, n * n))).collect();
        check_adjoint(&real(&numbers(n as u64 + 31, n * n)), layout.pivots(), &run, &back, &lines);
        let run = |a: &[f64]| {
            let mut out = vec![0.0; form.len()];
            schur(a, &mut out);
            out
        };
        let back = |found: &[f64], adjoint: &[f64]| {
            let mut out = vec![0.0; layout.adjoint_len()];
            schur_adjoint(n, found, adjoint, &mut out);
            kept(out, size)
        };
        check_adjoint(&a, form.values() + 2 * n, &run, &back, &all(size));
        let run = |a: &[f64]| {
            let mut out = vec![0.0; layout.len()];
            hermitian(a, &mut out);
            out
        };
        let back = |found: &[f64], adjoint: &[f64]| {
            let mut out = vec![0.0; layout.adjoint_len()];
            hermitian_adjoint(n, found, adjoint, &mut out);
            kept(out, size)
        };
        let lines: Vec<_> = all(size).iter().map(|x| made_hermitian(n, x)).collect();
        check_adjoint(&made_hermitian(n, &a), layout.pivots(), &run, &back, &lines);
    }
    for (rows, columns) in [(1, 1), (2, 2), (3, 3), (4, 2), (2, 4), (5, 3)] {
        let layout = SingularLayout { rows, columns };
        let size = 2 * rows * columns;
        let run = |a: &[f64]| {
            let mut out = vec![0.0; layout.len()];
            singular(layout, a, &mut out);
            out
        };
        let back = |found: &[f64], adjoint: &[f64]| {
            let mut out = vec![0.0; layout.adjoint_len()];
            singular_adjoint(layout, found, adjoint, &mut out);
            kept(out, size)
        };
        check_adjoint(&numbers(rows as u64, size), layout.pivots(), &run, &back, &all(size));
        let lines: Vec<_> = (0..4).map(|k| real(&numbers(700 + k, rows * columns))).collect();
        check_adjoint(
            &real(&numbers(9 + columns as u64, rows * columns)),
            layout.pivots(),
            &run,
            &back,
            &lines,
        );
    }
}
