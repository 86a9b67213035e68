//! Text -> graph: reads what [`print`](crate::print()) writes.
//!
//! Every line is checked: its number must be the node's place, and its kind, shape and dependence
//! must be those that the operation has. Indentation means nothing; empty lines and `//` lines are
//! skipped.

use std::sync::Arc;

use exmc_math::{OdeControl, OdeMethod, RootControl};

use crate::decomposition::Decomposition;
use crate::graph::{Dependence, Graph, GraphError, NodeId};
use crate::ode::{OdeLayout, OdeProblem, SharedOde, Solver};
use crate::op::{Binary, Op, Reduction, Role, ScanBody, SharedBody, Ternary, Unary};
use crate::tensor::{DType, Shape, Tensor};

/// Reads a graph.
///
/// # Errors
/// When a line is not of the printed form or contradicts what its operation computes; the message
/// starts with the line's number.
///
/// ```
/// use exmc_graph::{parse, print};
/// let text = "%0 = input \"x\" : real[2] param\n%1 = exp(%0) : real[2] param\n";
/// let graph = parse(text)?;
/// assert_eq!(print(&graph), text);
/// # Ok::<(), exmc_graph::GraphError>(())
/// ```
pub fn parse(text: &str) -> Result<Graph, GraphError> {
    let mut lines = Lines { rest: text.lines().enumerate(), number: 0 };
    let graph = lines.graph(false)?;
    Ok(graph)
}

struct Lines<'t> {
    rest: std::iter::Enumerate<std::str::Lines<'t>>,
    number: usize,
}

impl Lines<'_> {
    /// Nodes up to the end of the text, or of a body up to its closing brace.
    fn graph(&mut self, is_body: bool) -> Result<Graph, GraphError> {
        let mut graph = Graph::new();
        while let Some((number, line)) = self.rest.next() {
            self.number = number + 1;
            let line = line.trim();
            if line.is_empty() || line.starts_with("//") {
                continue;
            }
            if is_body && line == "}" {
                return Ok(graph);
            }
            let line_number = self.number;
            self.node(&mut graph, line).map_err(|e| match e.message().starts_with("line ") {
                true => e,
                false => GraphError::new(format!("line {line_number}: {e}")),
            })?;
        }
        if is_body { Err(GraphError::new("a body is not closed")) } else { Ok(graph) }
    }

    fn node(&mut self, graph: &mut Graph, line: &str) -> Result<(), GraphError> {
        let mut cursor = Cursor { rest: line };
        let number = cursor.node_number()?;
        cursor.expect("=")?;
        let name = cursor.word()?.to_owned();
        let written = Written::read(&mut cursor, &name)?;
        cursor.expect(":")?;
        let dtype = match cursor.word()? {
            "real" => DType::Real,
            "int" => DType::Int,
            other => return fail(format!("`{other}` is neither real nor int")),
        };
        let shape = Shape::from(cursor.list(Cursor::integer)?);
        let dependence = match cursor.word()? {
            "const" => Dependence::Constant,
            "data" => Dependence::Data,
            "param" => Dependence::Parameter,
            other => return fail(format!("`{other}` is none of const, data, param")),
        };
        let id = match written {
            Written::Constant(values) => {
                let tensor = match dtype {
                    DType::Real => Tensor::real(shape.clone(), values),
                    DType::Int => Tensor::int(shape.clone(), values),
                };
                graph.constant(tensor.ok_or_else(|| error("the elements do not fit the shape"))?)
            }
            Written::Input(name) => {
                let role = match dependence {
                    Dependence::Parameter => Role::Parameter,
                    _ => Role::Data,
                };
                graph.input(&name, role, shape.clone(), dtype)?
            }
            Written::Apply { args, attributes } => {
                let args = args
                    .into_iter()
                    .map(|k| find(graph, k).ok_or_else(|| error(format!("there is no %{k}"))))
                    .collect::<Result<Vec<_>, _>>()?;
                let body = if matches!(&*name, "scan" | "ode") {
                    cursor.expect("{")?;
                    Some(self.graph(true)?)
                } else {
                    None
                };
                graph.apply(operation(&name, &attributes, &shape, body)?, &args)?
            }
        };
        cursor.end()?;
        if id.index() != number {
            return fail(format!("%{number} is {id}"));
        }
        let node = graph.node(id);
        if (&node.shape, node.dtype, node.dependence) != (&shape, dtype, dependence) {
            let found = graph.print_node(id);
            return fail(format!("the text says {dtype}{shape} {dependence}, but {found}"));
        }
        Ok(())
    }
}

