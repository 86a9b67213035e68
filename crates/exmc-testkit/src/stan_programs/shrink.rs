//! A program that fails -> a smaller one that fails too: statements are taken away while it does.

use super::tree::{Node, Text};

/// Programs that are tried.
const TRIES: usize = 3_000;

/// The smallest that is found by taking away one statement, branch or pair of braces at a time, or
/// a whole function.
pub(super) fn shrunk(mut text: Text, fails: &mut dyn FnMut(&str) -> bool) -> Text {
    let mut tries = 0;
    loop {
        let mut smaller = None;
        for candidate in candidates(&text) {
            tries += 1;
            if tries > TRIES {
                return text;
            }
            if fails(&candidate.print()) {
                smaller = Some(candidate);
                break;
            }
        }
        match smaller {
            Some(candidate) => text = candidate,
            None => return text,
        }
    }
}

fn candidates(text: &Text) -> Vec<Text> {
    let mut all = Vec::new();
    for k in 0..text.parts.len() {
        let with = |change: &dyn Fn(&mut Text)| {
            let mut changed = text.clone();
            change(&mut changed);
            changed
        };
        all.push(with(&|t| drop(t.parts.remove(k))));
        for body in smaller_lists(&text.parts[k].body) {
            all.push(with(&|t| t.parts[k].body.clone_from(&body)));
        }
        for index in 0..text.parts[k].last.len() {
            all.push(with(&|t| drop(t.parts[k].last.remove(index))));
        }
        for index in 0..text.parts[k].first.len() {
            all.push(with(&|t| drop(t.parts[k].first.remove(index))));
        }
    }
    all
}

/// Lists with one change each.
fn smaller_lists(list: &[Node]) -> Vec<Vec<Node>> {
    let mut all = Vec::new();
    for (k, node) in list.iter().enumerate() {
        let mut without = list.to_vec();
        without.remove(k);
        all.push(without);
        let Node::Arms(arms) = node else { continue };
        for (a, (head, body)) in arms.iter().enumerate() {
            // What stands in the braces, without them.
            let mut opened = list.to_vec();
            opened.splice(k..=k, body.iter().cloned());
            all.push(opened);
            let replaced = |arms: Vec<(String, Vec<Node>)>| {
                let mut changed = list.to_vec();
                changed[k] = Node::Arms(arms);
                changed
            };
            if a > 0 {
                let mut fewer = arms.clone();
                fewer.remove(a);
                all.push(replaced(fewer));
            }
            for smaller in smaller_lists(body) {
                let mut changed = arms.clone();
                changed[a] = (head.clone(), smaller);
                all.push(replaced(changed));
            }
        }
    }
    all
}
