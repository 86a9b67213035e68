//! JSON objects of loops -> expressions.

use super::place::Place;
use super::read_expression::{Shared, deeper};
use crate::diagnostic::{Code, Diagnostic};
use crate::expr::Expr;
use crate::scan::Scan;

const WHAT: &str = "a scan";

impl Shared {
    pub(super) fn scan(&self, place: &Place<'_>) -> Result<(Expr, usize), Diagnostic> {
        place.check_keys(WHAT, &["scan"])?;
        let inner = place.need("scan", WHAT)?;
        let keys = ["sequences", "carries", "values", "length", "reverse", "each", "last"];
        inner.check_keys(WHAT, &keys)?;
        let (mut scan, mut depth) = (Scan::new(), 0);
        let mut read = |place: &Place<'_>| -> Result<Expr, Diagnostic> {
            let (expr, below) = self.with_depth(place)?;
            depth = depth.max(below);
            Ok(expr)
        };
        if let Some(sequences) = inner.get("sequences") {
            sequences.object("an object of sequences by name")?;
            for (name, rows) in sequences.fields() {
                scan = scan.sequence(name, read(&rows)?);
            }
        }
        if let Some(values) = inner.get("values") {
            values.object("an object of parts of a step by name")?;
            for (name, value) in values.fields() {
                scan = scan.value(name, read(&value)?);
            }
        }
        if let Some(carries) = inner.get("carries") {
            carries.object("an object of states by name")?;
            for (name, state) in carries.fields() {
                let what = "a state";
                state.check_keys(what, &["start", "next"])?;
                let start = read(&state.need("start", what)?)?;
                scan = scan.carry(name, start, read(&state.need("next", what)?)?);
            }
        }
        if let Some(length) = inner.get("length") {
            scan = scan.steps(length.whole_number("the number of steps")?);
        }
        if let Some(reverse) = inner.get("reverse")
            && reverse.boolean()?
        {
            scan = scan.reversed();
        }
        let expr = match (inner.get("each"), inner.get("last")) {
            (Some(each), None) => scan.each(read(&each)?),
            (None, Some(last)) => scan.last(last.string("the name of a state")?),
            (None, None) | (Some(_), Some(_)) => {
                let message = "a scan gives either \"each\" or \"last\"";
                return Err(inner.mistake(Code::BadJson, message).help(
                    "\"each\" is an expression of every step, \"last\" the name of a state after the last one",
                ));
            }
        };
        Ok((expr, deeper(place, depth)?))
    }
}
