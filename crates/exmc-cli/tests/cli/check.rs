//! `exmc check`: diagnostics of Stan programs, their canonical text and facts about them.

use serde_json::json;

use crate::harness::{Folder, expect_text};

const GOOD: &str =
    "data{int N;vector[N]y;}\nparameters{real mu;}\nmodel{y~normal(mu,1);// likelihood\n}\n";

const BAD: &str = "data {
  int N
  real x[N];
}
model {
  mu <- 3;
  for (n in 1:N {
    target += x[n;
  }
}
";

#[test]
fn a_good_program_is_said_to_be_one() {
    let folder = Folder::new();
    folder.write("good.stan", GOOD);
    let ran = folder.exmc(&["check", "good.stan"]).ends_with(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", "1 program without errors\n"));
}

#[test]
fn all_mistakes_of_a_program_are_shown_with_their_lines() {
    let folder = Folder::new();
    folder.write("bad.stan", BAD);
    folder.write("good.stan", GOOD);
    let ran = folder.exmc(&["check", "bad.stan", "good.stan"]).ends_with(1);
    assert_eq!(ran.stdout, "");
    expect_text("check-bad.txt", &ran.stderr);
}

#[test]
fn canonical_text_goes_to_standard_output_and_is_canonical_already() {
    let folder = Folder::new();
    folder.write("good.stan", GOOD);
    let printed = folder.exmc(&["check", "--print", "good.stan"]).ends_with(0).stdout;
    expect_text("check-print.txt", &printed);
    folder.write("again.stan", &printed);
    assert_eq!(folder.exmc(&["check", "--print", "again.stan"]).ends_with(0).stdout, printed);
}

#[test]
fn diagnostics_as_json_have_places_classes_and_hints() {
    let folder = Folder::new();
    folder.write("old.stan", "data {\n  real x[3];\n}\n");
    let document = folder.exmc(&["check", "--json", "old.stan"]).ends_with(1).json();
    let expected = json!({"exmc": 1, "files": [{"file": "old.stan", "ok": false, "diagnostics": [{
        "class": "syntax", "severity": "error", "file": "old.stan",
        "line": 2, "column": 9, "end_line": 2, "end_column": 12,
        "message": "an array's sizes stand before its type",
        "help": "write `array[3] real x;`", "labels": [], "included_from": [],
    }]}]});
    assert_eq!(document, expected);
}

#[test]
fn facts_have_the_form_that_other_tools_read() {
    let folder = Folder::new();
    folder.write("good.stan", GOOD);
    let document = folder.exmc(&["check", "--info", "good.stan"]).ends_with(0).json();
    let expected = json!({
        "inputs": {"N": {"type": "int", "dimensions": 0}, "y": {"type": "real", "dimensions": 1}},
        "parameters": {"mu": {"type": "real", "dimensions": 0}},
        "transformed parameters": {},
        "generated quantities": {},
        "functions": [],
        "distributions": ["normal_lupdf"],
        "included_files": [],
    });
    assert_eq!(document, expected);
}

#[test]
fn included_files_come_from_the_programs_folder_or_an_include_path_only() {
    let folder = Folder::new();
    folder.write("outside.stan", "real secret;");
    std::fs::create_dir_all(folder.path("sub")).unwrap();
    std::fs::create_dir_all(folder.path("lib")).unwrap();
    folder.write("sub/near.stan", "real near;\n#include <far.stan>\n");
    folder.write("lib/far.stan", "real far[3];");
    folder.write("sub/main.stan", "data {\n  #include \"near.stan\"\n}\n");
    folder.write("sub/climb.stan", "data {\n  #include ../outside.stan\n}\n");
    let main = folder.exmc(&["check", "sub/main.stan", "--include-path", "lib"]).ends_with(1);
    expect_text("check-include.txt", &main.stderr);
    let missing = folder.exmc(&["check", "sub/main.stan"]).ends_with(1).stderr;
    assert!(missing.contains("cannot find `far.stan`"), "{missing}");
    let climb = folder.exmc(&["check", "sub/climb.stan"]).ends_with(1).stderr;
    assert!(climb.contains("error[include]: cannot include `../outside.stan`"), "{climb}");
}

#[test]
fn a_program_that_cannot_be_read_ends_with_four() {
    let folder = Folder::new();
    let ran = folder.exmc(&["check", "none.stan"]).ends_with(4);
    assert!(ran.stderr.contains("none.stan"), "{ran:?}");
}
