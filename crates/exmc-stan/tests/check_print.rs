//! The typed tree of small programs as text: which conversions are made, which overloads are taken,
//! what everything's type is. Expected texts follow from the rules of the reference manual, by
//! hand.

use exmc_stan::check::{check, print};
use exmc_stan::source::Sources;
use exmc_stan::syntax::{NoIncludes, parse};

fn typed(text: &str) -> String {
    let mut sources = Sources::single("test.stan", text);
    let (tree, mut diagnostics) = parse(&mut sources, &mut NoIncludes);
    let (program, found) = check(sources, &tree);
    diagnostics.extend(found);
    let program = program.unwrap_or_else(|| panic!("{text}\n{diagnostics:?}"));
    print(&program)
}

#[test]
fn conversions_and_types_are_written_out() {
    // The body of `transformed data`, and its lines as they are printed.
    let cases: &[(&str, &str)] = &[
        ("real x = 1;", "real x = real(1)"),
        (
            "complex z = 1; complex w = 2.5; complex v = 3i;",
            "complex z = complex(1)\ncomplex w = complex(2.5)\ncomplex v = 3.0i :: complex",
        ),
        ("int k = -3 + 2;", "int k = (-3 + 2) :: int"),
        ("real x = -2^2;", "real x = -(2 ^ 2) :: real"),
        ("real x = 1 + 2.5;", "real x = (real(1) + 2.5) :: real"),
        ("real x = 7 / 2;", "real x = real((7 / 2))"),
        ("int k = 7 %/% 2 + 7 % 2;", "int k = ((7 %/% 2) + (7 % 2)) :: int"),
        ("array[2] real a = {1, 2.5};", "array[2] real a = {real(1), 2.5} :: array[] real"),
        (
            "array[2, 1] real a = {{1}, {2}};",
            "array[2, 1] real a = {{real(1)}, {real(2)}} :: array[,] real",
        ),
        ("row_vector[2] r = [1, 2];", "row_vector[2] r = [real(1), real(2)] :: row_vector"),
        ("matrix[1, 2] m = [[1, 2]];", "matrix[1, 2] m = [[real(1), real(2)]] :: matrix"),
        ("vector[2] v = [1, 2]';", "vector[2] v = [real(1), real(2)]' :: vector"),
        (
            "vector[2] v; real x = v' * v; matrix[2, 2] m = v * v';",
            "vector[2] v\nreal x = (v' * v) :: real\nmatrix[2, 2] m = (v * v') :: matrix",
        ),
        (
            "vector[2] v; vector[2] w = 2 * v + 1;",
            "vector[2] v\nvector[2] w = ((real(2) * v) + real(1)) :: vector",
        ),
        (
            "matrix[2, 2] m; vector[2] v = m \\ m[:, 1]; row_vector[2] r = m[1] / m;",
            "matrix[2, 2] m\nvector[2] v = (m \\ m[:, 1]) :: vector\nrow_vector[2] r = (m[1] / m) :: row_vector",
        ),
        (
            "matrix[3, 3] m; array[2] int i = {1, 2}; vector[2] v = m[i, 3]; row_vector[2] r = m[3, 1:2];",
            "matrix[3, 3] m\narray[2] int i = {1, 2} :: array[] int\nvector[2] v = m[all i, 3] :: vector\nrow_vector[2] r = m[3, 1:2] :: row_vector",
        ),
        (
            "array[3, 2] vector[4] a; array[2] vector[4] b = a[1]; array[3] real c = a[:, 1, 2];",
            "array[3, 2] vector[4] a\narray[2] vector[4] b = a[1] :: array[] vector\narray[3] real c = a[:, 1, 2] :: array[] real",
        ),
        ("real x = 1 < 2 ? 1 : 2.5;", "real x = ((1 < 2) ? real(1) : 2.5) :: real"),
        (
            "tuple(real, int) t = (1, 2); real x = t.1;",
            "tuple(real, int) t = (real(1), 2) :: tuple(real, int)\nreal x = t.1 :: real",
        ),
        (
            "int a; real b; (a, b) = (1, 2);",
            "int a\nreal b\n(a, b) = (1, real(2)) :: tuple(int, real)",
        ),
        (
            "vector[3] v; v[2:3] = [1, 2]'; v[1] += 1; v *= 2;",
            "vector[3] v\nv[2:3] = [real(1), real(2)]' :: vector\nv[1] += real(1)\nv *= real(2)",
        ),
        ("int k = abs(-1); real x = sqrt(4);", "int k = abs(-1) :: int\nreal x = sqrt(4) :: real"),
        ("real x = pow(2, 3.0);", "real x = pow(2, 3.0) :: real"),
        (
            "real x = normal_lpdf({1, 2} | 0, 1);",
            "real x = normal_lpdf({real(1), real(2)}, real(0), real(1)) :: real",
        ),
        (
            "array[2] int k = poisson_rng({1.0, 2.0});",
            "array[2] int k = poisson_rng({1.0, 2.0}) :: array[] int",
        ),
        (
            "for (i in 1:3) { if (i > 1) continue; else break; }",
            "for i in 1:3\n  if (i > 1)\n    continue\n  else\n    break",
        ),
        (
            "for (x in {1.5, 2.5}) print(\"x\", x);",
            "for real x in {1.5, 2.5}\n  print(\"x\", x :: real)",
        ),
        ("while (1) { break; }", "while 1\n  break"),
        (
            "real normal = 1; real x = normal_lpdf(normal | 0, 1);",
            "real normal = real(1)\nreal x = normal_lpdf(normal, real(0), real(1)) :: real",
        ),
    ];
    for (body, expected) in cases {
        let lines: String = expected.lines().map(|line| format!("  {line}\n")).collect();
        let found = typed(&format!("transformed data {{ {body} }}"));
        assert_eq!(found, format!("transformed data\n{lines}"), "{body}");
    }
}

