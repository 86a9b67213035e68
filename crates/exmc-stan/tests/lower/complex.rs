//! Complex numbers that depend on parameters: declared, computed with, indexed, blended and
//! recorded.

use exmc_stan::value::{Numbers, Value};

use super::harness::{assert_gradient, assert_logp, lowered};

/// Where functions are evaluated.
const POINTS: [[f64; 2]; 3] = [[0.3, -0.7], [-1.4, 0.6], [-0.2, -2.1]];

/// Values at [`POINTS`] by Python's `cmath`.
#[rustfmt::skip]
const FUNCTIONS: &[(&str, [(f64, f64); 3])] = &[
    ("exp", [(1.0324289629116616, -0.8696029191140402), (0.20352525686960557, 0.13923911965169503), (-0.413333031407527, -0.7067360548204001)]),
    ("log", [(-0.272363587720836, -1.1659045405098132), (0.42078359283910927, 2.7367008673047097), (0.7464520480890744, -1.6657480331376529)]),
    ("log10", [(-0.11828600321853135, -0.5063459083693581), (0.1827439924454498, 1.1885340852902788), (0.3241800054904658, -0.7234251790328776)]),
    ("sqrt", [(0.7285524382590421, -0.4804046786753803), (0.2481477595836618, 1.2089571169344224), (0.9771136860603525, -1.0745934838283961)]),
    ("sin", [(0.37092780393896435, -0.7247026904232853), (-1.1682163792275535, 0.10821019037494045), (-0.8233479241705761, -3.9416873738538634)]),
    ("cos", [(1.199108751098743, 0.22417681233754289), (0.20149013615224892, 0.6273901006241702), (4.061702826426425, -0.7990195875180027)]),
    ("tan", [(0.18971709151908692, -0.6398359302631801), (-0.3857385229788179, 1.7381432550951743), (-0.011362671421699515, -0.9726872052730415)]),
    ("sinh", [(0.23290996731262684, -0.6734255599525789), (-1.5716878506739254, 1.2144886295211688), (0.10164369659857835, -0.8805311780575139)]),
    ("cosh", [(0.7995189955990348, -0.1961773591614612), (1.7752131075435311, -1.0752495098694737), (-0.5149767280061054, 0.1737951232371138)]),
    ("tanh", [(0.4697051659675581, -0.72703718624352), (-0.9508806054070867, 0.10818685587476753), (-0.6952340817588264, 1.4752178959251734)]),
    ("asin", [(0.2457320061010797, -0.6703367429877897), (-1.0682865749422432, 1.0449531581821159), (-0.08583376650388962, -1.4908139449450892)]),
    ("acos", [(1.3250643206938169, 0.6703367429877897), (2.6390829017371398, -1.0449531581821159), (1.656630093298786, 1.4908139449450892)]),
    ("atan", [(0.480035181202844, -0.7016804321523099), (-1.0056633337057048, 0.1892739762900547), (-1.5130829966114343, -0.5109535910091711)]),
    ("asinh", [(0.3855909873181749, -0.7089034409655053), (-1.1868926956190842, 0.3416090427517055), (-1.379462338034437, -1.4630917080593067)]),
    ("acosh", [(0.6703367429877897, -1.3250643206938169), (1.0449531581821159, 2.6390829017371398), (1.4908139449450892, -1.656630093298786)]),
    ("atanh", [(0.19988189602962927, -0.6396697661585148), (-0.6163721409827247, 1.201888796734664), (-0.03676335448912416, -1.1292337914168131)]),
    ("conj", [(0.3, 0.7), (-1.4, -0.6), (-0.2, 2.1)]),
    ("proj", [(0.3, -0.7), (-1.4, 0.6), (-0.2, -2.1)]),
];

#[test]
fn functions_of_one_number_are_those_of_c() {
    for (name, values) in FUNCTIONS {
        for (point, (re, im)) in POINTS.iter().zip(values) {
            let text = format!(
                "parameters {{ real a; real b; }}
                 model {{ complex z = {name}(to_complex(a, b)); target += get_real(z) + 2 * get_imag(z); }}"
            );
            assert_logp(&text, &[], point, re + 2.0 * im);
            assert_gradient(&text, &[], point, 1e-6);
        }
    }
}

