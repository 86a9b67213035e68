//! Small programs, one feature each, after three stages: typed tree, graph of the log density,
//! optimised graph. A change of the lowering shows as a change of these texts.
//!
//! `tests/snapshots/NAME.stan` has data in `NAME.json` (none without) and its dumps in `NAME.txt`.
//! After a change that is meant, `EXMC_BLESS=1 cargo test -p exmc-stan --test all snapshots::`
//! writes
//! them anew; the difference is then reviewed like code. A first line `// steps from 2` has loops
//! walked as steps from two iterations on.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use exmc_graph::{Applied, Graph, GraphError, NodeId, optimise};
use exmc_stan::check::print as print_typed;
use exmc_stan::data::read_data;
use exmc_stan::lower::{Options, lower};

use crate::support;

/// Lines of all dumps together: more could not be reviewed.
const MOST_LINES: usize = 12_000;

/// Lines of the dumps of one program.
const MOST_LINES_EACH: usize = 500;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots")
}

/// The programs' names.
fn names() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let programs = paths.filter(|path| path.extension().is_some_and(|e| e == "stan"));
    let mut names: Vec<String> =
        programs.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A program after the three stages.
fn dumps(text: &str, data: &str) -> String {
    let program = support::program(text);
    let mut environment = read_data(&program, "data.json", data).unwrap();
    let settings = exmc_stan::host::Settings::default();
    exmc_stan::host::Interpreter::new(&program, settings).transform_data(&mut environment).unwrap();
    let mut options = Options::default();
    if let Some(rest) = text.strip_prefix("// steps from ") {
        options.steps_from = rest.lines().next().unwrap().parse().unwrap();
    }
    let lowered = lower(&program, &environment, options).unwrap().lowered;
    let mut graph = Graph::new();
    let keep = |_: &mut Graph, _: NodeId, _: &str| Ok::<_, GraphError>(None);
    let logp = graph.import(&lowered.graph, &[lowered.logp], keep).unwrap()[0];
    let (quick, root, applied) = optimise(&graph, logp, &[]);
    let mut done = String::new();
    for Applied { pass, places, .. } in applied {
        done.push_str(&format!("{pass}: {places}\n"));
    }
    format!(
        "== typed\n{}== graph\n{graph}log density = {logp}\n== optimised\n{quick}log density = {root}\n{done}",
        print_typed(&program),
    )
}

#[test]
fn stages_are_as_they_were() {
    let bless = std::env::var_os("EXMC_BLESS").is_some();
    let (mut changed, mut lines) = (Vec::new(), 0);
    let names = names();
    assert!(names.len() >= 40, "{} programs", names.len());
    for name in &names {
        let read =
            |ending: &str| std::fs::read_to_string(folder().join(format!("{name}.{ending}")));
        let text = read("stan").unwrap();
        assert!(text.lines().count() <= 30, "{name} is longer than a snapshot's program may be");
        let found = dumps(&text, &read("json").unwrap_or_else(|_| "{}".to_owned()));
        let line_count = found.lines().count();
        assert!(line_count <= MOST_LINES_EACH, "{name}: {line_count} lines cannot be reviewed");
        lines += line_count;
        let expected = read("txt").unwrap_or_default().replace("\r\n", "\n");
        if found == expected {
            continue;
        }
        if bless {
            std::fs::write(folder().join(format!("{name}.txt")), &found).unwrap();
        }
        let pairs = expected.lines().zip(found.lines());
        let first = pairs.clone().position(|(a, b)| a != b).unwrap_or_else(|| pairs.count());
        let line = |text: &str| text.lines().nth(first).unwrap_or("nothing").to_owned();
        changed.push(format!(
            "{name}.txt, line {}: `{}` became `{}`",
            first + 1,
            line(&expected),
            line(&found)
        ));
    }
    assert!(lines <= MOST_LINES, "{lines} lines in all");
    if !bless {
        assert!(
            changed.is_empty(),
            "{}\nwhere that is meant: EXMC_BLESS=1 cargo test -p exmc-stan --test all snapshots::",
            changed.join("\n")
        );
    }
}
