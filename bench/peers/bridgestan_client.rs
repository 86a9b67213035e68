//! The crate `bridgestan` on exmc in BridgeStan's place: densities, transforms, generated
//! quantities, threads, and mistakes with their messages. The argument is the directory of `exmc
//! bridgestan install`; `cargo xtask clients --bridgestan` builds and runs this.

use std::ffi::CString;
use std::fs;
use std::path::Path;

use bridgestan::{BridgeStanError, Model, StanLibrary, compile_model, open_library};

const SHARES: &str = "data { int<lower=0> N; array[N] int<lower=1, upper=3> y; }
parameters { simplex[3] shares; }
model { shares ~ dirichlet([2, 2, 2]'); y ~ categorical(shares); }
generated quantities { int next = categorical_rng(shares); }
";
const DATA: &str = r#"{"N": 4, "y": [1, 2, 2, 3]}"#;

fn library(home: &Path, name: &str, program: &str) -> Result<StanLibrary, BridgeStanError> {
    let file = std::env::current_dir().expect("a folder").join(name);
    fs::write(&file, program).expect("the folder can be written to");
    open_library(compile_model(home, &file, &[], &[])?)
}

fn model<'a>(library: &'a StanLibrary, data: &str) -> Result<Model<&'a StanLibrary>, BridgeStanError> {
    Model::new(library, Some(CString::new(data).expect("no zero")), 1)
}

fn near(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() < tolerance, "{a} is not {b}");
}

/// The message of what fails, which must have all `parts`.
fn told<T>(found: Result<T, BridgeStanError>, kind: &str, parts: &[&str]) {
    let Err(error) = found else { panic!("nothing failed: {parts:?}") };
    let name = format!("{error:?}");
    assert!(name.starts_with(kind), "{name} is no {kind}");
    let text = error.to_string();
    parts.iter().for_each(|part| assert!(text.contains(part), "`{part}` is not in: {text}"));
    let first = text.lines().find(|line| line.contains(parts[0])).unwrap_or_default();
    // Without the folders that were looked in.
    println!("{kind}: {}", first.trim().split("; looked in").next().unwrap_or_default());
}

fn main() {
    let home = std::env::args().nth(1).expect("the directory of `exmc bridgestan install`");
    let home = Path::new(&home);
    let stan_library = library(home, "shares.stan", SHARES).expect("it compiles");
    let shares = model(&stan_library, DATA).expect("its data are right");
    assert_eq!(shares.name().expect("UTF-8"), "shares_model");
    assert_eq!(shares.param_names(false, true), "shares.1,shares.2,shares.3,next");
    assert_eq!((shares.param_unc_num(), shares.param_num(false, true)), (2, 4));

    // Differences of the density: five points of 1e-3 leave an error of about 1e-12.
    let position = [0.3, -0.7];
    let mut gradient = [0.0; 2];
    let density = |x: &[f64]| shares.log_density(x, false, true).expect("a density");
    shares.log_density_gradient(&position, false, true, &mut gradient).expect("a gradient");
    for k in 0..2 {
        let moved = |h: f64| {
            let mut x = position;
            x[k] += h;
            density(&x)
        };
        let h = 1e-3;
        let (inner, outer) = (moved(h) - moved(-h), moved(2.0 * h) - moved(-2.0 * h));
        near((8.0 * inner - outer) / (12.0 * h), gradient[k], 1e-9);
    }
    let mut constrained = [0.0; 4];
    let mut rng = shares.new_rng(7).expect("a stream");
    shares.param_constrain(&position, false, true, &mut constrained, Some(&mut rng)).expect("values");
    near(constrained[..3].iter().sum(), 1.0, 1e-12);
    // The density at the constrained values, without the Jacobian: log of 5! / 1 and of powers.
    let [a, b, c] = [constrained[0], constrained[1], constrained[2]].map(f64::ln);
    let exact = 120.0_f64.ln() + 2.0 * a + 3.0 * b + 2.0 * c;
    near(shares.log_density(&position, false, false).expect("a density"), exact, 1e-10);
    assert!([1.0, 2.0, 3.0].contains(&constrained[3]), "{}", constrained[3]);
    let mut back = [0.0; 2];
    shares.param_unconstrain(&constrained[..3], &mut back).expect("a position");
    position.iter().zip(back).for_each(|(a, b)| near(*a, b, 1e-12));
    let json = CString::new(format!("{{\"shares\": {:?}}}", &constrained[..3])).expect("no zero");
    shares.param_unconstrain_json(&json, &mut back).expect("a position");
    position.iter().zip(back).for_each(|(a, b)| near(*a, b, 1e-12));
    let (alone, shares) = (density(&position).to_bits(), &shares);
    std::thread::scope(|scope| {
        let calls = || (0..1000).map(|_| shares.log_density(&position, false, true).expect("a density"));
        let same = move || calls().all(|value| value.to_bits() == alone);
        let all: Vec<_> = (0..4).map(|_| scope.spawn(same)).collect();
        assert!(all.into_iter().all(|thread| thread.join().expect("it ends")));
    });
    println!("densities, transforms, quantities and threads: as they must be");

    // A program that does not compile, and one whose part is missing.
    let bad = "parameters { real x; }\nmodel { y ~ normal(x, 1); }\n";
    let parts = ["error[semantic]: `y` is not declared", "bad.stan:2:9"];
    told(library(home, "bad.stan", bad), "ModelCompilingFailed", &parts);
    let parts = ["cannot find `missing.stan` to include", "part.stan:1:1"];
    told(library(home, "part.stan", "#include missing.stan\n"), "ModelCompilingFailed", &parts);
    // An option that there is not.
    let file = std::env::current_dir().expect("a folder").join("shares.stan");
    let found = compile_model(home, &file, &["--frobnicate"], &[]);
    told(found, "ModelCompilingFailed", &["unknown option `--frobnicate`"]);
    // Data with a value that is not allowed, without a variable, and in a file that is not there.
    let parts = ["`y[2]` is 4, but must be at most 3", "shares.stan:1:"];
    told(model(&stan_library, r#"{"N": 2, "y": [1, 4]}"#), "ConstructFailed", &parts);
    let parts = ["the data have no `y`, which the program declares", "shares.stan:1:"];
    told(model(&stan_library, r#"{"N": 2}"#), "ConstructFailed", &parts);
    told(model(&stan_library, "none.json"), "ConstructFailed", &["none.json"]);
    // A value outside of its support.
    let mut back = [0.0; 2];
    let found = shares.param_unconstrain(&[0.5, 0.6, 0.7], &mut back);
    told(found, "EvaluationFailed", &["shares"]);
}
