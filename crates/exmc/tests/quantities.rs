//! Generated quantities that are compiled against those of the interpreter, which runs one
//! statement after the other: values, random numbers, printed lines, notes and errors are the same.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::sync::{Arc, Mutex};

use exmc::StanProgram;
use exmc::advanced::{BoundModel, COMPILE_QUANTITIES, DrawNumber};
use exmc::infer::RunPhase;
use exmc::stan::{Printer, StanModel, StanOptions};
use exmc_math::random::{ChainRng, Phase};

/// Parameters and data that the blocks below read.
const HEAD: &str = "functions {
  real twice(real x) { return 2 * x; }
  real checked(real x) { if (x < -1) reject(\"x is \", x); return sqrt(x + 1); }
  real noisy_rng(real m, real s) { return m + s * normal_rng(0, 1); }
  real told(real x) { print(\"told \", x); return x; }
  tuple(real, vector) pair(vector v) { return (sum(v), 2 * v); }
}
data { int N; vector[N] x; vector[N] y; array[N] int g; matrix[2, 3] A; }
transformed data { vector[N] half = x / 2; }
parameters { real alpha; real beta; real<lower=0> sigma; vector[3] b; cholesky_factor_corr[2] L; simplex[3] p; }
transformed parameters { vector[N] eta = alpha + beta * x; matrix[2, 2] R = multiply_lower_tri_self_transpose(L); }
model { alpha ~ std_normal(); beta ~ std_normal(); sigma ~ exponential(1); b ~ std_normal(); L ~ lkj_corr_cholesky(2); y ~ normal(eta, sigma); }
";

const DATA: &str = r#"{"N": 5, "x": [0.5, -1, 2, 0.25, 1.5], "y": [1, -2, 3.5, 0, 2], "g": [1, 3, 2, 2, 1],
  "A": [[1, 2, 3], [4, 5, 6.5]]}"#;

type Lines = Arc<Mutex<Vec<String>>>;

fn bound(block: &str, compiled: bool) -> (StanModel, Lines) {
    let program =
        StanProgram::from_text("p.stan", &format!("{HEAD}generated quantities {{ {block} }}"));
    let lines = Lines::default();
    let sink = lines.clone();
    let mut options = StanOptions::default();
    options.printer = Some(Printer::new(move |line| sink.lock().unwrap().push(line.to_owned())));
    options.compile.without.extend((!compiled).then(|| COMPILE_QUANTITIES.to_owned()));
    let model = program.unwrap().bind_with("d.json", DATA, &options);
    (model.unwrap_or_else(|error| panic!("{block}: {error}")), lines)
}

/// The quantities at points, each a row or the error that ends the run.
fn rows(model: &BoundModel, points: &[Vec<f64>]) -> Vec<Result<Vec<f64>, String>> {
    let quantities = model.quantities().unwrap();
    let width = quantities.variables().iter().map(|(_, shape)| shape.len()).sum();
    let mut instance = quantities.instance(7);
    let mut trace = model.trace_instance();
    let mut values = vec![0.0; model.trace_width()];
    let each = points.iter().zip(0..).map(|(point, index)| {
        trace.evaluate(point, &mut values).unwrap();
        let mut out = vec![f64::INFINITY; width];
        let number = DrawNumber { chain: 1, phase: RunPhase::Sampling, index };
        match instance.evaluate(number, &values, &mut out) {
            Ok(()) => Ok(out),
            Err(error) => Err(error.to_string()),
        }
    });
    each.collect()
}

fn points(dim: usize) -> Vec<Vec<f64>> {
    let mut rng = ChainRng::new(20_261_123, 0, Phase::Predictive);
    (0..12).map(|_| (0..dim).map(|_| 4.0 * rng.uniform() - 2.0).collect()).collect()
}

/// Compares both ways; `names` are the variables that must be compiled.
#[track_caller]
fn agree(block: &str, names: &str) {
    let ((compiled, told), (plain, told_plainly)) = (bound(block, true), bound(block, false));
    let quantities = compiled.bound().quantities().unwrap();
    assert_eq!(quantities.compiled().join(" "), names, "{block}");
    assert!(plain.bound().quantities().unwrap().compiled().is_empty());
    let points = points(compiled.bound().compiled().dim());
    let (found, expected) = (rows(compiled.bound(), &points), rows(plain.bound(), &points));
    for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let (found, expected) = match (found, expected) {
            (Ok(found), Ok(expected)) => (found, expected),
            (found, expected) => {
                assert_eq!(found, expected, "{block} at point {k}");
                continue;
            }
        };
        assert_eq!(found.len(), expected.len());
        for (column, (a, b)) in found.iter().zip(expected).enumerate() {
            // Sums run in another order: some units in the last place of the largest term.
            let close = (a - b).abs() <= 1e-12 * b.abs().max(1.0);
            assert!(
                a == b || close || (a.is_nan() && b.is_nan()),
                "{block} at point {k}, column {column}: {a} {b}"
            );
        }
    }
    assert_eq!(quantities.notes(), plain.bound().quantities().unwrap().notes(), "{block}");
    assert_eq!(*told.lock().unwrap(), *told_plainly.lock().unwrap(), "{block}");
}

#[test]
fn values_of_compiled_blocks_are_those_of_the_interpreter() {
    let table = [
        (
            "vector[N] log_lik; for (n in 1:N) log_lik[n] = normal_lpdf(y[n] | alpha + beta * x[n], sigma);",
            "log_lik",
        ),
        (
            "vector[N] log_lik; for (n in 1:N) log_lik[n] = student_t_lpdf(y[n] | 4, eta[n], sigma); real total = sum(log_lik);",
            "log_lik total",
        ),
        (
            "matrix[2, 3] M = A; M[2, 3] = alpha; matrix[3, 2] T = M'; vector[6] flat = to_vector(M); real e = M[1, 2] + T[3, 2];",
            "M T flat e",
        ),
        ("array[2, 3] real a; for (i in 1:2) for (j in 1:3) a[i, j] = A[i, j] * b[j];", "a"),
        (
            "array[2] matrix[2, 3] a; for (i in 1:2) a[i] = i * A * alpha; row_vector[3] r = a[2][1];",
            "a r",
        ),
        (
            "int above = alpha > 0; array[N] int k; for (n in 1:N) k[n] = eta[n] > 0 ? g[n] : -g[n]; int total = sum(k);",
            "above k total",
        ),
        (
            "complex z = to_complex(alpha, beta); complex w = z * z; complex_vector[2] v = [z, w]'; complex_matrix[2, 2] m = [[z, w], [1, conj(z)]];",
            "z w v m",
        ),
        (
            "tuple(real, vector[3]) t = (alpha, b); real u = t.1 + t.2[3]; array[2] tuple(int, real) s = {(1, alpha), (2, beta)};",
            "t u s",
        ),
        ("real s; vector[3] d; (s, d) = pair(b); real q = twice(s) + checked(sigma);", "s d q"),
        (
            "real q = 0; for (i in 1:3) q = b[i] > 0 ? i : q; real last = 0; for (n in 1:N) { if (x[n] > alpha) break; last = eta[n]; }",
            "q last",
        ),
        ("vector[N] f; f[1] = alpha; for (n in 2:N) f[n] = 0.5 * f[n - 1] + eta[n];", "f"),
        (
            "corr_matrix[2] C = R; real<lower=-1, upper=1> r = R[1, 2]; vector<lower=0>[3] q = p; simplex[3] s = p;",
            "C r q s",
        ),
        (
            "real a; { vector[N] d = half - mean(half); a = dot_self(d) * alpha; } real h = half[2];",
            "a h",
        ),
        (
            "real k = categorical_lpmf(g[2] | p) + poisson_lpmf(3 | sigma); int one = 1; real nothing = 0.0;",
            "k one nothing",
        ),
        ("vector[0] none; real a = alpha; array[0] int no;", "none a no"),
        ("real i = is_inf(alpha / 0.0); real l = log(0.0); real e = exp(1000 * sigma);", "i l e"),
    ];
    for (block, names) in table {
        agree(block, names);
    }
}

#[test]
fn random_numbers_do_not_depend_on_what_is_compiled() {
    let table = [
        (
            "array[N] real rep; vector[N] m; for (n in 1:N) { m[n] = twice(eta[n]); rep[n] = normal_rng(m[n], sigma); }",
            "m",
        ),
        (
            "array[N] real rep; vector[N] l; for (n in 1:N) { real m = alpha + beta * x[n]; l[n] = normal_lpdf(y[n] | m, sigma); rep[n] = normal_rng(m, sigma); }",
            "l",
        ),
        (
            "array[N] real rep = normal_rng(eta, sigma); real worst = max(rep); vector[N] d = y - eta; real c = normal_rng(d[1], 1);",
            "d",
        ),
        (
            "real a = normal_rng(0, 1); real m = alpha; if (a > 0) m = 3; real z = noisy_rng(m, sigma); real w = beta;",
            "w",
        ),
        ("real w = alpha; real z = noisy_rng(w, sigma); w = 7;", ""),
        ("int k = categorical_rng(p); real z = b[k]; real w = b[2];", "w"),
        (
            "vector[N] o; for (n in 1:N) { real u = uniform_rng(0, 1); if (u > 0.5) continue; o[n] = eta[n]; } real w = beta;",
            "w",
        ),
        (
            "array[3] int c = rep_array(0, 3); for (i in 1:10) c[categorical_rng(p)] += 1; vector[3] q = 10 * p;",
            "q",
        ),
    ];
    for (block, names) in table {
        agree(block, names);
    }
}

#[test]
fn prints_rejections_and_errors_are_those_of_the_interpreter() {
    let table = [
        // A check in the middle of a block, before and behind what prints.
        (
            "print(\"first\"); real<lower=0> a = alpha; print(\"a \", a); real z = normal_rng(a, 1);",
            "a",
        ),
        ("real a = checked(2 * alpha); print(\"a \", a);", "a"),
        (
            "print(\"before\"); real a = alpha; if (a > 0.5) reject(\"a is \", a); print(\"after \", a);",
            "a",
        ),
        ("real l = normal_lpdf(1 | 0, alpha); real k = beta;", "l k"),
        ("real r = normal_rng(0, alpha); real k = beta;", "k"),
        ("real a = told(alpha); real k = beta;", "k"),
        ("matrix[2, 2] c = cholesky_decompose([[1, alpha], [alpha, 1]]); real k = beta;", "k"),
        (
            "vector[2] v = [alpha, beta]'; vector<lower=0>[2] w = v; positive_ordered[2] o = w;",
            "v w o",
        ),
        ("if (alpha > 1) fatal_error(\"alpha is \", alpha); real k = beta;", "k"),
        ("vector[N] part; for (n in 2:N) part[n] = eta[n]; real k = beta;", "part k"),
        // What the interpreter refuses, where nothing reads the number that is none.
        ("real r = log1m(alpha) > 0 ? 1 : 0; real k = beta;", "r k"),
        ("vector[N] r; for (n in 1:N) r[n] = fmax(log1p(eta[n]), 0); real k = beta;", "r k"),
        ("real r = fmin(log_mix(alpha, beta, 1), 100); real k = beta;", "r k"),
        ("array[2] int r = sort_indices_asc([alpha, inv_Phi(beta)]'); real k = beta;", "k"),
        ("real r = 0; if (alpha > 0) r = atanh(alpha) > 0; real k = beta;", "r k"),
        ("real never; int no; real k = beta;", "never no k"),
    ];
    for (block, names) in table {
        agree(block, names);
    }
    // An index by parameters, inside or out of range.
    let block = "int k = alpha > 0.5 ? 9 : 2; real z = b[k]; real w = beta;";
    let ((compiled, _), (plain, _)) = (bound(block, true), bound(block, false));
    let points = points(compiled.bound().compiled().dim());
    let (found, expected) = (rows(compiled.bound(), &points), rows(plain.bound(), &points));
    assert_eq!(
        found.iter().filter(|row| row.is_err()).count(),
        expected.iter().filter(|row| row.is_err()).count()
    );
    assert!(found.iter().any(Result::is_err) && found.iter().any(Result::is_ok));
    for (a, b) in found.iter().zip(&expected) {
        assert_eq!(a, b);
    }
}

/// The same statements in transformed parameters and generated quantities, at every recorded draw
/// of a run, whose random numbers are those of any other evaluation.
#[test]
fn recorded_draws_hold_the_same_values_in_both_blocks() {
    let statements = |names: [&str; 3]| {
        let [a, b, c] = names;
        format!(
            "vector[N] {a}; matrix[2, N] {b}; real {c} = 0;
             for (n in 1:N) {{ {a}[n] = exp(-square(x[n] - m)) + (n > 1 ? {a}[n - 1] : 0); {b}[1, n] = {a}[n]; {b}[2, n] = n * s; }}
             for (n in 1:N) {c} += {b}[1, n] * {b}[2, n] + log_sum_exp({a}[n], m);"
        )
    };
    let text = format!(
        "data {{ int N; vector[N] x; }} parameters {{ real m; real<lower=0> s; }}
         transformed parameters {{ {} }}
         model {{ m ~ std_normal(); s ~ exponential(1); x ~ normal(a[1] + c / 100, 1 + s); }}
         generated quantities {{ {} array[N] real rep = normal_rng(a2, s); }}",
        statements(["a", "b", "c"]),
        statements(["a2", "b2", "c2"]),
    );
    let program = StanProgram::from_text("p.stan", &text).unwrap();
    let data = r#"{"N": 4, "x": [0.5, -1, 2, 0.25]}"#;
    let run = |compiled: bool| {
        let mut options = StanOptions::default();
        options.compile.without.extend((!compiled).then(|| COMPILE_QUANTITIES.to_owned()));
        let model = program.bind_with("d.json", data, &options).unwrap();
        let names = model.bound().quantities().unwrap().compiled();
        assert_eq!(names.join(" "), if compiled { "a2 b2 c2" } else { "" });
        let mut config = exmc::SamplerConfig::default();
        (config.chains, config.warmup, config.draws, config.seed) = (2, 100, 50, 4);
        exmc::advanced::sample(model.bound(), &config).unwrap()
    };
    let (compiled, plain) = (run(true), run(false));
    let place = |name: &str| {
        let found = compiled.variables.iter().find(|v| v.name == name).unwrap();
        found.offset..found.offset + found.len()
    };
    for (chain, other) in compiled.chains.iter().zip(&plain.chains) {
        let draws = chain.values.chunks_exact(compiled.width());
        for (draw, interpreted) in draws.zip(other.values.chunks_exact(compiled.width())) {
            for (first, second) in [("a", "a2"), ("b", "b2"), ("c", "c2"), ("rep", "rep")] {
                for row in [draw, interpreted] {
                    for (x, y) in row[place(first)].iter().zip(&row[place(second)]) {
                        assert!((x - y).abs() <= 1e-12 * x.abs().max(1.0), "{first}: {x} {y}");
                    }
                }
            }
            for (x, y) in draw.iter().zip(interpreted) {
                assert!((x - y).abs() <= 1e-12 * x.abs().max(1.0), "{x} {y}");
            }
        }
    }
}
