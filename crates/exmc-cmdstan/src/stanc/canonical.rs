//! A syntax tree -> the same program with braces around every body, without parentheses that
//! change nothing, with included texts in their places, or without comments.

use exmc_stan::source::Sources;
use exmc_stan::syntax::tree::{
    Block, DeclaredKind, DeclaredType, Expr, ExprKind, Index, LValue, LValueKind, PrintItem,
    Statement, StatementKind,
};
use exmc_stan::syntax::{NoIncludes, parse};

use super::options::Options;
use super::read::Program;
use crate::failure::Failure;

/// Names that `--canonicalize` takes.
const KNOWN: [&str; 5] = ["braces", "parentheses", "includes", "strip-comments", "deprecations"];

/// Changes the program as the options ask; what the printer cannot do is returned in words.
///
/// # Errors
/// A name that `--canonicalize` does not have.
pub(super) fn apply(program: &mut Program, options: &Options) -> Result<Vec<String>, Failure> {
    if let Some(other) = options.canonicalize.iter().find(|name| !KNOWN.contains(&name.as_str())) {
        let known = KNOWN.join(", ");
        return Err(Failure::new(format!(
            "stanc: --canonicalize has no `{other}`; it takes {known}"
        )));
    }
    let asked = |name: &str| options.asks_for(name);
    if !program.included.is_empty() {
        let name = program.sources.files()[0].name.clone();
        let text = match asked("includes") {
            true => Some(program.sources.spliced()),
            false => stand_ins(&program.text),
        };
        if let Some(text) = text {
            let mut sources = Sources::single(name, text);
            let (tree, found) = parse(&mut sources, &mut NoIncludes);
            if asked("includes") || found.is_empty() {
                (program.tree, program.sources) = (tree, sources);
            }
        }
    }
    let mut notes = Vec::new();
    if !program.sources.files().get(1).is_none_or(|_| asked("includes")) {
        notes.push(
            "the canonical form has included texts in their places, without their comments"
                .to_owned(),
        );
    }
    if asked("strip-comments") {
        program.tree.comments.retain(|comment| comment.text.starts_with(STAND_IN));
    }
    let tree = &mut program.tree;
    let blocks = [
        &mut tree.functions,
        &mut tree.data,
        &mut tree.transformed_data,
        &mut tree.parameters,
        &mut tree.transformed_parameters,
        &mut tree.model,
        &mut tree.generated_quantities,
    ];
    let mut pass = Pass { braces: asked("braces"), parentheses: asked("parentheses") };
    for block in blocks.into_iter().flatten() {
        pass.block(block);
    }
    Ok(notes)
}

/// What stands before `#include` for as long as a program is printed: it makes a comment of it.
const STAND_IN: &str = "//exmc keeps: ";

/// The program with comments in the places of its `#include` lines; nothing where one stands behind
/// other text.
fn stand_ins(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        match line.find("#include") {
            Some(column) if line[..column].trim().is_empty() => {
                out.push_str(STAND_IN);
                out.push_str(line[column..].trim_end());
            }
            Some(column) if !line[..column].contains("//") => return None,
            _ => out.push_str(line),
        }
        out.push('\n');
    }
    Some(out)
}

/// Puts `#include` lines back in their places.
pub(super) fn without_stand_ins(text: &str) -> String {
    text.replace(STAND_IN, "")
}

struct Pass {
    braces: bool,
    parentheses: bool,
}

impl Pass {
    fn block(&mut self, block: &mut Block) {
        block.statements.iter_mut().for_each(|s| self.statement(s));
    }

    /// A body, in braces where they are asked for. `else if` stays a chain.
    fn body(&mut self, body: &mut Statement, is_else: bool) {
        self.statement(body);
        let is_chain = is_else && matches!(body.kind, StatementKind::If { .. });
        if self.braces && !is_chain && !matches!(body.kind, StatementKind::Block(_)) {
            let empty = Statement { kind: StatementKind::Empty, span: body.span };
            let inner = std::mem::replace(body, empty);
            body.kind = StatementKind::Block(match inner.kind {
                StatementKind::Empty => Vec::new(),
                _ => vec![inner],
            });
        }
    }

