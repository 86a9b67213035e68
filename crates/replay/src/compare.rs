//! Two games -> the names of what differs between them, to the bit.

use crate::columns::Columns;
use crate::game::{Character, Game, PerFrame};

/// What differs between two games, each with the column and the first row; nothing if they are the
/// same. Values are compared as bits, so NaN equals itself; damage and rollbacks do not count.
#[must_use]
pub fn differences(a: &Game, b: &Game) -> Vec<String> {
    let mut found = Vec::new();
    let mut same = |is_same: bool, what: &str| {
        if !is_same {
            found.push(what.to_owned());
        }
    };
    same(a.start == b.start, "start");
    same(a.end == b.end, "end");
    same(a.metadata == b.metadata, "metadata");
    same(a.first_frame == b.first_frame, "first frame");
    same(a.len() == b.len(), "number of frames");
    for (number, (a, b)) in a.ports.iter().zip(&b.ports).enumerate() {
        let place = format!("port {}", number + 1);
        match (a, b) {
            (Some(a), Some(b)) => {
                characters(Some(&a.leader), Some(&b.leader), &place, &mut found);
                let place = format!("{place} follower");
                characters(a.follower.as_ref(), b.follower.as_ref(), &place, &mut found);
            }
            (None, None) => {}
            _ => found.push(place),
        }
    }
    columns(&a.frame_start, &b.frame_start, "frame start", &mut found);
    columns(&a.frame_end, &b.frame_end, "frame end", &mut found);
    lists(&a.items, &b.items, "items", &mut found);
    lists(&a.platforms, &b.platforms, "platforms", &mut found);
    lists(&a.wind, &b.wind, "wind", &mut found);
    lists(&a.transformations, &b.transformations, "transformations", &mut found);
    found
}

fn characters(a: Option<&Character>, b: Option<&Character>, place: &str, found: &mut Vec<String>) {
    match (a, b) {
        (Some(a), Some(b)) => {
            if a.present != b.present {
                found.push(format!("{place}: presence"));
            }
            columns(&a.pre, &b.pre, &format!("{place} pre"), found);
            columns(&a.post, &b.post, &format!("{place} post"), found);
        }
        (None, None) => {}
        _ => found.push(place.to_owned()),
    }
}

fn lists<C: Columns>(a: &PerFrame<C>, b: &PerFrame<C>, place: &str, found: &mut Vec<String>) {
    if a.offsets != b.offsets {
        found.push(format!("{place}: offsets"));
    }
    columns(&a.rows, &b.rows, place, found);
}

fn columns<C: Columns>(a: &C, b: &C, place: &str, found: &mut Vec<String>) {
    let pairs = a.columns().into_iter().zip(b.columns());
    for (field, (a, b)) in C::FIELDS.iter().zip(pairs) {
        let row = (0..a.len().min(b.len())).find(|row| a.bits(*row) != b.bits(*row));
        if let Some(row) = row {
            found.push(format!("{place}: `{}` from row {row}", field.name));
        } else if a.len() != b.len() {
            found.push(format!("{place}: `{}` has {} and {} rows", field.name, a.len(), b.len()));
        }
    }
}