/// What stands between a line's `=` and `:`.
enum Written {
    Constant(Vec<f64>),
    Input(String),
    Apply { args: Vec<usize>, attributes: Attributes },
}

impl Written {
    fn read(cursor: &mut Cursor<'_>, name: &str) -> Result<Self, GraphError> {
        Ok(match name {
            "constant" if cursor.peek("[") => Self::Constant(cursor.list(Cursor::real)?),
            "constant" => Self::Constant(vec![cursor.real()?]),
            "input" => Self::Input(cursor.string()?),
            _ => {
                cursor.expect("(")?;
                let args = cursor.items(")", Cursor::node_number)?;
                Self::Apply { args, attributes: Attributes::read(cursor)? }
            }
        })
    }
}

/// An operation's attributes: each a list, a single number being a list of one; or a text.
struct Attributes {
    lists: Vec<(String, Vec<usize>)>,
    texts: Vec<(String, String)>,
}

impl Attributes {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, GraphError> {
        let mut texts = Vec::new();
        let mut lists = Vec::new();
        if cursor.eat("{") {
            cursor.items("}", |cursor| {
                let key = cursor.word()?.to_owned();
                cursor.expect("=")?;
                if cursor.peek("\"") {
                    texts.push((key, cursor.string()?));
                    return Ok(());
                }
                let value = if cursor.peek("[") {
                    cursor.list(|c| if c.peek("%") { c.node_number() } else { c.integer() })?
                } else if cursor.eat("true") {
                    vec![1]
                } else if cursor.eat("false") {
                    vec![0]
                } else {
                    vec![cursor.integer()?]
                };
                lists.push((key, value));
                Ok(())
            })?;
        }
        Ok(Self { lists, texts })
    }

    fn list(&self, key: &str) -> Result<&[usize], GraphError> {
        let found = self.lists.iter().find(|(k, _)| k == key);
        found.map(|(_, v)| &**v).ok_or_else(|| error(format!("`{key}` is missing")))
    }

    fn one(&self, key: &str) -> Result<usize, GraphError> {
        match self.list(key)? {
            [value] => Ok(*value),
            _ => fail(format!("`{key}` must be one number")),
        }
    }

    fn flag(&self, key: &str) -> Result<bool, GraphError> {
        Ok(self.one(key)? != 0)
    }

    fn body(&self, graph: Graph) -> Result<SharedBody, GraphError> {
        let nodes = |key: &str| -> Result<Vec<NodeId>, GraphError> {
            let ids = self.list(key)?.iter();
            ids.map(|&k| find(&graph, k).ok_or_else(|| error(format!("no %{k} in the body"))))
                .collect()
        };
        let (next, stacked) = (nodes("next")?, nodes("stacked")?);
        let counts = <[usize; 3]>::try_from(self.list("counts")?)
            .map_err(|_| error("`counts` must be three numbers"))?;
        Ok(SharedBody(Arc::new(ScanBody { graph, next, stacked, counts })))
    }
}

impl Attributes {
    fn layout(&self) -> Result<OdeLayout, GraphError> {
        let &[states, values, varying, start, initial_time, times] = self.list("layout")? else {
            return fail("`layout` must be six numbers");
        };
        let [start, initial_time, times] = [start, initial_time, times].map(|flag| flag != 0);
        Ok(OdeLayout { states, values, varying, start, initial_time, times })
    }