    fn statement(&mut self, statement: &mut Statement) {
        match &mut statement.kind {
            StatementKind::Declare { ty, variables } => {
                self.declared(ty);
                variables
                    .iter_mut()
                    .filter_map(|(_, value)| value.as_mut())
                    .for_each(|e| self.delimited(e));
            }
            StatementKind::Function { body, .. } => {
                if let Some(body) = body {
                    self.statement(body);
                }
            }
            StatementKind::Assign { target, value, .. } => {
                self.target(target);
                self.delimited(value);
            }
            StatementKind::TargetPlus(value)
            | StatementKind::JacobianPlus(value)
            | StatementKind::Return(Some(value)) => self.delimited(value),
            StatementKind::Tilde { outcome, args, truncation, .. } => {
                self.part(outcome);
                args.iter_mut().for_each(|e| self.delimited(e));
                if let Some((lower, upper)) = truncation {
                    lower.iter_mut().chain(upper).for_each(|e| self.delimited(e));
                }
            }
            StatementKind::Call { args, .. } => args.iter_mut().for_each(|e| self.delimited(e)),
            StatementKind::Print(items)
            | StatementKind::Reject(items)
            | StatementKind::FatalError(items) => {
                for item in items {
                    if let PrintItem::Value(value) = item {
                        self.delimited(value);
                    }
                }
            }
            StatementKind::If { condition, then, otherwise } => {
                self.delimited(condition);
                self.body(then, false);
                if let Some(otherwise) = otherwise {
                    self.body(otherwise, true);
                }
            }
            StatementKind::While { condition, body } => {
                self.delimited(condition);
                self.body(body, false);
            }
            StatementKind::For { lower, upper, body, .. } => {
                self.part(lower);
                self.part(upper);
                self.body(body, false);
            }
            StatementKind::ForEach { over, body, .. } => {
                self.delimited(over);
                self.body(body, false);
            }
            StatementKind::Block(statements) | StatementKind::Profile { body: statements, .. } => {
                statements.iter_mut().for_each(|s| self.statement(s));
            }
            StatementKind::Break
            | StatementKind::Continue
            | StatementKind::Return(None)
            | StatementKind::Empty => {}
        }
    }

    fn declared(&mut self, ty: &mut DeclaredType) {
        match &mut ty.kind {
            DeclaredKind::Leaf { sizes, bounds, .. } => {
                // A bound ends at `>`, so what stands in parentheses there may need them.
                let bounds = [
                    &mut bounds.lower,
                    &mut bounds.upper,
                    &mut bounds.offset,
                    &mut bounds.multiplier,
                ];
                bounds.into_iter().flatten().for_each(|e| self.part(e));
                sizes.iter_mut().for_each(|e| self.delimited(e));
            }
            DeclaredKind::Array { sizes, element } => {
                sizes.iter_mut().for_each(|e| self.delimited(e));
                self.declared(element);
            }
            DeclaredKind::Tuple(slots) => slots.iter_mut().for_each(|slot| self.declared(slot)),
        }
    }

    fn target(&mut self, target: &mut LValue) {
        match &mut target.kind {
            LValueKind::Variable(_) => {}
            LValueKind::Index(base, indices) => {
                self.target(base);
                self.indices(indices);
            }
            LValueKind::Field(base, _) => self.target(base),
            LValueKind::Tuple(items) => items.iter_mut().for_each(|item| self.target(item)),
        }
    }

    fn indices(&mut self, indices: &mut [Index]) {
        for index in indices {
            match index {
                Index::Expr(expr) => self.delimited(expr),
                Index::Range(lower, upper) => {
                    lower.iter_mut().chain(upper).for_each(|e| self.part(e));
                }
            }
        }
    }

    /// An expression with a comma, bracket or semicolon on both sides: parentheses around all of it
    /// change nothing.
    fn delimited(&mut self, expr: &mut Expr) {
        if self.parentheses {
            while let ExprKind::Parenthesised(inner) = &mut expr.kind {
                let inner = std::mem::replace(&mut **inner, nothing(expr.span));
                *expr = inner;
            }
        }
        self.below(expr);
    }

    /// An operand: parentheses around a part that holds together by itself change nothing.
    fn part(&mut self, expr: &mut Expr) {
        if self.parentheses {
            while let ExprKind::Parenthesised(inner) = &mut expr.kind {
                if !holds_together(inner) {
                    break;
                }
                let inner = std::mem::replace(&mut **inner, nothing(expr.span));
                *expr = inner;
            }
        }
        self.below(expr);
    }

