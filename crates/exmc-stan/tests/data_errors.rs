//! Data files that are wrong: declarations and JSON -> messages with their places, as snapshots in
//! `tests/data_errors.txt` (written anew with `EXMC_BLESS=1`).

use std::fmt::Write;

use crate::support::program;
use exmc_stan::data::read_data;

/// Declarations and texts that do not fit them.
const CASES: &[(&str, &[&str])] = &[
    // Text that is no JSON.
    (
        "int n;",
        &[
            "",
            " ",
            "[]",
            "3",
            "null",
            "{",
            "}",
            "{\"n\"",
            "{\"n\":",
            "{\"n\": 1",
            "{\"n\": 1,",
            "{\"n\": 1,}",
            "{\"n\" 1}",
            "{\"n\": 1 \"m\": 2}",
            "{n: 1}",
            "{'n': 1}",
            "{\"n\": 1} x",
            "{\"n\": 1}{",
            "{\"n: 1}",
            "{\"n\": }",
            "{\"n\": 1;}",
            "{\"n\": \u{e9}}",
            "{\"n\": \u{1}}",
            "{\"m\": [1, 2}",
            "{\"m\": {\"a\": }}",
            "{\"m\": tru}",
            "{\"m\": \"a\nb\"}",
            "{\"m\": 1x}",
            "{\"n\": 1, \"n\": 2}",
            "{,}",
            "{\"n\": 1,, \"m\": 2}",
        ],
    ),
    // Numbers.
    (
        "real x;",
        &[
            "{\"x\": 01}",
            "{\"x\": 1.}",
            "{\"x\": .5}",
            "{\"x\": +1}",
            "{\"x\": -}",
            "{\"x\": 1e}",
            "{\"x\": 1e+}",
            "{\"x\": 1e999}",
            "{\"x\": 0x10}",
            "{\"x\": 1_000}",
            "{\"x\": nan}",
            "{\"x\": inf}",
            "{\"x\": -nan}",
            "{\"x\": \"one\"}",
            "{\"x\": \"+inf\"}",
            "{\"x\": \"\"}",
            "{\"x\": null}",
            "{\"x\": true}",
            "{\"x\": false}",
            "{\"x\": {}}",
            "{\"x\": {\"1\": 2}}",
            "{\"x\": []}",
            "{\"x\": [1]}",
            "{\"x\": [[1]]}",
            "{\"x\": 1 2}",
        ],
    ),
    (
        "int n;",
        &[
            "{}",
            "{\"m\": 1}",
            "{\"N\": 1}",
            "{\"n\": 1.0}",
            "{\"n\": 1.5}",
            "{\"n\": 1e3}",
            "{\"n\": -1e-3}",
            "{\"n\": 2147483648}",
            "{\"n\": -2147483649}",
            "{\"n\": 99999999999999999999}",
            "{\"n\": NaN}",
            "{\"n\": \"Infinity\"}",
            "{\"n\": \"3\"}",
            "{\"n\": [3]}",
            "{\"n\": []}",
            "{\"n\": null}",
        ],
    ),
    // Containers.
    (
        "array[3] int a;",
        &[
            "{\"a\": [1, 2]}",
            "{\"a\": [1, 2, 3, 4]}",
            "{\"a\": []}",
            "{\"a\": 1}",
            "{\"a\": [1, 2, 3.5]}",
            "{\"a\": [1, NaN, 3]}",
            "{\"a\": [[1, 2, 3]]}",
            "{\"a\": [[1], [2], [3]]}",
            "{\"a\": [1, [2], 3]}",
            "{\"a\": [[1], 2, 3]}",
            "{\"a\": [1, 2, null]}",
            "{\"a\": [1, 2,]}",
            "{\"a\": [,1, 2]}",
            "{\"a\": [1 2 3]}",
            "{\"a\": [1, 2, 3}",
            "{\"a\": [1, 2, 3",
            "{\"a\": [1, \"x\", 3]}",
            "{\"a\": [1, {}, 3]}",
            "{\"a\": {\"1\": 1}}",
            "{\"a\": [1, 2, 3000000000]}",
        ],
    ),
    ("array[1] real a;", &["{\"a\": 1}", "{\"a\": []}"]),
    (
        "array[2, 3] real a;",
        &[
            "{\"a\": [[1, 2, 3], [4, 5]]}",
            "{\"a\": [[1, 2], [3, 4], [5, 6]]}",
            "{\"a\": [1, 2, 3, 4, 5, 6]}",
            "{\"a\": [[1, 2, 3]]}",
            "{\"a\": [[], []]}",
            "{\"a\": [[1, 2, 3], []]}",
            "{\"a\": [[1, 2, 3], 4]}",
            "{\"a\": [[[1], [2], [3]], [[4], [5], [6]]]}",
            "{\"a\": [[1, 2, 3],\n [4, 5, true]]}",
            "{\"a\": [[1, 2, 3], [4, 5, [6]]]}",
            "{\"a\": []}",
        ],
    ),
    (
        "int N;\nvector[N] v;",
        &[
            "{\"N\": 2, \"v\": [1, 2, 3]}",
            "{\"v\": [1, 2, 3], \"N\": 2}",
            "{\"N\": 2.0, \"v\": [1, 2]}",
            "{\"N\": -1, \"v\": []}",
            "{\"N\": 1, \"v\": 5}",
            "{\"N\": 0, \"v\": [1]}",
            "{\"N\": 0, \"v\": 1}",
            "{\"v\": [1]}",
            "{\"N\": 2}",
            "{\"N\": 1000000000, \"v\": []}",
            "{\"N\": 2, \"v\": [1, \"NA\"]}",
            "{\"N\": 2, \"v\": [[1, 2]]}",
        ],
    ),
    (
        "matrix[2, 3] m;",
        &[
            "{\"m\": [[1, 2], [3, 4], [5, 6]]}",
            "{\"m\": [[1, 2, 3], [4, 5, 6], [7, 8, 9]]}",
            "{\"m\": [1, 2, 3]}",
            "{\"m\": [[1, 2, 3], [4, 5, \"a\"]]}",
            "{\"m\": []}",
            "{\"m\": [[], []]}",
        ],
    ),
    (
        "complex z;",
        &["{\"z\": 1}", "{\"z\": [1]}", "{\"z\": [1, 2, 3]}", "{\"z\": {\"re\": 1, \"im\": 2}}"],
    ),
    ("complex_vector[2] z;", &["{\"z\": [1, 2]}", "{\"z\": [[1, 2]]}", "{\"z\": [[1, 2], [3]]}"]),
    (
        "tuple(int, vector[2]) t;",
        &[
            "{\"t\": 1}",
            "{\"t\": [1, [2, 3]]}",
            "{\"t\": {\"1\": 1}}",
            "{\"t\": {\"1\": 1, \"2\": [2]}}",
            "{\"t\": {\"1\": 1.5, \"2\": [2, 3]}}",
            "{\"t\": {\"1\": 1, \"2\": [2, 3], \"3\": 4}}",
            "{\"t\": {\"1\": 1, \"1\": 2}}",
            "{\"t\": {\"a\": 1, \"2\": [2, 3]}}",
            "{\"t\": {}}",
        ],
    ),
    (
        "array[2] tuple(int, real) t;",
        &[
            "{\"t\": [{\"1\": 1, \"2\": 2}]}",
            "{\"t\": {\"1\": 1, \"2\": 2}}",
            "{\"t\": [{\"1\": 1, \"2\": 2}, {\"1\": 1}]}",
            "{\"t\": [{\"1\": 1, \"2\": 2}, {\"1\": 0.5, \"2\": 2}]}",
            "{\"t\": [{\"1\": 1, \"2\": 2}, 3]}",
            "{\"t\": []}",
        ],
    ),
    // Constraints.
    ("int<lower=0, upper=3> n;", &["{\"n\": -1}", "{\"n\": 4}"]),
    ("real<lower=0> x;", &["{\"x\": -0.5}", "{\"x\": NaN}", "{\"x\": \"-Inf\"}"]),
    ("real<upper=1> x;", &["{\"x\": 1.0000001}"]),
    (
        "int N;\narray[2, N] real<lower=N> x;",
        &["{\"N\": 2, \"x\": [[2, 3],\n[4, 1.5]]}", "{\"N\": 2, \"x\": [[1, 3], [4, 5]]}"],
    ),
    ("vector[2] low;\nvector<lower=low>[2] x;", &["{\"low\": [0, 5], \"x\": [1, 4]}"]),
    ("array[2] vector<lower=0>[2] x;", &["{\"x\": [[1, 2], [3, -4]]}"]),
    ("simplex[3] s;", &["{\"s\": [0.2, 0.3, 0.6]}", "{\"s\": [0.5, -0.5, 1]}", "{\"s\": [1, 0]}"]),
    ("int K;\nsimplex[K] s;", &["{\"K\": 0, \"s\": []}"]),
    ("array[2] simplex[2] s;", &["{\"s\": [[0.5, 0.5], [0.1, 0.1]]}"]),
    ("ordered[3] o;", &["{\"o\": [1, 3, 2]}", "{\"o\": [1, 1, 2]}", "{\"o\": [1, NaN, 2]}"]),
    ("positive_ordered[2] o;", &["{\"o\": [-1, 2]}", "{\"o\": [2, 1]}"]),
    ("unit_vector[2] u;", &["{\"u\": [1, 1]}"]),
    ("sum_to_zero_vector[2] u;", &["{\"u\": [1, 1]}"]),
    (
        "corr_matrix[2] c;",
        &[
            "{\"c\": [[1, 0.5], [0.4, 1]]}",
            "{\"c\": [[1, 0.5], [0.5, 2]]}",
            "{\"c\": [[1, 1.5], [1.5, 1]]}",
        ],
    ),
    (
        "cov_matrix[2] c;",
        &[
            "{\"c\": [[1, 2], [2, 1]]}",
            "{\"c\": [[1, 0], [0, 0]]}",
            "{\"c\": [[1, NaN], [NaN, 1]]}",
        ],
    ),
    (
        "cholesky_factor_corr[2] c;",
        &["{\"c\": [[1, 0], [0.5, 0.5]]}", "{\"c\": [[1, 0.1], [0, 1]]}"],
    ),
    ("cholesky_factor_cov[2] c;", &["{\"c\": [[1, 0], [1, -1]]}", "{\"c\": [[1, 1], [0, 1]]}"]),
    ("row_stochastic_matrix[2, 2] c;", &["{\"c\": [[0.5, 0.5], [0.5, 0.4]]}"]),
    ("column_stochastic_matrix[2, 2] c;", &["{\"c\": [[0.5, 0.5], [0.5, 0.4]]}"]),
    // Several mistakes at once.
    (
        "int N;\nint M;\nvector[N] v;",
        &["{\"N\": 1.5, \"v\": [1]}", "{\"M\": \"x\"}", "{\"N\": 2, \"M\": 1.5, \"v\": [1]}"],
    ),
];

