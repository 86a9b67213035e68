//! Gradients on the tape against differences of the host's log density, over the language and the
//! library.

use crate::tape::harness::{assert_all, differences};

/// Bodies of models over `real x; vector[3] v; matrix[3, 3] m; real<lower=0> s; simplex[3] p;`.
const BODIES: &[&str] = &[
    // Operators and functions of numbers.
    "target += x * v[1] - v[2] / (s + 2) + s^x + 2^v[3] - (-x);",
    "target += pow(s + 1, 2) + hypot(x, s) + atan2(x, s + 1) + fmax(x, 0.1) + fmin(v[1], v[2]) + fdim(x + 5, v[1]);",
    "target += log1p_exp(x) + log1m_exp(-s - 0.1) + log_diff_exp(x + 5, v[1]) + log_sum_exp(x, v[2]) + log_mix(inv_logit(x), v[1], v[2]);",
    "target += lgamma(s + 1) + digamma(s + 1) + lbeta(s + 1, 2) + Phi(x) + Phi_approx(x) + inv_Phi(inv_logit(x)) + tgamma(s + 1);",
    "target += erf(x) + erfc(x) + square(x) + inv(s + 1) + inv_sqrt(s + 1) + cbrt(x + 9) + expm1(x) + trigamma(s + 1) + log2(s + 1);",
    "target += lmultiply(s, s + 1) + lmultiply(2, s) + lchoose(s + 5, 2) + owens_t(x, s) + inc_beta(s + 1, 2, inv_logit(x)) + gamma_p(s + 1, 2);",
    "target += modified_bessel_first_kind(1, x) + modified_bessel_second_kind(1, s + 1) + fma(x, s, v[1]) + fmod(x + 9, 2);",
    // Containers.
    "target += sum(v) + mean(v) + sd(v) + variance(v) + prod(v + 3) + max(v) + min(v) + dot_product(v, v + 1) + log_sum_exp(v);",
    "target += sum(softmax(v) .* v) + sum(log_softmax(v)) + sum(cumulative_sum(v) .* v) + squared_distance(v, p) + distance(v, p) + norm2(v) + norm1(v);",
    "target += sum(sort_asc(v) .* [1, 2, 3]') + sum(reverse(v) .* p) + sum(append_row(v, x)) * x + sum(head(v, 2) .* tail(p, 2));",
    "vector[3] w = v; w[2] = x; w[1:2] += w[2:3]; w *= s; w ./= p; target += dot_self(w) + sum(exp(w) ./ (1 + p));",
    "array[2] vector[3] a = {v, p}; a[2, 1] = x; a[1] = a[2] * x; target += sum(a[1]) + a[2, 1] * a[1, 3];",
    // Matrices.
    "target += sum(m * v) + v' * m * p + sum((m * m')[2]) + trace(m) + sum(diagonal(m) .* v) + quad_form(m, v) + sum(diag_pre_multiply(v, m));",
    "matrix[3, 3] c = m * m' + add_diag(identity_matrix(3), s); target += log_determinant(c) + sum(inverse(c)) + sum(c \\ v) + sum(v' / c) + sum(cholesky_decompose(c)) + sum(mdivide_left_spd(c, v));",
    "matrix[3, 3] c = tcrossprod(m) + diag_matrix(rep_vector(2 + s, 3)); target += sum(eigenvalues_sym(c) .* v) + sum(matrix_exp(c * 0.1)) + log_determinant_spd(c) + trace_quad_form(c, m);",
    "target += sum(to_vector(m) .* to_vector(m')) + m[2, 1] * m[1, 3] + sum(m[1:2, {3, 1}]) * x + sum(rep_matrix(v, 2)) + sum(append_col(m, v)) * s + sum(block(m, 1, 1, 2, 2));",
    "target += sum(csr_to_dense_matrix(3, 3, v, {1, 3, 2}, {1, 2, 3, 4}) * p) * x + sum(append_row(v, 7) .* append_row(2, p)) + sum(rep_vector(2, 3) .* v);",
    "target += sum(gp_exp_quad_cov({x, v[1], 1.5}, s + 1, 0.7)) + sum(columns_dot_product(m, m)) + sum(m .^ 2) + sum(m / s);",
    // Densities.
    "v ~ normal(x, s + 0.5); x ~ student_t(4, v[1], s + 0.5); 3 ~ poisson(s + 1); {1, 0, 1} ~ bernoulli_logit(v); 2 ~ categorical(p); p ~ dirichlet(v .^ 2 + 1);",
    "v ~ multi_normal_cholesky(p, cholesky_decompose(m * m' + add_diag(identity_matrix(3), 1))); s ~ gamma(2, 3) T[0.0001, 50]; x ~ normal(0, s + 1) T[-9, ]; 4 ~ poisson(s + 2) T[1, 9];",
    "target += normal_lcdf(x | v[1], s + 1) + normal_lccdf(x | v[1], s + 1) + exponential_lcdf(s | 2) + beta_lpdf(inv_logit(x) | s + 1, 2) + log(normal_cdf(x | 0, 1));",
    "target += wiener_lpdf(s + 1.5 | 1.2, 0.3, 0.5, x) + neg_binomial_2_lpmf({1, 4} | s + 1, 2) + ordered_logistic_lpmf(2 | x, [-1, 0.5]');",
    // Control flow.
    "real q = x; for (i in 1:3) { if (v[i] > 0) continue; q += v[i] * q; if (q > 40) break; } while (q > 1) q *= 0.5; target += q * s;",
    "for (w in v) target += square(w - x); for (i in 1:3) for (e in m[i]) target += e * v[i]; { vector[3] w = v; target += w[1]; }",
    "tuple(real, vector[3]) t = (x, v); t.2[2] = s; (t.1, t.2) = (t.1 * 2, t.2 + 1); target += t.1 * sum(t.2) + target() * 0.1; array[2] tuple(real, real) u = {(x, s), (s, x)}; u[2].1 = v[1]; target += u[2].1 * u[1].2;",
    // Complex numbers.
    "complex z = to_complex(x, 3) * to_complex(2, s); target += get_real(z * z) + get_imag(z); for (k in 1:3) target += get_imag(exp(to_complex(v[k], k)));",
    "complex z = to_complex(x, s); z = z * z + exp(z) / (2 + z); target += get_real(z) + abs(z) + get_imag(z^2.0) - norm(-z); complex_vector[3] w = v + 1.0i * p; target += get_real(sum(w .* w)) + get_imag(w[2]);",
    // Changes of variables.
    "real q = lower_bound_jacobian(x, s); vector[3] w = ordered_jacobian(v); target += q + sum(w) + w[3] * q;",
    "jacobian += x * s; target += pair(x, v).1 * pair(s, p).2[2] + fact(3, x) + reduce_sum(part, {1, 2, 3}, 1, x, v); more_lp(x);",
];

