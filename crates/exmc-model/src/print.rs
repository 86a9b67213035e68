//! A model -> text for people: one line a node, before or after rewriting.

use std::fmt::Write;

use exmc_graph::{Graph, NodeId, Op, Tensor};

use crate::dist::Dist;
use crate::function::attributes_of;
use crate::model::{Kind, Model, Obs, Rv};
use crate::spec::Reduce;
use crate::transform::Transform;

/// Longest text of an expression before it is cut.
const MAX_LINE_LENGTH: usize = 160;

impl Model {
    /// The model as text, one line a node in the order of declaration, as `exmc dump` shows it.
    ///
    /// ```
    /// use exmc_model::{ModelBuilder, distributions::normal};
    /// let mut model = ModelBuilder::new();
    /// model.rv("mu", normal(0.0, 5.0));
    /// model.rv("y", normal("mu", 1.0)).shape([3]);
    /// model.observe("y_obs", "y", [1.0, 2.0, 3.0]);
    /// let text = model.build()?.print();
    /// assert_eq!(text, "mu ~ normal(mu = 0, sigma = 5)\n\
    ///                   y ~ normal(mu = mu, sigma = 1) : [3]\n\
    ///                   observe y = [1, 2, 3]  # y_obs\n");
    /// # Ok::<(), exmc_model::ModelError>(())
    /// ```
    pub fn print(&self) -> String {
        let mut text = String::new();
        for (name, size) in &self.plates {
            let _ = writeln!(text, "plate {name} = {size}");
        }
        for name in &self.declared {
            let line = match &self.nodes[name].kind {
                Kind::Data(data) => {
                    let value = data
                        .value
                        .as_ref()
                        .map(|v| format!(" = {}", constant(v)))
                        .unwrap_or_default();
                    format!("data {name} : {}{}{value}", data.dtype, data.shape)
                }
                Kind::Det(value) => format!("{name} = {}", self.expression(*value)),
                Kind::Potential(value) => {
                    format!("potential {}  # {name}", self.expression(*value))
                }
                Kind::Rv(rv) => self.variable(name, rv),
                Kind::Obs(obs) => self.observation(name, obs),
            };
            text.push_str(&line);
            text.push('\n');
        }
        text
    }

    fn variable(&self, name: &str, rv: &Rv) -> String {
        let mut line = match rv.standardised {
            None => format!("{name} ~ {}", self.distribution(&rv.dist)),
            Some(s) => {
                let scale = self.expression(s.scale);
                let location =
                    s.location.map(|l| format!("{} + ", self.expression(l))).unwrap_or_default();
                format!("{name} = {location}{scale} * z, z ~ {}", self.distribution(&rv.dist))
            }
        };
        if !rv.shape.is_scalar() {
            let _ = write!(line, " : {}", rv.shape);
        }
        if !rv.plates.is_empty() {
            let _ = write!(line, " over {}", rv.plates.join(", "));
        }
        if let Some(transform) = &rv.transform {
            let _ = write!(line, " via {}", self.transform(transform));
        }
        line
    }

    fn transform(&self, transform: &Transform) -> String {
        let limits: Vec<String> =
            transform.arguments().into_iter().map(|a| self.expression(a)).collect();
        let name = transform.name();
        if limits.is_empty() { name.to_owned() } else { format!("{name}({})", limits.join(", ")) }
    }

    fn observation(&self, name: &str, obs: &Obs) -> String {
        let mut line = format!("observe {} = {}", obs.target, self.expression(obs.value));
        let mut part = |what: &str, text: String| {
            let _ = write!(line, ", {what} {text}");
        };
        if !obs.likelihood {
            part("likelihood", "none".to_owned());
        }
        if !obs.missing.is_empty() {
            part("missing at", format!("{:?}", obs.missing));
        }
        for (what, node) in
            [("weight", obs.weight), ("mask", obs.mask), ("log jacobian", obs.log_jacobian)]
        {
            if let Some(node) = node {
                part(what, self.expression(node));
            }
        }
        if obs.joint {
            part("as", "one joint observation".to_owned());
        }
        if let Some(censoring) = obs.censoring {
            part("censored by code", self.expression(censoring.code));
            if let Some(upper) = censoring.upper {
                part("up to", self.expression(upper));
            }
        }
        if obs.reduce != Reduce::Sum {
            part("reduced by", obs.reduce.name().to_owned());
        }
        format!("{line}  # {name}")
    }

