//! Statements as a tree of lines, which can be printed and made smaller -> text.

/// A statement.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// One without others inside.
    Line(String),
    /// Heads (`if (c)`, `else`, `for (i in 1:4)`, nothing) with what stands in their braces.
    Arms(Vec<(String, Vec<Node>)>),
}

/// A program: what stands around its parts is not touched when it is made smaller.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    /// Head (`model`, a function's), first lines, statements, last lines.
    pub(super) parts: Vec<Part>,
}

/// See [`Text`].
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// What stands before the brace; nothing for lines outside of braces.
    pub(super) head: String,
    /// First lines.
    pub(super) first: Vec<String>,
    /// Statements.
    pub(super) body: Vec<Node>,
    /// Last lines.
    pub(super) last: Vec<String>,
    /// What `@` in names becomes.
    pub(super) mark: &'static str,
}

impl Text {
    /// The program as text.
    pub(super) fn print(&self) -> String {
        let mut text = String::new();
        for part in &self.parts {
            let mut lines = String::new();
            part.first.iter().for_each(|line| push(&mut lines, 1, line));
            part.body.iter().for_each(|node| print(node, 1, &mut lines));
            part.last.iter().for_each(|line| push(&mut lines, 1, line));
            text.push_str(&format!("{} {{\n{}}}\n", part.head, lines.replace('@', part.mark)));
        }
        // Functions are parts of their own, in one block.
        let functions = text.find("data {").unwrap_or(0);
        let (before, after) = text.split_at(functions);
        if before.is_empty() { text } else { format!("functions {{\n{before}}}\n{after}") }
    }
}

fn push(text: &mut String, depth: usize, line: &str) {
    text.push_str(&"  ".repeat(depth));
    text.push_str(line);
    text.push('\n');
}

fn print(node: &Node, depth: usize, text: &mut String) {
    match node {
        Node::Line(line) => push(text, depth, line),
        Node::Arms(arms) => {
            for (head, body) in arms {
                push(text, depth, format!("{head} {{").trim_start());
                body.iter().for_each(|node| print(node, depth + 1, text));
                push(text, depth, "}");
            }
        }
    }
}