/// All messages of one case.
fn messages(declarations: &str, json: &str) -> String {
    let program = program(&format!("data {{\n{declarations}\n}}"));
    let Err(errors) = read_data(&program, "data.json", json) else {
        panic!("{declarations} takes {json}");
    };
    assert!(!errors.diagnostics.is_empty());
    let mut out = String::new();
    for d in &errors.diagnostics {
        let file = errors.sources.file(d.span);
        let place = file.place(d.span.start);
        let part = errors.sources.text(d.span);
        let (name, line, column) = (&file.name, place.line, place.column);
        writeln!(out, "  {name}:{line}:{column}: {} <{part}>", d.message)
            .expect("a string takes everything");
        if let Some(help) = &d.help {
            writeln!(out, "    help: {help}").expect("a string takes everything");
        }
    }
    out
}

#[test]
fn wrong_data_are_refused_where_they_are_wrong() {
    let mut found = String::new();
    let mut count = 0;
    for (declarations, texts) in CASES {
        for json in *texts {
            writeln!(found, "{} <- {json:?}", declarations.replace('\n', " ")).unwrap();
            found.push_str(&messages(declarations, json));
            count += 1;
        }
    }
    assert!(count >= 150, "{count}");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data_errors.txt");
    if std::env::var_os("EXMC_BLESS").is_some() {
        std::fs::write(path, &found).unwrap();
    }
    let wanted = std::fs::read_to_string(path).unwrap_or_default();
    for (k, (found, wanted)) in found.lines().zip(wanted.lines()).enumerate() {
        assert_eq!(found, wanted, "line {}", k + 1);
    }
    assert_eq!(found.lines().count(), wanted.lines().count());
}