    fn problem(&self, graph: Graph) -> Result<SharedOde, GraphError> {
        let solver = self.texts.iter().find(|(key, _)| key == "solver");
        let words: Vec<&str> = solver.map_or(Vec::new(), |(_, text)| text.split(' ').collect());
        let wrong = || error("`solver` must be a method, its tolerances and a number of steps");
        let number = |text: &str| text.parse::<f64>().map_err(|_| wrong());
        let steps = |text: &str| text.parse::<u64>().map_err(|_| wrong());
        let solver = match *words {
            ["root", tolerance, limit] => Solver::Root(RootControl {
                tolerance: number(tolerance)?,
                max_steps: steps(limit)?,
            }),
            [method, relative, absolute, limit] => {
                let (relative, absolute) = (number(relative)?, number(absolute)?);
                let control = OdeControl { relative, absolute, max_steps: steps(limit)? };
                match method {
                    "dae" => Solver::Residual(control),
                    _ => Solver::Flow(OdeMethod::from_name(method).ok_or_else(wrong)?, control),
                }
            }
            _ => return Err(wrong()),
        };
        let number = self.one("slope")?;
        let slope =
            find(&graph, number).ok_or_else(|| error(format!("no %{number} in the body")))?;
        let problem = OdeProblem::new(graph, slope, solver, self.layout()?)?;
        Ok(SharedOde(Arc::new(problem)))
    }
}

fn find(graph: &Graph, number: usize) -> Option<NodeId> {
    (number < graph.len()).then(|| NodeId::from_index(number))
}

fn operation(
    name: &str,
    attributes: &Attributes,
    shape: &Shape,
    body: Option<Graph>,
) -> Result<Op, GraphError> {
    let one = |key: &str| attributes.one(key);
    if let Some(op) = Unary::from_name(name) {
        return Ok(Op::Unary(op));
    }
    if let Some(op) = Binary::from_name(name) {
        return Ok(Op::Binary(op));
    }
    if let Some(op) = Ternary::from_name(name) {
        return Ok(Op::Ternary(op));
    }
    for &kind in Decomposition::ALL {
        if name == kind.name() {
            return Ok(Op::Decompose(kind));
        }
        if name == kind.adjoint_name() {
            return Ok(Op::DecomposeAdjoint(kind));
        }
    }
    if let Some(op) = Reduction::from_name(name) {
        return Ok(Op::Reduce(op, attributes.list("axes")?.to_vec()));
    }
    Ok(match name {
        "broadcast" => Op::Broadcast(shape.clone()),
        "reshape" => Op::Reshape(shape.clone()),
        "permute" => Op::Permute(attributes.list("order")?.to_vec()),
        "slice" => Op::Slice {
            axis: one("axis")?,
            start: one("start")?,
            step: one("step")?,
            len: one("len")?,
        },
        "unslice" => Op::Unslice {
            axis: one("axis")?,
            start: one("start")?,
            step: one("step")?,
            extent: one("extent")?,
        },
        "concat" => Op::Concat { axis: one("axis")? },
        "gather" => Op::Gather,
        "scatter_add" => Op::ScatterAdd { len: one("len")? },
        "cumulative_sum" => Op::CumSum { axis: one("axis")?, reverse: attributes.flag("reverse")? },
        "log_product" => Op::LogProduct(attributes.list("powers")?.to_vec()),
        "matmul" => Op::MatMul,
        "hold" => Op::Hold,
        "cholesky" => Op::Cholesky,
        "cholesky_adjoint" => Op::CholeskyAdjoint,
        "triangular_solve" => Op::TriangularSolve { transposed: attributes.flag("transposed")? },
        "lu" => Op::Lu,
        "lu_solve" => Op::LuSolve { transposed: attributes.flag("transposed")? },
        "log_abs_det" => Op::LogAbsDet,
        "symmetric_eigen" => Op::SymmetricEigen,
        "least_squares" => Op::LeastSquares { groups: one("groups")?, local: one("local")? },
        "scan" => Op::Scan {
            length: one("length")?,
            reverse: attributes.flag("reverse")?,
            body: attributes.body(body.ok_or_else(|| error("a scan needs a body"))?)?,
        },
        "ode" => Op::Ode(attributes.problem(body.ok_or_else(|| error("an ode needs a body"))?)?),
        "ode_solution" => Op::OdeSolution(attributes.layout()?),
        "project" => Op::Project(one("output")?),
        other => return fail(format!("there is no operation `{other}`")),
    })
}

