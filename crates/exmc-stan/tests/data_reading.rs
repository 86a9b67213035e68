//! Data files that are right, where the format leaves a choice: spellings of keys, and what may be
//! left out.

use crate::support::{program, run};
use exmc_stan::data::read_data;
use exmc_stan::host::Settings;

/// What a program's transformed data print.
fn printed(declarations: &str, statement: &str, data: &str) -> Vec<String> {
    let text = format!("data {{ {declarations} }}\ntransformed data {{ {statement} }}\n");
    run(&text, data, Settings::default())
}

#[test]
fn keys_are_decoded() {
    let n = |data: &str| printed("int N;", "print(N);", data);
    for key in ["N", r"\u004e", r"\u004E"] {
        assert_eq!(n(&format!("{{\"{key}\": 7}}")), ["7"], "{key}");
    }
    // The same key in two spellings is there twice.
    assert_eq!(n(r#"{"N": 1, "\u004e": 2}"#), ["`N` is there twice"]);
    // Keys of tuples, and numbers that are not finite.
    let tuple =
        printed("tuple(int, real) t;", "print(t.1, t.2);", r#"{"t":{"\u0031":3,"2":"\u0049nf"}}"#);
    assert_eq!(tuple, ["3inf"]);
    // Other keys may have any escapes, in pairs too.
    assert_eq!(n(r#"{"\" \\ \/ \b\f\n\r\t \ud83d\ude00": 1, "N": 7}"#), ["7"]);
}

#[test]
fn what_is_no_escape_is_refused_wherever_it_stands() {
    let program = program("data { int N; }");
    for (escape, shown) in [
        (r"\x", r"\x"),
        (r"\u12g4", r"\u"),
        (r"\ud83d", r"\ud83d"),
        (r"\ud83d\u0041", r"\ud83d\u0041"),
        (r"\ude00", r"\ude00"),
        (r"\é", r"\é"),
    ] {
        for text in [
            format!("{{\"N\": 1, \"{escape}\": 2}}"),
            format!("{{\"N\": 1, \"a\": \"{escape}\"}}"),
            format!("{{\"N\": 1, \"a\": {{\"{escape}\": 2}}}}"),
        ] {
            let errors = read_data(&program, "data.json", &text).unwrap_err();
            let error = &errors.diagnostics[0];
            assert_eq!(error.message, format!("`{shown}` is no escape of JSON"), "{text}");
            let place = text.find('\\').unwrap() as u32;
            assert_eq!((error.span.file, error.span.start), (1, place), "{text}");
        }
    }
}

/// CmdStan reads a variable that is not there as empty where its declaration has no element
/// (`audit/stan/data_zero_size_missing.stan`).
#[test]
fn a_missing_variable_of_size_zero_is_empty() {
    let declarations =
        "int N; int k; vector[N] y; array[0] int em; matrix[2, 0] e; array[3, N] real a;
        array[N] tuple(int, real) t; complex_vector[N] c;";
    let sizes = "print(k, size(y), size(em), rows(e), cols(e), size(a), size(c), t);";
    assert_eq!(printed(declarations, sizes, r#"{"N": 0, "k": 3}"#), ["3002030[]"]);
    assert_eq!(printed("array[0] int em;", "print(size(em));", "{}"), ["0"]);
    // Not where an element is missing, also of a tuple.
    let missing =
        |name: &str| vec![format!("the data have no `{name}`, which the program declares")];
    assert_eq!(printed("int N; vector[N] y;", "", r#"{"N": 1}"#), missing("y"));
    assert_eq!(printed("array[0, 2] int z; real x;", "", "{}"), missing("x"));
    assert_eq!(printed("tuple(vector[0], vector[0]) u;", "", "{}"), missing("u"));
    // A size that is not known is not zero.
    let both = printed("int N; vector[N] y;", "", r#"{"x": 1}"#);
    assert_eq!(both, [missing("N"), missing("y")].concat());
}