#[test]
fn good_data_are_read() {
    let program = program(
        "data { int N; array[N] real x; vector[0] e; array[0, 3] int f; matrix[2, 2] m; complex z; \
         tuple(int, vector[2]) t; array[2] tuple(int, real) u; array[N, 1] vector[2] a; real i; array[0] tuple(int, int) w; }",
    );
    let json = "\u{feff} {\"skipped\": {\"a\": [true, null, \"x\\\"\"]}, \"u\": [{\"1\": 1, \"2\": 2}, {\"2\": 4.5, \"1\": 3}],
        \"x\": [1, -Infinity], \"N\": 2, \"e\": [], \"f\": [], \"m\": [[1, 2], [3, 4e-1]], \"z\": [1, \"NaN\"],
        \"t\": {\"1\": 7, \"2\": [8, 9]}, \"a\": [[[1, 2]], [[3, 4]]], \"i\": \"-Inf\", \"w\": [], \"not-a-name\": 1} ";
    let env =
        read_data(&program, "data.json", json).unwrap_or_else(|e| panic!("{:?}", e.diagnostics));
    let mut printed = String::new();
    for (_, value) in env.known() {
        exmc_stan::host::print::print_value(&mut printed, value);
        printed.push(' ');
    }
    // By hand, in the order of declarations.
    let wanted = "2 [1,-inf] [] [] [[1,2],[3,0.4]] (1,nan) (7,[8,9]) [(1,2),(3,4.5)] [[[1,2]],[[3,4]]] -inf [] ";
    assert_eq!(printed, wanted);
}

