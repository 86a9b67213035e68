//! One argument of CmdStan's grammar: its name, what it may be, what it is.

use crate::number::{general, shortest};

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Int(i64),
    Real(f64),
    Bool(bool),
    Text(String),
}

impl Value {
    /// As CmdStan prints it.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Int(n) => n.to_string(),
            // Six digits where they are all of it; clients read the value back.
            Self::Real(x) => {
                let short = general(*x, 6);
                if short.parse() == Ok(*x) { short } else { shortest(*x) }
            }
            // All versions of all clients read digits; words came with CmdStan 2.36.
            Self::Bool(yes) => u8::from(*yes).to_string(),
            Self::Text(text) => text.clone(),
        }
    }

    fn type_name(&self) -> &'static str {
        match self {
            Self::Int(_) => "int",
            Self::Real(_) => "double",
            Self::Bool(_) => "boolean",
            Self::Text(_) => "string",
        }
    }

    /// A value of this one's type from text.
    fn parse(&self, text: &str) -> Option<Self> {
        Some(match self {
            Self::Int(_) => Self::Int(text.parse().ok()?),
            Self::Real(_) => Self::Real(text.parse().ok().filter(|x: &f64| !x.is_nan())?),
            Self::Bool(_) => Self::Bool(match text {
                "1" | "true" => true,
                "0" | "false" => false,
                _ => return None,
            }),
            Self::Text(_) => Self::Text(text.to_owned()),
        })
    }
}

/// Which values are valid.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Range {
    /// All.
    Any,
    /// Above zero.
    Positive,
    /// Zero or above.
    NotNegative,
    /// Between two numbers, both included.
    Between(f64, f64),
    /// What the words say.
    Or(fn(&Value) -> bool, &'static str),
}

impl Range {
    fn holds(self, value: &Value) -> bool {
        let number = match value {
            Value::Int(n) => *n as f64,
            Value::Real(x) => *x,
            Value::Bool(_) | Value::Text(_) => return true,
        };
        match self {
            Self::Any => true,
            Self::Positive => number > 0.0,
            Self::NotNegative => number >= 0.0,
            Self::Between(low, high) => low <= number && number <= high,
            Self::Or(holds, _) => holds(value),
        }
    }

    fn words(self, name: &str, value: &Value) -> String {
        match self {
            _ if matches!(value, Value::Bool(_)) => "[0, 1, false, true]".to_owned(),
            Self::Any if matches!(value, Value::Text(_)) => "a path or a text".to_owned(),
            Self::Any => "All".to_owned(),
            Self::Positive => format!("0 < {name}"),
            Self::NotNegative => format!("0 <= {name}"),
            Self::Between(low, high) => {
                format!("{} <= {name} <= {}", general(low, 6), general(high, 6))
            }
            Self::Or(_, words) => words.to_owned(),
        }
    }
}

/// What an argument is.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A name with arguments below it.
    Category(Vec<Argument>),
    /// A choice between categories or marks.
    List { values: Vec<Argument>, default: usize, chosen: usize, given: bool },
    /// A name alone.
    Mark,
    /// A value.
    Single { default: Value, value: Value, range: Range, given: bool },
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) kind: Kind,
}

/// What parsing came to.
pub(crate) struct Parser<'a> {
    pub(crate) args: &'a [String],
    pub(crate) index: usize,
    pub(crate) errors: Vec<String>,
    /// Help that was asked for, in the middle of the arguments.
    pub(crate) help: Option<String>,
}

/// `name=value` -> both; without `=` the value is empty.
pub(crate) fn split(argument: &str) -> (&str, &str) {
    argument.split_once('=').unwrap_or((argument, ""))
}

impl Parser<'_> {
    fn next(&self) -> Option<&str> {
        self.args.get(self.index).map(String::as_str)
    }

    /// Nothing more is read.
    fn stop(&mut self) {
        self.index = self.args.len();
    }
}

impl Argument {
    pub(crate) fn category(
        name: &'static str,
        description: &'static str,
        arguments: Vec<Self>,
    ) -> Self {
        Self { name, description, kind: Kind::Category(arguments) }
    }

