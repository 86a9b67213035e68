//! `for (e in container)`: order, `break`, and assignments to what is walked through, and
//! `for (i in a:b)` whose body changes `b`, as Stan's compiler has them. The expected numbers were
//! computed by Stan's own headers (compiler 2.35, log density and length of the gradient); the
//! manual says that matrices go column by column, and the compiler goes row by row.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc::StanProgram;
use exmc::advanced::Executor;
use exmc::stan::{Interpreter, StanOptions};

/// M is [1, 10, 100; 1000, 10000, 100000].
const POINT: [f64; 6] = [1.0, 10.0, 100.0, 1e3, 1e4, 1e5];

struct Case {
    functions: &'static str,
    model: &'static str,
    value: f64,
    gradient_length: f64,
}

const CASES: &[Case] = &[
    Case {
        functions: "",
        model: "real s = 0; int n = 0; for (e in M) { n += 1; s += n * e; } target += s;",
        value: 654321.0,
        gradient_length: 9.539_392_014_169_456,
    },
    Case {
        functions: "",
        model: "real s = 0; int n = 0;
            for (e in M) { n += 1; if (n == 2) break; s += n * e; }
            target += s;",
        value: 543001.0,
        gradient_length: 7.141_428_428_542_85,
    },
    Case {
        functions: "",
        model: "real s = 0; int n = 0;
            for (e in M .* M) { n += 1; if (n == 2) continue; if (n == 5) break; s += n * sqrt(e); }
            target += s;",
        value: 4301.0,
        gradient_length: 5.0990195135927845,
    },
    Case {
        functions: "",
        model: "real s = 0; int n = 0; matrix[2, 3] m = M;
            for (e in m) { n += 1; m[1, 3] = 7; m[2, 1] += e; s += n * e; if (n == 5) break; }
            target += s;",
        value: 54114.0,
        gradient_length: 10.099504938362077,
    },
    Case {
        functions: "",
        model: "real s = 0; array[2] row_vector[3] a = {M[1], M[2]};
            for (e in a) { a[2] = e; s += dot_product(e, [1, 2, 3]); a[1, 1] = 5; s += e[1]; }
            target += s;",
        value: 644.0,
        gradient_length: 8.246_211_251_235_321,
    },
    Case {
        functions: "",
        model: "real s = 0; matrix[2, 3] m = M;
            for (e in m) { if (e > 50) break; s = 2 * s + e; m[2, 2] = s; }
            target += s;",
        value: 12.0,
        gradient_length: 2.236_067_977_499_79,
    },
    Case {
        functions: "real f(matrix m) {
            real s = 0; for (e in m) { if (e > 5000) return s; s = 0.5 * s + e; } return -1; }",
        model: "target += f(M) + 0.001 * f(M');",
        value: 1053.13525,
        gradient_length: 1.1531213346825215,
    },
    Case {
        functions: "",
        model: "real s = 0;
            array[2, 2] vector[2] a = {{M[1, 1:2]', M[1, 2:3]'}, {M[2, 1:2]', M[2, 2:3]'}};
            for (e in a) { for (f in e) { s = 0.5 * s + dot_self(f) * 1e-6; a[2, 1, 1] = 3; } }
            target += s;",
        value: 10_150.002_542_125,
        gradient_length: 0.20223749048164263,
    },
    Case {
        functions: "",
        model: "real s = 0; int n = 0; vector[4] v = [1, 2, 3, 4]';
            for (e in v) { n += 1; s += n * e; v[n == 4 ? 1 : n + 1] = 100; }
            target += s + 0 * sum(M);",
        value: 901.0,
        gradient_length: 0.0,
    },
    Case {
        functions: "",
        model: "real s = 0; int n = 0; vector[4] v = [1, 2, 3, 4]';
            for (e in v + 0) { n += 1; s += n * e; v[n == 4 ? 1 : n + 1] = 100; }
            for (e in v[{1, 2, 3}]) { n += 1; s += n * e; v[3] = 1000; }
            array[2] row_vector[2] a = {[1, 2], [3, 4]};
            for (e in a) { s += e[1] * e[2]; a[2, 1] = 7; }
            for (e in a[1:2]) { s += e[1] * e[2]; a[2, 1] = 70; }
            for (e in a[2]) { s += 1.5 * e; a[2, 2] = 71; }
            target += s + 0 * sum(M);",
        value: 2001.0,
        gradient_length: 0.0,
    },
    // A bound is computed anew before each iteration.
    Case {
        functions: "",
        model: "real s = 0; int n = 3;
            for (i in 1:n) { if (i == 2) n = 5; s += i * 10 ^ i; }
            for (i in n:n + 2) { n += (i < 10); s += i; }
            int m = 4;
            for (i in 1:m) { m -= 1; s += 0.5 * i; }
            target += s + 0 * sum(M);",
        value: 543279.5,
        gradient_length: 0.0,
    },
    Case {
        functions: "real f(array[] int k, vector x) {
            array[size(k)] int l = k; real s = 0;
            for (i in 1:l[2]) { l[2] = 2; s += x[i]; } return s; }",
        model: "target += f({1, 4, 2}, to_vector(M));",
        value: 1001.0,
        gradient_length: std::f64::consts::SQRT_2,
    },
    Case {
        functions: "",
        model: "real s = 0; int n = 4; array[3] int k = {1, 2, 3};
            for (i in 2:n) {
              if (i == 3) continue; if (n < 7) n += 2; if (i == 7) break; s += M[1, 1] * i ^ 2;
            }
            for (i in k[1]:k[3]) {
              for (j in i:k[2]) {
                k[2] = 3; k[3] = 4; s += i * 100 + j; if (j == 2 && i == 1) continue; s += 0.25;
              }
              if (i == 3) break;
            }
            target += s;",
        value: 1096.25,
        gradient_length: 81.0,
    },
];