    fn distribution(&self, dist: &Dist) -> String {
        let limited = |name: &str, base: &Dist, lower: Option<NodeId>, upper: Option<NodeId>| {
            let limit = |node: Option<NodeId>, other: &str| {
                node.map_or(other.to_owned(), |n| self.expression(n))
            };
            let (base, lower, upper) =
                (self.distribution(base), limit(lower, "-inf"), limit(upper, "inf"));
            format!("{name}({base}, {lower}, {upper})")
        };
        match dist {
            Dist::Family { family, args } => {
                let parts = family.parameters().iter().zip(args);
                let parts: Vec<_> =
                    parts.map(|(p, a)| format!("{} = {}", p.name, self.expression(*a))).collect();
                format!("{}({})", family.name(), parts.join(", "))
            }
            Dist::Mixture { weights, components } => {
                let parts: Vec<_> = components.iter().map(|c| self.distribution(c)).collect();
                format!("mixture({}, {})", self.expression(*weights), parts.join(", "))
            }
            Dist::Truncated { base, lower, upper } => limited("truncated", base, *lower, *upper),
            Dist::Censored { base, lower, upper } => limited("censored", base, *lower, *upper),
            Dist::ZeroInflated { base, probability } => {
                format!(
                    "zero_inflated({}, {})",
                    self.distribution(base),
                    self.expression(*probability)
                )
            }
            Dist::Custom(custom) => {
                let parts = custom.names.iter().zip(&custom.args);
                let parts: Vec<_> =
                    parts.map(|(n, a)| format!("{n} = {}", self.expression(*a))).collect();
                let body = expression(&custom.logp.0, custom.logp.1);
                format!("custom({}; log density {body})", parts.join(", "))
            }
        }
    }

    fn expression(&self, id: NodeId) -> String {
        expression(&self.graph, id)
    }
}

/// An expression as nested calls, cut when it gets long.
fn expression(g: &Graph, id: NodeId) -> String {
    let mut text = String::new();
    write_expression(g, id, &mut text);
    if text.len() > MAX_LINE_LENGTH {
        let cut = (0..=MAX_LINE_LENGTH).rev().find(|&k| text.is_char_boundary(k)).unwrap_or(0);
        text.truncate(cut);
        text.push_str(" ...");
    }
    text
}

fn write_expression(g: &Graph, id: NodeId, text: &mut String) {
    if text.len() > MAX_LINE_LENGTH {
        return;
    }
    let node = g.node(id);
    match &node.op {
        Op::Constant(tensor) => text.push_str(&constant(tensor)),
        Op::Input { name, .. } => text.push_str(name),
        // Stretching is what readers expect of numbers beside arrays.
        Op::Broadcast(_) => write_expression(g, node.args[0], text),
        Op::Project(_) => write_expression(g, node.args[0], text),
        op => {
            text.push_str(op.name());
            text.push('(');
            for (k, arg) in node.args.iter().enumerate() {
                if k > 0 {
                    text.push_str(", ");
                }
                write_expression(g, *arg, text);
            }
            for (name, value) in attributes_of(op).map(|a| a.0).unwrap_or_default() {
                let _ = write!(text, "; {name} {value:?}");
            }
            text.push(')');
        }
    }
}

/// A constant; long arrays show their ends.
fn constant(tensor: &Tensor) -> String {
    if let Some(value) = tensor.as_scalar().filter(|_| tensor.shape().is_scalar()) {
        return value.to_string();
    }
    let values = tensor.values();
    let list = |part: &[f64]| part.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
    let shape = if tensor.shape().rank() == 1 { String::new() } else { tensor.shape().to_string() };
    if values.len() <= 12 {
        return format!("{shape}[{}]", list(values));
    }
    let last = values[values.len() - 1];
    format!("{shape}[{}, ... {} more, {last}]", list(&values[..5]), values.len() - 6)
}