#[test]
fn a_whole_program_is_resolved() {
    let text = "functions {
  real f(int k) { return k; }
  real f(real x) { return f(2) + x; }
  real step_lpdf(real y, data real a) { return normal_lpdf(y | a, 1); }
  vector rhs(real t, vector y, real k) { return -k * y; }
  void add_lp(real x) { target += x; }
}
data {
  int<lower=1> N;
  array[N] real<lower=0, upper=N> y;
}
parameters {
  real<lower=0> sigma;
  vector<offset=1, multiplier=sigma>[N] mu;
  simplex[3] theta;
  cov_matrix[2] S;
}
model {
  y ~ normal(mu, sigma) T[0, ];
  sigma ~ step(1);
  target += step_lupdf(sigma | 2) + f(N);
  add_lp(f(sigma));
  array[N] vector[3] z = ode_rk45(rhs, theta, 0, y, 1);
}
";
    let expected = "function real f@0(int k)
  return real(k)
function real f@1(real x)
  return (f@0(2) + x) :: real
function real step_lpdf@2(real y, data real a)
  return normal_lpdf(y, a, real(1)) :: real
function vector rhs@3(real t, vector y, real k)
  return (-k * y) :: vector
function void add_lp@4(real x)
  target += x :: real
data
  int<lower=1> N
  array[N] real<lower=real(0), upper=real(N)> y
parameters
  real<lower=real(0)> sigma
  vector<offset=real(1), multiplier=sigma :: real>[N] mu
  vector<simplex>[3] theta
  matrix<cov_matrix>[2, 2] S
model
  y :: array[] real ~ normal(mu :: vector, sigma :: real) T[real(0), ]
  sigma :: real ~ step@2(real(1))
  target += (step_lpdf@2!(sigma, real(2)) + f@0(N)) :: real
  add_lp@4(f@1(sigma) :: real)
  array[N] vector[3] z = ode_rk45(rhs@3, theta, real(0), y, real(1)) :: array[] vector
";
    assert_eq!(typed(text), expected);
}