#[test]
fn loops_over_containers_do_what_stans_do() {
    for Case { functions, model, value, gradient_length } in CASES {
        let text = format!(
            "functions {{ {functions} }} parameters {{ matrix[2, 3] M; }} model {{ {model} }}"
        );
        for (executor, interpreter) in [
            (Executor::Native, Interpreter::Never),
            (Executor::Reference, Interpreter::Never),
            (Executor::Native, Interpreter::Always),
        ] {
            let mut options = StanOptions::default();
            options.compile.executor = executor;
            options.compile.interpreter = interpreter;
            let program = StanProgram::from_text("loops.stan", &text).unwrap();
            let bound = program.bind_with("data", "{}", &options).unwrap().bound().clone();
            let (found, gradient) = bound.logp_grad(&POINT).unwrap();
            let length = gradient.iter().map(|slope| slope * slope).sum::<f64>().sqrt();
            let size = value.abs().max(1.0);
            assert!((found - value).abs() < 1e-12 * size, "{found}, expected {value}: {model}");
            assert!(
                (length - gradient_length).abs() < 1e-12 * gradient_length.max(1.0),
                "{length}, expected {gradient_length}: {model}"
            );
        }
    }
}

/// Parts that are gathered from what the iterations before gathered: there are more ways to an
/// element than anybody could follow, in a loop of few iterations. A compiler that follows each
/// does not come to an end here.
#[test]
fn parts_of_parts_of_parts_compile() {
    let body = |m: &str| {
        format!(
            "for (i in 1:4) for (j in 1:24) {{
               for (e in {m}) {{ if (!(d[i] > -0.9)) continue; if (d[i] > -1.3) break; }}
               {m}[3:4, 2:4] = {m}[{{4, 1}}, {{4, 2, 1}}];
             }}"
        )
    };
    let text = format!(
        "data {{ vector[4] d; }} parameters {{ matrix[4, 4] M; }}
         transformed parameters {{ matrix[4, 4] o = M; {} }}
         model {{ matrix[4, 4] m = M; {} target += sum(m .* M); }}",
        body("o"),
        body("m")
    );
    let program = StanProgram::from_text("parts.stan", &text).unwrap();
    let data = "{\"d\": [0.5, -1.2, 0.3, -0.7]}";
    let bound = program.bind_with("data", data, &StanOptions::default()).unwrap().bound().clone();
    // Row by row.
    let point: Vec<f64> = (1..=16).map(f64::from).collect();
    let mut m = point.clone();
    for _ in 0..96 {
        let old = m.clone();
        for (row, from_row) in [(2, 3), (3, 0)] {
            for (column, from_column) in [(1, 3), (2, 1), (3, 0)] {
                m[4 * row + column] = old[4 * from_row + from_column];
            }
        }
    }
    let expected: f64 = m.iter().zip(&point).map(|(a, b)| a * b).sum();
    let found = bound.logp_grad(&point).unwrap().0;
    assert!((found - expected).abs() < 1e-12 * expected, "{found}, expected {expected}");
}
