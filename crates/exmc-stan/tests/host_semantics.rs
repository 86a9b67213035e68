//! The language on values: programs and what they print. What is expected follows from the Stan
//! reference manual (and C's `%g` for the spelling of numbers).

use crate::support;

use crate::support::run;
use exmc_stan::host::Settings;

/// Transformed data (after optional functions, separated by `@`) and the lines that they print.
const TABLE: &[(&str, &[&str])] = &[
    // Arithmetic and precedence.
    ("print(7 %/% 2, \" \", -7 %/% 2, \" \", 7 % 3, \" \", -7 % 3);", &["3 -3 1 -1"]),
    ("print(-2 ^ 2, \" \", 2 ^ 3 ^ 2, \" \", 2 * 3 %/% 2);", &["-4 512 2"]),
    ("print(1 / 2.0, \" \", 1e6, \" \", 1.0 / 3, \" \", 1e-5);", &["0.5 1e+06 0.333333 1e-05"]),
    ("print(1 < 2, \" \", 2 == 2.0, \" \", !3, \" \", 1 && 0 || 1);", &["1 1 0 1"]),
    ("print(1 ? 2 : 3, \" \", 0 ? 1 : 0 ? 2 : 3);", &["2 3"]),
    // Short circuit: the right side would be an error.
    ("array[1] int a = {1}; print(0 && a[2], \" \", 1 || a[2]);", &["0 1"]),
    ("real x; int n; vector[2] v; print(x, \" \", n, \" \", v);", &["nan -2147483648 [nan,nan]"]),
    // Containers.
    (
        "matrix[2, 3] m = [[1, 2, 3], [4, 5, 6]]; print(m); print(m[1]); print(m[, 2]); print(m');",
        &["[[1,2,3],[4,5,6]]", "[1,2,3]", "[2,5]", "[[1,4],[2,5],[3,6]]"],
    ),
    ("vector[5] x = [1, 2, 3, 4, 5]'; x[2:5] = x[1:4]; print(x);", &["[1,1,2,3,4]"]),
    (
        "vector[5] x = [1, 2, 3, 4, 5]'; x[{1, 2}] = x[{2, 1}]; print(x); print(x[4:3]);",
        &["[2,1,3,4,5]", "[]"],
    ),
    (
        "array[2, 2] int a = {{1, 2}, {3, 4}}; a[1] = a[2]; a[2, 1] = 9; print(a); print(a[:, 1]);",
        &["[[3,4],[9,4]]", "[3,9]"],
    ),
    (
        "array[2] vector[2] a; a[1] = [1, 2]'; a[2] = 2 * a[1]; print(a); print(a[{2, 2, 1}, 2]);",
        &["[[1,2],[2,4]]", "[4,4,2]"],
    ),
    (
        "matrix[2, 2] m = [[1, 2], [3, 4]]; matrix[2, 2] k = m; m[1, 1] = 9; print(k[1, 1], m[1][1]);",
        &["19"],
    ),
    (
        "matrix[3, 3] m = rep_matrix(0, 3, 3); m[{1, 3}, 2:3] = [[1, 2], [3, 4]]; print(m);",
        &["[[0,1,2],[0,0,0],[0,3,4]]"],
    ),
    (
        "array[2] matrix[2, 2] a = rep_array([[1, 2], [3, 4]], 2); a[2, 1] = [7, 8]; a[1][, 1] = [0, 0]'; print(a);",
        &["[[[0,2],[0,4]],[[7,8],[3,4]]]"],
    ),
    (
        "array[3] int a = {1, 2, 3}; array[3] real b = a; b[1] = 1.5; print(b, \" \", a);",
        &["[1.5,2,3] [1,2,3]"],
    ),
    ("vector[3] x = [1, 2, 3]'; x += 1; x .*= x; x[2] -= 4; x /= 2; print(x);", &["[2,2.5,8]"]),
    ("int i = 3; i += 2; i *= 4; print(i); real r = 2; r /= 4; print(r);", &["20", "0.5"]),
    (
        "print([[1, 2], [3, 4]] * [1, 1]', \" \", [1, 2] * [3, 4]', \" \", [1, 2]' * [3, 4]);",
        &["[3,7] 11 [[3,4],[6,8]]"],
    ),
    // Control flow.
    (
        "int s = 0; for (i in 1:5) { if (i == 2) continue; if (i == 5) break; s += i; } print(s);",
        &["8"],
    ),
    ("int n = 100; int c = 0; while (n > 1) { n = n %/% 2; c += 1; } print(c);", &["6"]),
    ("for (i in 3:1) print(i); print(\"none\");", &["none"]),
    (
        "for (x in {2, 4}) print(x); for (x in [[1, 2], [3, 4]]) print(x); for (r in {[1, 2], [3, 4]}) print(r);",
        &["2", "4", "1", "2", "3", "4", "[1,2]", "[3,4]"],
    ),
    ("for (i in 1:2) { vector[2] v; v[i] = i; print(v); }", &["[1,nan]", "[nan,2]"]),
    // Functions.
    ("int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); } @ print(fib(15));", &["610"]),
    ("real f(int x) { return 1; } real f(real x) { return 2; } @ print(f(1), f(1.0));", &["12"]),
    ("void say(vector x) { print(\"x = \", x); } @ say([1, 2]');", &["x = [1,2]"]),
    (
        "int even(int n); int odd(int n) { return n == 0 ? 0 : even(n - 1); } \
      int even(int n) { return n == 0 ? 1 : odd(n - 1); } @ print(even(10), odd(10));",
        &["10"],
    ),
    (
        "int count(array[] int x) { array[2] int y = {x[1], x[1]}; if (x[1] == 0) return 0; \
      int r = count({x[1] - 1}); return r + y[2]; } @ print(count({4}));",
        &["10"],
    ),
    (
        "real loop(int n) { for (i in 1:n) { for (j in 1:n) { if (i * j == 6) return i + 0.5; } } return -1; } \
      @ print(loop(3), \" \", loop(2));",
        &["2.5 -1"],
    ),
    ("real g_lpdf(real y, real m) { return -(y - m)^2; } @ print(g_lpdf(3 | 1));", &["-4"]),
    // Tuples and complex numbers.
    (
        "tuple(int, vector[2]) t = (1, [2, 3]'); t.2[1] = 5; print(t, t.1); int a; vector[2] b; (a, b) = t; print(b[1] + a);",
        &["(1,[5,3])1", "6"],
    ),
    (
        "array[2] tuple(int, real) t; t[1] = (1, 2.5); t[2] = t[1]; t[2].1 = 7; print(t);",
        &["[(1,2.5),(7,2.5)]"],
    ),
    // A random bound is drawn before each iteration: 1000 iterations would take 1000 heads.
    (
        "int most = 0; for (k in 1:20) { int n = 0; for (i in 1:(bernoulli_rng(0.5) ? 1000 : 0)) n += 1; most = max(most, n); } print(most < 100);",
        &["1"],
    ),
    ("complex z = 1 + 2i; print(z * z, \" \", get_imag(z), \" \", z == 1 + 2i);", &["(-3,4) 2 1"]),
    // Sizes from data, declarations after statements.
    (
        "int n = 2; print(n); array[n] vector[n + 1] x = rep_array(zeros_vector(3), 2); print(dims(x));",
        &["2", "[2,3]"],
    ),
    ("vector<lower=0>[2] x = [1, 2]'; print(sum(x));", &["3"]),
    ("print(target());", &["error"]),
];

