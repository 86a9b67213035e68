//! Library signatures by rule, against a few written out here and, where a list of Stan's own is at
//! hand, against all of them.

use std::collections::BTreeMap;
use std::fs;

use exmc_stan::check::signatures::{Signature, families, names, signatures};
use exmc_stan::check::{higher_order, spell};

/// `real, vector => real` for each signature of a name.
fn spelt(name: &str) -> Vec<String> {
    let spell_one = |s: &Signature| {
        let arguments: Vec<String> = s.arguments.iter().map(|a| spell(&a.ty)).collect();
        format!("{} => {}", arguments.join(", "), spell(&s.returns))
    };
    signatures(name).iter().map(spell_one).collect()
}

#[test]
fn rules_give_the_signatures_that_the_manual_lists() {
    let cases = [
        ("normal_lpdf", "vector, real, array[] real => real", true),
        ("normal_lpdf", "array[] vector, real, real => real", false),
        ("normal_rng", "vector, int => array[] real", true),
        ("normal_rng", "int, real => real", true),
        ("poisson_rng", "real => int", true),
        ("poisson_rng", "row_vector => array[] int", true),
        ("bernoulli_lpmf", "array[] int, row_vector => real", true),
        ("bernoulli_lpmf", "real, real => real", false),
        ("bernoulli_lpdf", "real, real => real", false),
        ("multi_normal_lpdf", "array[] vector, row_vector, matrix => real", true),
        ("multi_normal_rng", "array[] row_vector, matrix => array[] vector", true),
        ("exp", "array[,] int => array[,] real", true),
        ("exp", "complex => complex", true),
        ("lgamma", "complex => complex", false),
        ("pow", "int, array[] matrix => array[] matrix", true),
        ("log_sum_exp", "vector => real", true),
        ("fma", "row_vector, real, row_vector => row_vector", true),
        ("fma", "row_vector, real, vector => vector", false),
        ("rep_array", "array[] vector, int, int => array[,,] vector", true),
        ("append_array", "array[] int, array[] real => array[] real", false),
        ("multiply", "row_vector, vector => real", true),
        ("multiply", "vector, vector => vector", false),
        ("quantile", "vector, array[] real => array[] real", true),
        ("loglogistic_lcdf", "real, real, real => real", false),
        ("svd", "matrix => tuple(matrix, vector, matrix)", true),
    ];
    for (name, signature, expected) in cases {
        let found = spelt(name).iter().any(|s| s == signature);
        assert_eq!(found, expected, "{name}({signature})");
    }
    let count = |name: &str| signatures(name).len();
    // Four forms of each real slot, two of each integer slot.
    assert_eq!(
        [count("normal_lpdf"), count("student_t_lpdf"), count("binomial_lpmf")],
        [64, 256, 16]
    );
}

#[test]
fn each_family_has_a_density_and_one_name() {
    for family in families() {
        let density = format!("{}_{}", family.name, family.density_suffix());
        assert!(!signatures(&density).is_empty(), "{density}");
        assert_eq!(families().filter(|other| other.name == family.name).count(), 1);
    }
    assert!(signatures("no_such_function").is_empty());
}

/// Types as `stanc --dump-stan-math-signatures` writes them are those of `spell`, so lines compare
/// as text.
#[test]
fn all_signatures_of_a_dump_are_known() {
    let Ok(path) = std::env::var("EXMC_STAN_SIGNATURES") else {
        println!(
            "skipped: EXMC_STAN_SIGNATURES names no dump of `stanc --dump-stan-math-signatures`"
        );
        return;
    };
    let text = fs::read_to_string(&path).expect("the dump can be read");
    let mut dump: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for line in text.lines().map(str::trim).filter(|line| line.contains(" => ")) {
        let (name, rest) = line.split_once('(').expect("a name and its arguments");
        if higher_order::exists(name) {
            continue;
        }
        let (arguments, result) = rest.rsplit_once(") => ").expect("a result");
        dump.entry(name).or_default().push(format!("{arguments} => {result}"));
    }
    let (mut total, mut missing, mut extra) = (0, Vec::new(), Vec::new());
    for (name, lines) in &dump {
        let ours = spelt(name);
        total += lines.len();
        missing.extend(lines.iter().filter(|l| !ours.contains(l)).map(|l| format!("{name}({l}")));
        extra.extend(ours.iter().filter(|l| !lines.contains(l)).map(|l| format!("{name}({l}")));
    }
    let unknown: Vec<&String> = names().iter().filter(|n| !dump.contains_key(n.as_str())).collect();
    println!(
        "{total} signatures, {} missing, {} extra, other names: {unknown:?}",
        missing.len(),
        extra.len()
    );
    for line in missing.iter().take(40).chain(extra.iter().take(40)) {
        println!("  {line}");
    }
    assert!(missing.is_empty() && extra.is_empty() && unknown.is_empty());
}