/// Declarations of functions that bodies use.
const FUNCTIONS: &str = "functions { tuple(real, vector) pair(real a, vector b) { vector[3] c = b; c[1] = a; return (a * a, c * a); }
    real fact(int n, real x) { if (n == 0) return 1.5; real own = x + n; return own * fact(n - 1, x) + own; }
    real part(array[] int slice, int start, int stop, real x, vector v) { real s = 0; for (i in slice) s += x * v[i] * i; return s; }
    void more_lp(real x) { target += square(x); x ~ normal(1, 2); } }";

fn points(n: usize) -> Vec<Vec<f64>> {
    let point_from = |start: f64| (0..n).map(|k| (start + 1.7 * k as f64).sin() * 1.1).collect();
    vec![point_from(0.3), point_from(2.9)]
}

#[test]
fn bodies_over_numbers_vectors_and_matrices() {
    let mut wrong = Vec::new();
    for body in BODIES {
        // `jacobian +=` and functions that add to the target stand in transformed parameters and
        // the model.
        let is_jacobian = body.contains("_jacobian(") || body.contains("jacobian +=");
        let (before, after) = if is_jacobian { (*body, "") } else { ("", *body) };
        let (before, after) = match is_jacobian.then(|| split(before)) {
            Some((changes, rest)) => (changes, rest),
            None => (before.to_owned(), after.to_owned()),
        };
        let text = format!(
            "{FUNCTIONS} parameters {{ real x; vector[3] v; matrix[3, 3] m; real<lower=0> s; simplex[3] p; }}
             transformed parameters {{ {before} }} model {{ {after} }}"
        );
        for point in points(1 + 3 + 9 + 1 + 2) {
            wrong.extend(
                differences(&text, "{}", &point, 2e-7).err().map(|e| format!("{e}: {body}")),
            );
        }
    }
    assert_all(&wrong);
}

/// Statements that add to the Jacobian, and those behind them that add to the target.
fn split(body: &str) -> (String, String) {
    let is_target = |s: &&str| s.contains("target +=") || s.contains("_lp(");
    let statements: Vec<&str> = body.split_inclusive(';').collect();
    let (after, before): (Vec<&str>, Vec<&str>) = statements.into_iter().partition(is_target);
    (before.concat(), after.concat())
}

#[test]
fn every_constraint() {
    let declarations = [
        ("real<lower=-1, upper=2> y;", "target += y * 2;", 1),
        ("real<upper=3> y; real<lower=y> w;", "target += y * w;", 2),
        ("real<lower=0> b; vector<lower=-b, upper=[b, 2 * b]'>[2] y;", "target += dot_self(y);", 3),
        (
            "real a; real<lower=0> b; vector<offset=a, multiplier=b>[2] y;",
            "target += -dot_self(y);",
            4,
        ),
        ("simplex[4] y;", "target += log(y[1]) * 2 + y[3];", 3),
        ("ordered[3] y; positive_ordered[2] w;", "target += sum(y) * w[2] + y[1]^2;", 5),
        ("unit_vector[3] y;", "target += y[1] * y[2] + y[3];", 3),
        ("sum_to_zero_vector[4] y;", "target += y[1]^2 * y[4];", 3),
        ("cov_matrix[3] y;", "target += -trace(y) + y[1, 2];", 6),
        ("corr_matrix[3] y; cholesky_factor_corr[3] l;", "target += y[1, 2] * l[3, 1];", 6),
        ("cholesky_factor_cov[3, 2] y;", "target += y[1, 1] * y[3, 2] + y[2, 1];", 5),
        (
            "row_stochastic_matrix[2, 3] y; column_stochastic_matrix[3, 2] w;",
            "target += y[1, 2] * w[2, 1];",
            8,
        ),
        ("array[2] simplex[3] y; complex z;", "target += y[2, 1] * get_imag(z) + get_real(z);", 6),
        (
            "tuple(real<lower=0>, vector[2]) t; array[2] tuple(real, real<upper=1>) u;",
            "target += t.1 * t.2[2] * u[2].2;",
            7,
        ),
    ];
    let mut wrong = Vec::new();
    for (declared, body, n) in declarations {
        let text = format!("parameters {{ {declared} }} model {{ {body} }}");
        for point in points(n) {
            wrong.extend(
                differences(&text, "{}", &point, 1e-7).err().map(|e| format!("{e}: {declared}")),
            );
        }
    }
    assert_all(&wrong);
}