    pub(crate) fn list(
        name: &'static str,
        description: &'static str,
        default: usize,
        values: Vec<Self>,
    ) -> Self {
        Self {
            name,
            description,
            kind: Kind::List { values, default, chosen: default, given: false },
        }
    }

    pub(crate) fn mark(name: &'static str, description: &'static str) -> Self {
        Self { name, description, kind: Kind::Mark }
    }

    pub(crate) fn single(
        name: &'static str,
        description: &'static str,
        default: Value,
        range: Range,
    ) -> Self {
        let value = default.clone();
        Self { name, description, kind: Kind::Single { default, value, range, given: false } }
    }

    /// The argument at a path below this one: names of arguments and of list elements.
    pub(crate) fn find(&self, path: &[&str]) -> Option<&Self> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        let below = match &self.kind {
            Kind::Category(arguments) => arguments,
            Kind::List { values, .. } => values,
            Kind::Mark | Kind::Single { .. } => return None,
        };
        below.iter().find(|a| a.name == *first)?.find(rest)
    }

    /// The name of the chosen element of a list.
    pub(crate) fn choice(&self) -> Option<&'static str> {
        match &self.kind {
            Kind::List { values, chosen, .. } => values.get(*chosen).map(|v| v.name),
            _ => None,
        }
    }

    /// Takes what follows this argument's name; `false` where it is wrong.
    pub(crate) fn parse(&mut self, parser: &mut Parser<'_>) -> bool {
        let help = match parser.next() {
            Some("help") => Some(false),
            Some("help-all") => Some(true),
            _ => None,
        };
        if let Some(recurse) = help
            && !matches!(self.kind, Kind::List { .. })
        {
            let mut text = String::new();
            self.write_help(&mut text, 0, recurse);
            parser.help = Some(text);
            parser.stop();
            return true;
        }
        let name = self.name;
        match &mut self.kind {
            Kind::Mark => true,
            Kind::Category(arguments) => {
                while let Some(next) = parser.next() {
                    let (key, _) = split(next);
                    if key == name {
                        parser.errors.push(format!("{name} is given twice."));
                        return false;
                    }
                    let Some(argument) = arguments.iter_mut().find(|a| a.name == key) else {
                        break;
                    };
                    let is_valued =
                        matches!(argument.kind, Kind::Single { .. } | Kind::List { .. });
                    if !is_valued {
                        parser.index += 1;
                    }
                    if !argument.parse(parser) {
                        return false;
                    }
                }
                true
            }
            Kind::List { values, chosen, given, .. } => {
                let Some(next) = parser.next() else { return true };
                let value = split(next).1.to_owned();
                parser.index += 1;
                let Some(k) = values.iter().position(|v| v.name == value) else {
                    let names: Vec<&str> = values.iter().map(|v| v.name).collect();
                    parser.errors.push(format!("{value} is not a valid value for \"{name}\""));
                    parser.errors.push(format!("  Valid values: {}", names.join(", ")));
                    parser.stop();
                    return false;
                };
                (*chosen, *given) = (k, true);
                values[k].parse(parser)
            }
            Kind::Single { value, range, given, .. } => {
                let Some(next) = parser.next() else { return true };
                let text = split(next).1.to_owned();
                parser.index += 1;
                match value.parse(&text).filter(|proposed| range.holds(proposed)) {
                    Some(proposed) => {
                        (*value, *given) = (proposed, true);
                        true
                    }
                    None => {
                        parser.errors.push(format!("{text} is not a valid value for \"{name}\""));
                        let words = range.words(name, value);
                        parser.errors.push(format!("  Valid values: {words}"));
                        parser.stop();
                        false
                    }
                }
            }
        }
    }

    /// The lines of this argument and of what is below it: `name = value (Default)`.
    pub(crate) fn write(&self, lines: &mut Vec<String>, depth: usize) {
        let indent = "  ".repeat(depth);
        let default = |is: bool| if is { " (Default)" } else { "" };
        let name = self.name;
        match &self.kind {
            Kind::Mark => {}
            Kind::Category(arguments) => {
                lines.push(format!("{indent}{name}"));
                arguments.iter().for_each(|a| a.write(lines, depth + 1));
            }
            Kind::List { values, default: default_index, chosen, .. } => {
                let (value, mark) = (values[*chosen].name, default(default_index == chosen));
                lines.push(format!("{indent}{name} = {value}{mark}"));
                values[*chosen].write(lines, depth + 1);
            }
            Kind::Single { default: default_value, value, .. } => {
                let (text, mark) = (value.text(), default(default_value == value));
                lines.push(format!("{indent}{name} = {text}{mark}"));
            }
        }
    }

    /// The same as an entry of a JSON object.
    pub(crate) fn write_json(&self, out: &mut serde_json::Map<String, serde_json::Value>) {
        use serde_json::Value as Json;
        let mut inner = serde_json::Map::new();
        let value = match &self.kind {
            Kind::Mark => return,
            Kind::Category(arguments) => {
                arguments.iter().for_each(|a| a.write_json(&mut inner));
                Json::Object(inner)
            }
            Kind::List { values, chosen, .. } => {
                inner.insert("value".to_owned(), values[*chosen].name.into());
                values[*chosen].write_json(&mut inner);
                Json::Object(inner)
            }
            Kind::Single { value, .. } => match value {
                Value::Int(n) => (*n).into(),
                Value::Real(x) => (*x).into(),
                Value::Bool(yes) => (*yes).into(),
                Value::Text(text) => text.clone().into(),
            },
        };
        out.insert(self.name.to_owned(), value);
    }

    /// What `help` says.
    pub(crate) fn write_help(&self, out: &mut String, depth: usize, recurse: bool) {
        use std::fmt::Write;
        let indent = "  ".repeat(depth);
        let (name, description) = (self.name, self.description);
        let _ = match &self.kind {
            Kind::Mark => writeln!(out, "{indent}{name}\n{indent}  {description}\n"),
            Kind::Category(arguments) => {
                let _ = writeln!(out, "{indent}{name}\n{indent}  {description}");
                if !arguments.is_empty() {
                    let names: Vec<&str> = arguments.iter().map(|a| a.name).collect();
                    let _ = writeln!(out, "{indent}  Valid subarguments: {}", names.join(", "));
                }
                let ended = writeln!(out);
                if recurse {
                    arguments.iter().for_each(|a| a.write_help(out, depth + 1, true));
                }
                ended
            }
            Kind::List { values, default, .. } => {
                let names: Vec<&str> = values.iter().map(|v| v.name).collect();
                let _ = writeln!(out, "{indent}{name}=<list element>\n{indent}  {description}");
                let _ = writeln!(out, "{indent}  Valid values: {}", names.join(", "));
                let ended = writeln!(out, "{indent}  Defaults to {}\n", values[*default].name);
                if recurse {
                    values.iter().for_each(|v| v.write_help(out, depth + 1, true));
                }
                ended
            }
            Kind::Single { default, range, .. } => {
                let ty = default.type_name();
                let _ = writeln!(out, "{indent}{name}=<{ty}>\n{indent}  {description}");
                let _ = writeln!(out, "{indent}  Valid values: {}", range.words(name, default));
                writeln!(out, "{indent}  Defaults to {}\n", default.text())
            }
        };
    }

    /// Where arguments of such names may stand, as people would type them.
    pub(crate) fn paths_to(
        &self,
        is_meant: &dyn Fn(&str) -> bool,
        prefix: &str,
        found: &mut Vec<String>,
    ) {
        let name = self.name;
        if is_meant(name) {
            found.push(match &self.kind {
                Kind::Single { default, .. } => {
                    format!("{prefix}{name}=<{}>", default.type_name())
                }
                Kind::List { .. } => format!("{prefix}{name}=<list_element>"),
                Kind::Category(_) | Kind::Mark => format!("{prefix}{name}"),
            });
        }
        match &self.kind {
            Kind::Category(arguments) => {
                let prefix = format!("{prefix}{} ", self.name);
                arguments.iter().for_each(|a| a.paths_to(is_meant, &prefix, found));
            }
            Kind::List { values, .. } => {
                let prefix = format!("{prefix}{}=", self.name);
                values.iter().for_each(|v| v.paths_to(is_meant, &prefix, found));
            }
            Kind::Mark | Kind::Single { .. } => {}
        }
    }
}