const PROGRAM: &str = "
    functions { complex f(complex a, complex_matrix m) { return a * m[1, 1] + m[2, 2] / a; } }
    data { complex w; complex_vector[2] v; }
    parameters { complex z; complex_vector[2] x; array[2] complex u; complex_matrix[2, 2] m; real a; }
    transformed parameters { complex s = z + x[1] * w; complex_vector[2] t = m * x; }
    model {
      target += -norm(z) - get_real(dot_self(x)) - norm(u[1]) - norm(u[2]) - a ^ 2;
      complex_row_vector[2] r = x';
      complex acc = 0;
      for (i in 1:2) { acc += u[i] * a; acc = acc * x[i] - i; }
      target += get_real(acc) * get_imag(acc) / (1 + norm(acc));
      target += abs(s) + arg(to_complex(2 + a ^ 2, a)) + get_imag(r * t) + get_real(sum(t .* v));
      complex q = a > 0 ? z : conj(z);
      if (a > 0.5) q *= 2; else q /= w;
      target += get_real(exp(q / 4)) + get_imag(sqrt(q)) + get_real(log(q));
      target += get_real(fft(x)[2] * inv_fft(append_row(x, z))[3]);
      target += get_imag(m[1, 2]) * get_real(to_vector(m)[2]) + get_real(diagonal(m)[2]) + get_imag(f(z, m));
      target += get_real((x' / m) * v) + abs(pow(z, 1.5 + 0.5i)) - get_real(-x[2]) + get_real(w ^ z);
    }";

fn data() -> [(&'static str, Value); 2] {
    let v = Value::Complexes(Numbers::new([2], vec![[1.0, 2.0], [-0.5, 0.25]]));
    [("w", Value::Complex([0.5, -1.5])), ("v", v)]
}

/// Values by NumPy, from the formulas of the program.
#[test]
fn a_program_of_complex_numbers_has_numpys_values() {
    let points: [(&[f64], f64); 3] = [
        (
            &[
                -1.46, 1.39, 1.06, -0.98, -0.02, -0.2, 0.61, 1.15, -1.62, -1.89, 1.34, -0.27, 1.05,
                -1.99, -0.22, 0.89, -1.08, 1.78, 1.61,
            ],
            -7.860931413191053,
        ),
        (
            &[
                -1.88, -1.9, 0.17, 1.76, -0.48, -1.13, -0.31, -1.88, -1.11, -0.25, -0.02, -1.07,
                -1.08, -1.12, -0.16, -0.84, -1.91, 1.35, 0.23,
            ],
            -8.678460826661272,
        ),
        (
            &[
                0.57, -1.26, 1.97, 1.44, -1.52, -0.67, 0.89, 0.84, 1.75, -0.31, 1.32, 0.68, -0.79,
                0.35, 1.53, 1.38, 0.02, 0.36, -1.86,
            ],
            -13.570791676513993,
        ),
    ];
    for (point, expected) in points {
        assert_logp(PROGRAM, &data(), point, expected);
        assert_gradient(PROGRAM, &data(), point, 1e-6);
    }
}

#[test]
fn columns_and_stans_order_are_cmdstans() {
    let text = "parameters { complex z; complex_matrix[2, 2] m; array[2] complex u; } model { }";
    let lowered = lowered(text, &[]);
    let names: Vec<_> = lowered.lowered.trace.iter().map(|e| e.name.as_str()).collect();
    #[rustfmt::skip]
    assert_eq!(names, [
        "z.real", "z.imag",
        "m.1.1.real", "m.1.1.imag", "m.2.1.real", "m.2.1.imag",
        "m.1.2.real", "m.1.2.imag", "m.2.2.real", "m.2.2.imag",
        "u.1.real", "u.1.imag", "u.2.real", "u.2.imag",
    ]);
    assert_eq!(lowered.stan_order, [0, 1, 2, 3, 6, 7, 4, 5, 8, 9, 10, 11, 12, 13]);
}

#[test]
fn known_complex_numbers_are_promoted_and_stacked() {
    let text = "data { complex w; array[2] complex c; }
        parameters { real a; }
        model {
          complex_vector[3] v = [a, w, 2]';
          array[2] complex b = {c[2], a};
          for (i in 1:3) target += get_imag(v[i] * b[1]) + get_real(b[2]);
          complex k = w * w + 1;
          target += a * get_real(k) + get_real(2 / w);
        }";
    let c = Value::Complexes(Numbers::new([2], vec![[1.0, 1.0], [0.0, 2.0]]));
    let data = [("w", Value::Complex([3.0, -1.0])), ("c", c)];
    let a = 0.7;
    // Products with 2i have twice the real part as imaginary part; w² + 1 is 9 - 6i; 2 / w is (6 +
    // 2i) / 10.
    let expected = 2.0 * (a + 3.0 + 2.0) + 3.0 * a + 9.0 * a + 0.6;
    assert_logp(text, &data, &[a], expected);
}

#[test]
fn a_number_is_divided_by_a_matrix_element_by_element() {
    let text = "parameters { real a; matrix[2, 2] m; complex z; }
        model { target += sum(a / m) + get_real(sum(z / to_complex(m, 0))); }";
    let sum = 1.0 / 2.0 + 1.0 / 4.0 + 1.0 / 5.0 - 1.0;
    assert_logp(text, &[], &[3.0, 2.0, 4.0, 5.0, -1.0, 0.5, 9.0], 3.5 * sum);
}

/// Sums over a decomposition that have a closed form: of squares of eigenvalues the trace of the
/// square, of squares of singular values that of all elements' squares, and products of the parts
/// the matrix itself.
#[test]
fn decompositions_of_parameters_give_the_matrix_back() {
    let text = "parameters { array[2] matrix[2, 2] a; complex_matrix[2, 2] b; }
        model {
          for (i in 1:2) {
            complex_vector[2] v = eigenvalues(a[i]);
            target += get_real(sum(v .* v));
          }
          tuple(complex_matrix[2, 2], complex_matrix[2, 2]) s = complex_schur_decompose(b);
          complex_matrix[2, 2] back = s.1 * s.2 * to_complex(get_real(s.1), -get_imag(s.1))';
          target += get_real(back[1, 2]) - get_imag(back[2, 1]);
          tuple(matrix[2, 2], vector[2], matrix[2, 2]) d = svd(a[2]);
          target += sum(square(d.2)) + (d.1 * diag_matrix(d.2) * d.3')[1, 2];
          tuple(complex_matrix[2, 2], complex_vector[2]) p = eigendecompose(b);
          target += get_real(sum(p.2)) + get_imag((p.1 * diag_matrix(p.2) / p.1)[2, 1]);
          target += sum(csr_extract_w(diag_matrix(a[1][, 1]))) + generalized_inverse(a[1])[1, 1];
        }";
    #[rustfmt::skip]
    let point = [
        0.4, -1.2, 0.7, 1.5,  -0.3, 0.8, 1.9, 0.2,
        0.5, 0.1, -0.4, 0.9, 1.3, -0.6, -0.8, 0.35,
    ];
    let square = |m: &[f64]| m[0] * m[0] + 2.0 * m[1] * m[2] + m[3] * m[3];
    let (first, second, b) = (&point[..4], &point[4..8], &point[8..]);
    let determinant = first[0] * first[3] - first[1] * first[2];
    let expected = square(first) + square(second) + b[2] - b[5]
        + second.iter().map(|x| x * x).sum::<f64>()
        + second[1]
        + b[0]
        + b[6]
        + b[5]
        + first[0]
        + first[2]
        + first[3] / determinant;
    assert_logp(text, &[], &point, expected);
    assert_gradient(text, &[], &point, 1e-6);
}
