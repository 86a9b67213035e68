//! Seed -> a random log density of many scalar variables, a term for each -> does grouping them
//! leave value and gradient.
//!
//! A term is a random expression whose leaves are chosen term by term: the term's own variable, its
//! neighbour's, one in another order, one of three, one of all, an element of a vector, numbers and
//! data that are the same or not, and sums over data of a length of the term's own. Some terms are
//! left out, others are another expression; variables may be mixed up in the position. The
//! reference executor runs the density as it was written, the native one what its optimisations
//! make of it.

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{DensitySource, Executor, compile};
use exmc_graph::{DType, Graph, NodeId, Role, Shape, Tensor};
use exmc_math::random::{ChainRng, Phase};

/// Terms of size one are off by some roundings each; one that read another's variable would be off
/// by its size.
const TOLERANCE: f64 = 1e-13;

/// What a gate of many seeds saw.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Densities of which terms were grouped.
    pub grouped: usize,
    /// Largest difference, relative to what is allowed.
    pub worst: f64,
}

/// Whose number or variable a leaf is.
#[derive(Clone, Copy, Debug)]
enum Leaf {
    Own,
    Neighbour,
    Elsewhere,
    OneOfThree,
    Shared,
    /// An element of a vector variable, some twice.
    Element,
    SameNumber,
    OwnNumber,
    OwnData,
    ElementOfData,
}

const LEAVES: [Leaf; 14] = [
    Leaf::Own,
    Leaf::Own,
    Leaf::Own,
    Leaf::Own,
    Leaf::Neighbour,
    Leaf::Elsewhere,
    Leaf::OneOfThree,
    Leaf::Shared,
    Leaf::Shared,
    Leaf::Element,
    Leaf::SameNumber,
    Leaf::OwnNumber,
    Leaf::OwnData,
    Leaf::ElementOfData,
];

/// An expression of a term.
#[derive(Clone, Debug)]
enum Form {
    Leaf(Leaf),
    Function(usize, Box<Form>),
    Pair(usize, Box<Form>, Box<Form>),
    /// Where the first is below the second, the first, else a square.
    Chosen(Box<Form>, Box<Form>),
    /// The sum over the term's own rows of data of a function of row and form.
    Rows(usize, Box<Form>),
}

fn below(rng: &mut ChainRng, n: usize) -> usize {
    ((rng.uniform() * n as f64) as usize).min(n - 1)
}

fn form(rng: &mut ChainRng, depth: usize) -> Form {
    if depth == 0 {
        return Form::Leaf(LEAVES[below(rng, LEAVES.len())]);
    }
    let inner = |rng: &mut ChainRng| {
        let shallower = below(rng, depth);
        Box::new(form(rng, shallower))
    };
    match below(rng, 12) {
        0..=3 => Form::Function(below(rng, 6), inner(rng)),
        4..=9 => Form::Pair(below(rng, 4), inner(rng), inner(rng)),
        10 => Form::Chosen(inner(rng), inner(rng)),
        _ => Form::Rows(below(rng, 3), inner(rng)),
    }
}

/// The density being written.
struct Writer {
    g: Graph,
    data: Vec<(String, Tensor)>,
    /// The terms' own variables.
    term_variables: Vec<NodeId>,
    three: [NodeId; 3],
    shared: NodeId,
    vector: NodeId,
    numbers: Vec<f64>,
    rows: Vec<usize>,
}

impl Writer {
    fn input(&mut self, name: &str, value: Tensor) -> NodeId {
        let made = self.g.input(name, Role::Data, value.shape().clone(), value.dtype());
        if self.data.iter().all(|(known, _)| known != name) {
            self.data.push((name.to_owned(), value));
        }
        made.expect("one declaration a name")
    }

    fn element(&mut self, vector: NodeId, k: usize) -> NodeId {
        let element = self.g.slice(vector, 0, k, k + 1);
        self.g.reshape(element, Shape::scalar())
    }

