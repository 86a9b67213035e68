//! Loops -> how each of them was lowered.

use std::collections::BTreeMap;
use std::fmt;

use crate::source::{Sources, Span};
use crate::typed::{Statement, SyntaxId};

/// How a loop became nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A lane for each iteration.
    Vectorised,
    /// The same in blocks of iterations, one after the other.
    Blocks,
    /// One walk over the iterations as the steps of a scan.
    Steps,
    /// One iteration after the other.
    Unrolled,
    /// The same, and iterations that are alike became a scan.
    Rerolled,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vectorised => "vectorised",
            Self::Blocks => "vectorised in blocks",
            Self::Steps => "walked as the steps of a scan",
            Self::Unrolled => "unrolled",
            Self::Rerolled => "unrolled, then rolled into a scan",
        })
    }
}

/// What became of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopReport {
    /// Its place.
    pub span: Span,
    /// How often it was reached.
    pub visits: usize,
    /// The most iterations that it had at once, those of loops around it together.
    pub iterations: usize,
    /// How it was lowered the last time.
    pub way: Way,
    /// How often an attempt was undone.
    pub undone: usize,
}

/// Reports by loop, in the order of the program.
#[derive(Clone, Debug, Default)]
pub(in crate::lower) struct LoopReports(BTreeMap<SyntaxId, LoopReport>);

impl LoopReports {
    pub(in crate::lower) fn visit(&mut self, statement: &Statement, iterations: usize) {
        let (span, way) = (statement.span, Way::Unrolled);
        let fresh = LoopReport { span, visits: 0, iterations: 0, way, undone: 0 };
        let report = self.0.entry(statement.id).or_insert(fresh);
        report.visits += 1;
        report.iterations = report.iterations.max(iterations);
    }

    pub(in crate::lower) fn lowered(&mut self, id: SyntaxId, way: Way) {
        if let Some(report) = self.0.get_mut(&id) {
            report.way = way;
        }
    }

    pub(in crate::lower) fn undone(&mut self, id: SyntaxId) {
        if let Some(report) = self.0.get_mut(&id) {
            report.undone += 1;
        }
    }

    pub(in crate::lower) fn finish(self) -> Vec<LoopReport> {
        self.0.into_values().collect()
    }
}

/// A line for each loop.
pub fn print_loops(sources: &Sources, loops: &[LoopReport]) -> String {
    if loops.is_empty() {
        return "no loop was lowered\n".to_owned();
    }
    let line = |report: &LoopReport| {
        let LoopReport { span, visits, iterations, way, undone } = report;
        let place = sources.file(*span).place(span.start);
        let iterations = count(*iterations, "iteration");
        let visits = if *visits > 1 { format!(", reached {visits} times") } else { String::new() };
        let undone = match undone {
            0 => String::new(),
            n => format!(", after {} undone", count(*n, "attempt")),
        };
        format!("{}:{}: {iterations} {way}{undone}{visits}\n", place.line, place.column + 1)
    };
    loops.iter().map(line).collect()
}

fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
