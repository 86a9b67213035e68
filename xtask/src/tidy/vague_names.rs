//! Sources -> bindings that have a word without a meaning for their only name.
//!
//! Locals, parameters, private fields and functions; methods read with what they are called on, and
//! public fields with their type.

use proc_macro2::Ident;
use syn::visit::{Visit, visit_field, visit_item_fn, visit_pat_ident};
use syn::{Field, ItemFn, PatIdent, Visibility};

use super::File;

/// Each has been the name of a dozen kinds of things.
const VAGUE: [&str; 5] = ["own", "of", "there", "at", "whole"];

/// Complains of names that say nothing.
pub(super) fn check(file: &File, complaints: &mut Vec<String>) {
    match syn::parse_file(&file.text) {
        Ok(tree) => {
            let mut names = Names { path: &file.path, complaints };
            names.visit_file(&tree);
        }
        Err(error) => {
            let line = error.span().start().line;
            complaints.push(format!("{}:{line}: this is no Rust: {error}", file.path));
        }
    }
}

struct Names<'a> {
    path: &'a str,
    complaints: &'a mut Vec<String>,
}

impl Names<'_> {
    fn look_at(&mut self, name: &Ident) {
        if VAGUE.iter().any(|vague| name == vague) {
            let line = name.span().start().line;
            self.complaints.push(format!(
                "{}:{line}: `{name}` is a thing's only name: say what it is",
                self.path
            ));
        }
    }
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_pat_ident(&mut self, pattern: &'ast PatIdent) {
        self.look_at(&pattern.ident);
        visit_pat_ident(self, pattern);
    }

    fn visit_field(&mut self, field: &'ast Field) {
        if let (Some(name), false) = (&field.ident, matches!(field.vis, Visibility::Public(_))) {
            self.look_at(name);
        }
        visit_field(self, field);
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.look_at(&function.sig.ident);
        visit_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(text: &str) -> Vec<String> {
        let file = File { path: "a.rs".to_owned(), text: text.to_owned() };
        let mut found = Vec::new();
        check(&file, &mut found);
        found.iter().map(|line| line.split(' ').next().unwrap_or("").to_owned()).collect()
    }

    #[test]
    fn bindings_fields_and_functions_need_a_meaning() {
        let text = "struct S { own: u8, pub of: u8, start: u8 }\nfn at(there: u8) {\nlet whole = 1;\n\
                    [1].map(|of| of);\nif let Some((own, _)) = x {} }";
        assert_eq!(
            complaints(text),
            ["a.rs:1:", "a.rs:2:", "a.rs:2:", "a.rs:3:", "a.rs:4:", "a.rs:5:"]
        );
    }

    #[test]
    fn methods_public_fields_and_uses_are_left_alone() {
        let text = "pub struct S { pub of: u8 }\nimpl S { fn at(&self, own_port: u8) -> u8 { self.of } }\n\
                    fn f(s: S) -> u8 { s.at(S::of(1)) } // own: whole\n";
        assert!(complaints(text).is_empty());
        assert_eq!(complaints("fn f( {"), ["a.rs:1:"]);
    }
}