    fn leaf(&mut self, leaf: Leaf, k: usize) -> NodeId {
        let n = self.term_variables.len();
        match leaf {
            Leaf::Own => self.term_variables[k],
            Leaf::Neighbour if k == 0 => self.g.scalar(0.25),
            Leaf::Neighbour => self.term_variables[k - 1],
            // Every variable once, where n is no multiple of 7.
            Leaf::Elsewhere => self.term_variables[(7 * k + 3) % n],
            Leaf::OneOfThree => self.three[k * k % 3],
            Leaf::Shared => self.shared,
            Leaf::Element => {
                let len = self.g.shape(self.vector).len();
                self.element(self.vector, k % len)
            }
            Leaf::SameNumber => self.g.scalar(0.75),
            Leaf::OwnNumber => self.g.scalar(self.numbers[k]),
            Leaf::OwnData => self.input(&format!("d{k}"), Tensor::scalar(-self.numbers[k])),
            Leaf::ElementOfData => {
                let all = self.input("data", Tensor::vector(&self.numbers.clone()));
                self.element(all, n - 1 - k)
            }
        }
    }

    fn write(&mut self, form: &Form, k: usize) -> NodeId {
        match form {
            Form::Leaf(leaf) => self.leaf(*leaf, k),
            Form::Function(f, x) => {
                let x = self.write(x, k);
                match f {
                    0 => self.g.square(x),
                    1 => self.g.sin(x),
                    2 => self.g.tanh(x),
                    3 => self.g.neg(x),
                    4 => self.g.softplus(x),
                    _ => {
                        let bounded = self.g.tanh(x);
                        self.g.exp(bounded)
                    }
                }
            }
            Form::Pair(f, a, b) => {
                let (a, b) = (self.write(a, k), self.write(b, k));
                match f {
                    0 => self.g.add(a, b),
                    1 => self.g.sub(a, b),
                    2 => self.g.mul(a, b),
                    _ => {
                        let b = self.g.square(b);
                        let b = self.g.shift(b, 1.0);
                        self.g.div(a, b)
                    }
                }
            }
            Form::Chosen(a, b) => {
                let (a, b) = (self.write(a, k), self.write(b, k));
                let condition = self.g.lt(a, b);
                let other = self.g.square(b);
                self.g.select(condition, a, other)
            }
            Form::Rows(f, x) => {
                let x = self.write(x, k);
                let rows: Vec<f64> =
                    (0..self.rows[k]).map(|r| ((3 * k + 5 * r) % 11) as f64 / 5.5 - 1.0).collect();
                let rows = self.input(&format!("rows{k}"), Tensor::vector(&rows));
                let shape = self.g.shape(rows).clone();
                let x = self.g.broadcast_to(x, &shape);
                let each = match f {
                    0 => self.g.sub(rows, x),
                    1 => self.g.mul(rows, x),
                    _ => x,
                };
                let each = if *f == 1 { self.g.sin(each) } else { self.g.square(each) };
                let sum = self.g.sum(each);
                self.g.scale(sum, 1.0 / self.rows[k] as f64)
            }
        }
    }
}