    fn below(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Unary(_, a) | ExprKind::Transpose(a) | ExprKind::Field(a, _) => self.part(a),
            ExprKind::Parenthesised(a) => self.delimited(a),
            ExprKind::Binary(_, a, b) => {
                self.part(a);
                self.part(b);
            }
            ExprKind::Conditional(a, b, c) => [a, b, c].into_iter().for_each(|e| self.part(e)),
            ExprKind::Index(base, indices) => {
                self.part(base);
                self.indices(indices);
            }
            ExprKind::Array(items)
            | ExprKind::RowVector(items)
            | ExprKind::Tuple(items)
            | ExprKind::Call { args: items, .. } => {
                items.iter_mut().for_each(|e| self.delimited(e))
            }
            ExprKind::Int(_)
            | ExprKind::Real(_)
            | ExprKind::Imaginary(_)
            | ExprKind::Name(_)
            | ExprKind::Target => {}
        }
    }
}

/// What stands in a place for as long as its expression is moved.
fn nothing(span: exmc_stan::source::Span) -> Expr {
    Expr { kind: ExprKind::Target, span }
}

/// Whether an expression means the same whatever stands beside it.
fn holds_together(expr: &Expr) -> bool {
    matches!(
        expr.kind,
        ExprKind::Int(_)
            | ExprKind::Real(_)
            | ExprKind::Imaginary(_)
            | ExprKind::Name(_)
            | ExprKind::Parenthesised(_)
            | ExprKind::Array(_)
            | ExprKind::RowVector(_)
            | ExprKind::Tuple(_)
            | ExprKind::Call { .. }
            | ExprKind::Index(..)
            | ExprKind::Target
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use exmc_stan::syntax::print;

    use super::*;

    fn formatted(text: &str, options: &Options) -> String {
        let mut sources = Sources::single("m.stan", text);
        let (tree, diagnostics) = parse(&mut sources, &mut NoIncludes);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let (text, included) = (text.to_owned(), BTreeMap::new());
        let mut program = Program { text, sources, tree, diagnostics, included };
        apply(&mut program, options).unwrap();
        print(&program.tree, &program.sources)
    }

    const TEXT: &str = "model { real x = ((1)) - ((2 - (y))); /* kept */ if ((a)) x = (1); else if (b) x = -(x + 1)^2; }";

    #[test]
    fn includes_stay_where_they_are_or_give_way_to_their_texts() {
        let text = "functions {\n    #include f.stan\n}\nmodel { /* c */ target += f(); }\n";
        let printed = |options: &Options| {
            let text = stand_ins(text).unwrap();
            without_stand_ins(&formatted(&text, options))
        };
        let kept = "functions {\n  #include f.stan\n}\nmodel {\n  /* c */ target += f();\n}\n";
        assert_eq!(printed(&Options::default()).replace("/* c */\n  ", "/* c */ "), kept);
        let bare = Options { canonicalize: vec!["strip-comments".into()], ..Options::default() };
        assert!(!printed(&bare).contains("/* c */"));
        assert!(printed(&bare).contains("  #include f.stan\n"));
        assert_eq!(stand_ins("model { #include f.stan\n}"), None);
    }

    #[test]
    fn braces_and_parentheses_are_put_right_and_the_meaning_stays() {
        let braces = Options { canonicalize: vec!["braces".into()], ..Options::default() };
        let text = formatted(TEXT, &braces);
        assert!(text.contains("if ((a)) {\n"), "{text}");
        assert!(text.contains("} else if (b) {\n"), "{text}");
        assert!(text.contains("/* kept */"), "{text}");
        let both = Options { print_canonical: true, ..Options::default() };
        let text = formatted(TEXT, &both);
        assert!(text.contains("real x = 1 - (2 - y);"), "{text}");
        assert!(text.contains("if (a) {"), "{text}");
        assert!(text.contains("x = -(x + 1) ^ 2;") || text.contains("x = -(x + 1)^2;"), "{text}");
        let bare = Options { canonicalize: vec!["strip-comments".into()], ..Options::default() };
        assert!(!formatted(TEXT, &bare).contains("kept"));
    }
}