/// A place in a line; white space between tokens is skipped.
struct Cursor<'t> {
    rest: &'t str,
}

impl<'t> Cursor<'t> {
    fn peek(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        self.rest.starts_with(token)
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.peek(token);
        if found {
            self.rest = &self.rest[token.len()..];
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), GraphError> {
        if self.eat(token) {
            return Ok(());
        }
        fail(format!("expected `{token}` before `{}`", self.rest))
    }

    fn end(&mut self) -> Result<(), GraphError> {
        if self.rest.trim().is_empty() {
            return Ok(());
        }
        fail(format!("unexpected `{}`", self.rest.trim()))
    }

    /// Characters up to white space or punctuation.
    fn word(&mut self) -> Result<&'t str, GraphError> {
        self.rest = self.rest.trim_start();
        let is_word = |c: char| c.is_ascii_alphanumeric() || "_.+-:".contains(c);
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.is_empty() {
            return fail(format!("expected a word before `{}`", self.rest));
        }
        self.rest = rest;
        Ok(word)
    }

    fn integer(&mut self) -> Result<usize, GraphError> {
        let word = self.word()?;
        word.parse().map_err(|_| error(format!("`{word}` is not a whole number")))
    }

    fn real(&mut self) -> Result<f64, GraphError> {
        let word = self.word()?;
        if let Some(bits) = word.strip_prefix("nan:0x") {
            let bits = u64::from_str_radix(bits, 16).map(f64::from_bits);
            return bits.map_err(|_| error(format!("`{word}` is not a number's bits")));
        }
        word.parse().map_err(|_| error(format!("`{word}` is not a number")))
    }

    fn node_number(&mut self) -> Result<usize, GraphError> {
        self.expect("%")?;
        self.integer()
    }

    fn list<T>(
        &mut self,
        item: impl FnMut(&mut Self) -> Result<T, GraphError>,
    ) -> Result<Vec<T>, GraphError> {
        self.expect("[")?;
        self.items("]", item)
    }

    /// Items separated by commas, up to the closing token.
    fn items<T>(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Result<T, GraphError>,
    ) -> Result<Vec<T>, GraphError> {
        let mut items = Vec::new();
        while !self.eat(close) {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// A quoted string with Rust's escapes.
    fn string(&mut self) -> Result<String, GraphError> {
        self.expect("\"")?;
        let mut text = String::new();
        let mut chars = self.rest.char_indices();
        while let Some((offset, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &self.rest[offset + 1..];
                    return Ok(text);
                }
                '\\' => match chars.next().map(|(_, c)| c) {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some('0') => text.push('\0'),
                    Some('u') => {
                        let code: String =
                            chars.by_ref().map(|(_, c)| c).take_while(|&c| c != '}').collect();
                        let code = u32::from_str_radix(code.trim_start_matches('{'), 16);
                        let c = code.ok().and_then(char::from_u32);
                        text.push(c.ok_or_else(|| error("a bad character code"))?);
                    }
                    Some(c) => text.push(c),
                    None => break,
                },
                c => text.push(c),
            }
        }
        fail("a string is not closed")
    }
}

fn error(message: impl Into<String>) -> GraphError {
    GraphError::new(message)
}

fn fail<T>(message: impl Into<String>) -> Result<T, GraphError> {
    Err(GraphError::new(message))
}