/// The density of a seed, its data, and a position.
fn density(rng: &mut ChainRng) -> (DensitySource, Vec<(String, Tensor)>, Vec<f64>) {
    let n = 8 + below(rng, 60);
    let mut g = Graph::new();
    let mut scalar = |name: &str| {
        g.input(name, Role::Parameter, Shape::scalar(), DType::Real).expect("names are unique")
    };
    let mut ids = Vec::new();
    let term_variables: Vec<NodeId> = (0..n).map(|k| scalar(&format!("a{k}"))).collect();
    let three = ["b0", "b1", "b2"].map(&mut scalar);
    let shared = scalar("c");
    let len = 3 + below(rng, n);
    let made = g.input("v", Role::Parameter, [len].into(), DType::Real);
    let vector = made.expect("names are unique");
    ids.extend(term_variables.iter().chain(&three).chain([&shared, &vector]).copied());
    // In the order of declaration, with others between, or anyhow.
    match below(rng, 3) {
        0 => {}
        1 => ids.swap(below(rng, n), n + 1),
        _ => (1..ids.len()).rev().for_each(|k| ids.swap(k, below(rng, k + 1))),
    }
    let mut dim = 0;
    let mut parameters = Vec::new();
    for id in ids {
        parameters.push((id, dim));
        dim += g.shape(id).len();
    }
    let numbers = (0..n).map(|_| 2.0 * rng.uniform() - 1.0).collect();
    let same = below(rng, 2) == 0;
    let rows = (0..n).map(|k| if same { 3 } else { 1 + k % 4 }).collect();
    let data = Vec::new();
    let mut w = Writer { g, data, term_variables, three, shared, vector, numbers, rows };
    let kinds = 1 + below(rng, 3);
    let mut logp = w.g.square(shared);
    for _ in 0..kinds {
        let (depth, other_depth) = (1 + below(rng, 4), below(rng, 3));
        let (usual, other) = (form(rng, depth), form(rng, other_depth));
        let share = [0.0, 0.05, 0.3][below(rng, 3)];
        let factor = [1.0, -0.5, 0.0][below(rng, 3)];
        let is_array = below(rng, 4) == 0;
        let mut elements = Vec::new();
        for k in 0..n {
            if rng.uniform() < share / 2.0 {
                continue;
            }
            let form = if rng.uniform() < share { &other } else { &usual };
            let term = w.write(form, k);
            // Factors that are the same, or a number of the term's own.
            let factor = if factor == 0.0 { w.numbers[k] } else { factor };
            let term = w.g.scale(term, factor);
            if is_array {
                elements.push(w.g.reshape(term, [1]));
            } else if below(rng, 9) == 0 {
                logp = w.g.sub(logp, term);
            } else {
                logp = w.g.add(logp, term);
            }
        }
        if is_array && !elements.is_empty() {
            let array = w.g.concat(&elements, 0);
            let squares = w.g.square(array);
            let sum = w.g.sum(squares);
            logp = w.g.sub(logp, sum);
        } else if below(rng, 4) == 0 {
            // The sum so far is read twice.
            let bounded = w.g.tanh(logp);
            logp = w.g.add(logp, bounded);
        }
    }
    let position = (0..dim).map(|_| 2.0 * rng.uniform() - 1.0).collect();
    (DensitySource { graph: w.g, logp, parameters, dim }, w.data, position)
}

/// Makes the density of a seed and compares value and gradient.
///
/// # Errors
/// The first disagreement.
pub fn check(seed: u64, seen: &mut Seen) -> Result<(), String> {
    let mut rng = ChainRng::new(seed, 0, Phase::Predictive);
    let (source, data, position) = density(&mut rng);
    let run = |executor| {
        let lookup =
            |name: &str| data.iter().find(|(candidate, _)| candidate == name).map(|d| d.1.clone());
        let program = compile(executor, &source).map_err(|e| e.to_string())?;
        let bound = program.bind(&lookup).map_err(|e| e.to_string())?;
        let mut found = vec![0.0; source.dim + 1];
        let logp = bound.instance().logp_grad(&position, &mut found[1..]);
        found[0] = logp.map_err(|e| e.to_string())?;
        let is_grouped = program.optimisations().iter().any(|a| a.pass == "group-alike");
        Ok::<_, String>((found, is_grouped))
    };
    let (expected, _) = run(Executor::Reference)?;
    let (found, is_grouped) = run(Executor::Native)?;
    seen.grouped += usize::from(is_grouped);
    let scale = expected.iter().fold(source.dim as f64, |a, b| a.max(b.abs()));
    for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let apart = (found - expected).abs() / (TOLERANCE * scale);
        seen.worst = seen.worst.max(apart);
        // Not a number is no agreement either.
        if apart.is_nan() || apart > 1.0 {
            return Err(format!("seed {seed}, element {k}: {found}, expected {expected}"));
        }
    }
    Ok(())
}