#[test]
fn mutated_texts_never_panic() {
    let program = program(
        "data { int<lower=1> N; array[N] real x; matrix[2, 2] m; tuple(int, vector[2]) t; complex z; simplex[2] s; }",
    );
    let good = "{\"N\": 2, \"x\": [1.5, -2e3], \"m\": [[1, 2], [3, 4]], \"t\": {\"1\": 7, \"2\": [8, 9]}, \
                \"z\": [1, \"NaN\"], \"s\": [0.25, 0.75]}";
    assert!(read_data(&program, "data.json", good).is_ok());
    let pieces = [
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "\"",
        "1",
        "-",
        ".",
        "e",
        "NaN",
        "null",
        " ",
        "\\",
        "\u{e9}",
        "[[",
        "99999999999",
    ];
    let mut state = 0x1234_5678_9abc_def0_u64;
    let mut next = |bound: usize| {
        // xorshift64: only variety is needed.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % bound as u64) as usize
    };
    let start = std::time::Instant::now();
    let (mut tried, mut refused) = (0, 0);
    while start.elapsed().as_millis() < 800 || tried < 2000 {
        let mut text: Vec<char> = good.chars().collect();
        for _ in 0..=next(4) {
            if text.is_empty() {
                break;
            }
            let position = next(text.len());
            match next(3) {
                0 => drop(text.remove(position)),
                1 => text
                    .splice(position..position, pieces[next(pieces.len())].chars())
                    .for_each(drop),
                _ => text.truncate(position + 1),
            }
        }
        let text: String = text.into_iter().collect();
        if let Err(errors) = read_data(&program, "data.json", &text) {
            refused += 1;
            for d in &errors.diagnostics {
                // Places are inside their texts.
                let file = errors.sources.file(d.span);
                assert!(
                    d.span.start <= d.span.end && d.span.end as usize <= file.text.len(),
                    "{text}"
                );
            }
        }
        tried += 1;
    }
    assert!(refused * 2 > tried, "{refused} of {tried} were refused");
}