#[test]
fn programs_print_what_the_language_says() {
    let mut wrong = Vec::new();
    for (text, wanted) in TABLE {
        let (functions, body) = text.split_once('@').unwrap_or(("", text));
        let text = format!("functions {{ {functions} }}\ntransformed data {{ {body} }}");
        if *wanted == ["error"] {
            assert!(support::try_program(&text).is_err());
            continue;
        }
        let found = run(&text, "{}", Settings::default());
        if found != *wanted {
            wrong.push(format!("{body}\n  found    {found:?}\n  expected {wanted:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Transformed data and the message of the error that ends them, with its line (the data start on
/// line 2).
const ERRORS: &[(&str, &str)] = &[
    (
        "vector[3] x; int i = 4;\nprint(x[i]);",
        "error 3: `x`: index 4 is out of range; expecting 1..3",
    ),
    ("vector[3] x;\nx[0] = 1;", "error 3: `x`: index 0 is out of range; expecting 1..3"),
    ("array[2, 3] int x; print(x[2, 4]);", "error 2: `x`: index 4 is out of range; expecting 1..3"),
    ("vector[3] x; print(x[2:4]);", "error 2: `x`: index 4 is out of range; expecting 1..3"),
    (
        "vector[3] x; x[1:2] = [1, 2, 3]';",
        "error 2: `x`: sizes do not match: the left side has size [2], the right side has size [3]",
    ),
    ("vector[3] x = [1, 2]';", "error 2: `x` has size [3], but is assigned a value of size [2]"),
    (
        "vector[3] x; x = [1, 2]';",
        "error 2: sizes do not match: the left side has size [3], the right side has size [2]",
    ),
    (
        "vector[2] x = [1, 2]' + [1, 2, 3]';",
        "error 2: sizes do not match: the left side of `+` has size [2], the right side has size [3]",
    ),
    ("int n = -1; vector[n] x;", "error 2: `x`: the size is -1, but must not be negative"),
    ("int z = 0; print(1 %/% z);", "error 2: division of the integer 1 by zero"),
    ("int z = 0; print(1 % z);", "error 2: remainder of 1 divided by zero"),
    (
        "int big = 2147483647; print(big + 1);",
        "error 2: integer overflow: 2147483647 + 1 is beyond 32 bits",
    ),
    (
        "array[2] int x; x[1] = 2 - x[2];",
        "error 2: an integer is used that was never assigned, or that is the smallest there is",
    ),
    ("reject(\"bad \", 3);", "error 2: bad 3"),
    ("fatal_error(\"worse\");", "error 2: worse"),
    ("real<lower=0> x = -1;", "error 2: `x` is -1, but must be at least 0"),
    ("array[2] real<upper=1> x = {0.5, 1.5};", "error 2: `x[2]` is 1.5, but must be at most 1"),
    ("int<lower=0> n;", "error 2: `n` is unassigned (-2147483648), but must be at least 0"),
    ("vector<lower=0>[2] x;", "error 2: `x[1]` is nan, but must be at least 0"),
    (
        "array[2] simplex[2] s = {[0.5, 0.5]', [0.5, 0.6]'};",
        "error 2: `s[2]` is not a simplex: its sum is 1.1, but must be 1",
    ),
    (
        "print(cholesky_decompose([[1, 2], [2, 1]]));",
        "error 2: cholesky_decompose: the matrix is not positive definite",
    ),
    (
        "print(normal_lpdf(1 | 0, -1));",
        "error 2: normal_lpdf: parameter `sigma` of normal must be positive",
    ),
    ("print(mean(zeros_vector(0)));", "error 2: mean: the argument has no elements"),
    (
        "print(dot_product([1, 2], [1, 2, 3]));",
        "error 2: dot_product: the arguments have 2 and 3 elements",
    ),
    ("print(log1m(2));", "error 2: log1m: the argument is 2, but must lie in [-inf, 1]"),
    (
        "print(bernoulli_rng(1.5));",
        "error 2: bernoulli_rng: theta is 1.5, but must be between 0 and 1",
    ),
    (
        "print(rep_matrix(1, 100000, 100000));",
        "error 2: a value of size [100000, 100000] is too large; the limit is 134217728 elements",
    ),
    ("while (1) { }", "error 2: the run took more than 1000 loop steps and calls"),
    (
        "print({[1, 2]', [1]'});",
        "error 2: elements differ in size: the first has size [2], number 2 has size [1]",
    ),
];

#[test]
fn mistakes_are_located() {
    let mut settings = Settings::default();
    settings.fuel = 1000;
    let mut wrong = Vec::new();
    for (body, wanted) in ERRORS {
        let found = run(&format!("transformed data {{\n{body} }}"), "{}", settings.clone());
        if found.last().map(String::as_str) != Some(*wanted) {
            wrong.push(format!("{body}\n  found    {found:?}\n  expected {wanted:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn endless_recursion_is_an_error_and_not_an_overflow() {
    let text =
        "functions { int f(int n) { return f(n + 1) + 1; } }\ntransformed data { print(f(1)); }";
    let found = run(text, "{}", Settings::default());
    assert_eq!(found, ["error 1: calls nest deeper than 500 levels"]);
}
