//! A model -> its JSON form, one node a line, in the order of declaration.

use exmc_graph::{Graph, NodeId, Tensor};

use super::read::FORMAT;
use super::read_expression::SUPPORTS;
use super::tensor::{write_tensor, write_with_missing};
use super::write_expression::{Texts, quoted, without_broadcast};
use crate::dist::{Custom, Dist};
use crate::model::{Censoring, Data, Kind, Model, Node, Obs, Rv};
use crate::spec::{Centring, Reduce};
use crate::transform::Transform;

/// The JSON form of a model (`docs/model-json.md`), which [`read_json`](crate::read_json) reads
/// back.
///
/// What was read back has a log density of identical bits and is written as the same text.
/// Rewritten models are written too. Parts of expressions that are used more than once are written
/// once.
///
/// ```
/// use exmc_model::{ModelBuilder, distributions::normal, read_json, write_json};
/// let mut model = ModelBuilder::new();
/// model.rv("mu", normal(0.0, 5.0));
/// let text = write_json(&model.build()?);
/// assert_eq!(
///     text,
///     "{\n  \"exmc\": 1,\n  \"nodes\": [\n    \
///      {\"rv\": \"mu\", \"dist\": \"normal\", \"params\": {\"mu\": 0.0, \"sigma\": 5.0}}\n  ]\n}\n"
/// );
/// assert_eq!(write_json(&read_json(&text)?), text);
/// # Ok::<(), exmc_model::ModelError>(())
/// ```
pub fn write_json(model: &Model) -> String {
    // The same walk twice: it finds the expressions, and then it writes them.
    let mut roots = Vec::new();
    nodes(model, &mut |graph, id| {
        roots.push((graph, id));
        String::new()
    });
    let texts = Texts::new(&roots);
    let nodes = nodes(model, &mut |graph, id| texts.text(graph, id));

    let mut out = format!("{{\n  \"exmc\": {FORMAT},\n");
    if !model.plates.is_empty() {
        let plates: Vec<_> =
            model.plates.iter().map(|(name, size)| format!("{}: {size}", quoted(name))).collect();
        out.push_str(&format!("  \"plates\": {{{}}},\n", plates.join(", ")));
    }
    if !texts.shared.is_empty() {
        out.push_str(&format!("  \"expressions\": {},\n", lines(&texts.shared)));
    }
    out.push_str(&format!("  \"nodes\": {}\n}}\n", lines(&nodes)));
    out
}

fn lines(entries: &[String]) -> String {
    if entries.is_empty() {
        return "[]".to_owned();
    }
    format!("[\n    {}\n  ]", entries.join(",\n    "))
}

/// Gives the text of an expression; what it is asked for, and in which order, is the same every
/// time.
type Expression<'a, 'g> = &'a mut dyn FnMut(&'g Graph, NodeId) -> String;

fn nodes<'g>(model: &'g Model, expression: Expression<'_, 'g>) -> Vec<String> {
    let declared = model.declared.iter().filter_map(|name| model.nodes.get_key_value(name));
    declared.map(|(name, node)| write_node(model, name, node, expression)).collect()
}

/// An object from its fields.
fn object(fields: &[(&str, String)]) -> String {
    let fields: Vec<_> = fields.iter().map(|(k, v)| format!("{}: {v}", quoted(k))).collect();
    format!("{{{}}}", fields.join(", "))
}

fn write_node<'g>(
    model: &'g Model,
    name: &str,
    node: &'g Node,
    expression: Expression<'_, 'g>,
) -> String {
    let g = &model.graph;
    let name = quoted(name);
    match &node.kind {
        Kind::Data(data) => write_data(name, data),
        Kind::Det(value) => object(&[("det", name), ("value", expression(g, *value))]),
        Kind::Potential(value) => object(&[("potential", name), ("value", expression(g, *value))]),
        Kind::Rv(rv) => write_rv(model, name, rv, expression),
        Kind::Obs(obs) => write_obs(model, name, obs, expression),
    }
}

fn write_data(name: String, data: &Data) -> String {
    let mut fields = vec![("data", name), ("dtype", quoted(&data.dtype.to_string()))];
    match &data.value {
        None => fields.push(("shape", data.shape.to_string())),
        Some(value) => {
            let mut text = String::new();
            write_tensor(value, &mut text);
            fields.push(("value", text));
        }
    }
    object(&fields)
}

fn write_rv<'g>(
    model: &'g Model,
    name: String,
    rv: &'g Rv,
    expression: Expression<'_, 'g>,
) -> String {
    let g = &model.graph;
    let mut fields = vec![("rv", name)];
    match &rv.dist {
        Dist::Family { family, args } => {
            fields.push(("dist", quoted(family.name())));
            if !args.is_empty() {
                fields.push(("params", parameters(g, &rv.dist, expression)));
            }
        }
        wrapper => fields.push(("dist", distribution(g, wrapper, expression))),
    }
    if !rv.plates.is_empty() {
        let plates: Vec<_> = rv.plates.iter().map(|p| quoted(p)).collect();
        fields.push(("over", format!("[{}]", plates.join(", "))));
    } else if !rv.shape.is_scalar() {
        fields.push(("shape", rv.shape.to_string()));
    }
    if let Some(t) = &rv.transform {
        let text = match *t {
            Transform::Lower(a) => object(&[("lower", expression(g, a))]),
            Transform::Upper(b) => object(&[("upper", expression(g, b))]),
            Transform::Interval(a, b) => {
                let (a, b) = (expression(g, a), expression(g, b));
                object(&[("interval", format!("[{a}, {b}]"))])
            }
            other => quoted(transform_name(other)),
        };
        fields.push(("transform", text));
    }
    if rv.centring != Centring::Auto {
        fields.push(("centring", quoted(rv.centring.name())));
    }
    if let Some(s) = rv.standardised {
        let mut parts = Vec::new();
        if let Some(location) = s.location {
            parts.push(("location", expression(g, location)));
        }
        parts.push(("scale", expression(g, s.scale)));
        fields.push(("standardised", object(&parts)));
    }
    object(&fields)
}

fn transform_name(transform: Transform) -> &'static str {
    match transform {
        Transform::Identity => "identity",
        Transform::Log => "log",
        Transform::Softplus => "softplus",
        Transform::Logit => "logit",
        Transform::Circle => "circle",
        Transform::Ordered => "ordered",
        Transform::PositiveOrdered => "positive_ordered",
        Transform::Simplex => "simplex",
        Transform::SimplexPlain => "simplex_plain",
        Transform::SimplexSoftmax => "simplex_softmax",
        Transform::CorrelationCholesky => "correlation_cholesky",
        Transform::CovarianceCholesky => "covariance_cholesky",
        Transform::CorrelationMatrix => "correlation_matrix",
        Transform::CovarianceMatrix => "covariance_matrix",
        Transform::ColumnSimplex => "column_simplex",
        Transform::SumToZeroMatrix => "sum_to_zero_matrix",
        Transform::SumToZero => "sum_to_zero",
        Transform::UnitVector => "unit_vector",
        Transform::Lower(_) => "lower",
        Transform::Upper(_) => "upper",
        Transform::Interval(..) => "interval",
    }
}

fn parameters<'g>(g: &'g Graph, dist: &Dist, expression: Expression<'_, 'g>) -> String {
    let Dist::Family { family, args } = dist else { return "{}".to_owned() };
    let named: Vec<_> = family
        .parameters()
        .iter()
        .zip(args)
        .map(|(parameter, &arg)| (parameter.name, expression(g, arg)))
        .collect();
    object(&named)
}

/// A distribution as an object: a family or a wrapper.
fn distribution<'g>(g: &'g Graph, dist: &'g Dist, expression: Expression<'_, 'g>) -> String {
    match dist {
        Dist::Family { family, args } => {
            let mut fields = vec![("dist", quoted(family.name()))];
            if !args.is_empty() {
                fields.push(("params", parameters(g, dist, expression)));
            }
            object(&fields)
        }
        Dist::Mixture { weights, components } => {
            let weights = expression(g, *weights);
            let components: Vec<_> =
                components.iter().map(|c| distribution(g, c, expression)).collect();
            let components = format!("[{}]", components.join(", "));
            object(&[("mixture", object(&[("weights", weights), ("components", components)]))])
        }
        Dist::Truncated { base, lower, upper } | Dist::Censored { base, lower, upper } => {
            let mut fields = vec![("base", distribution(g, base, expression))];
            for (key, limit) in [("lower", lower), ("upper", upper)] {
                if let Some(limit) = limit {
                    fields.push((key, expression(g, *limit)));
                }
            }
            object(&[(dist.name(), object(&fields))])
        }
        Dist::ZeroInflated { base, probability } => {
            let base = distribution(g, base, expression);
            let probability = expression(g, *probability);
            object(&[("zero_inflated", object(&[("base", base), ("probability", probability)]))])
        }
        Dist::Custom(custom) => object(&[("custom", write_custom(g, custom, expression))]),
    }
}

fn write_custom<'g>(g: &'g Graph, custom: &'g Custom, expression: Expression<'_, 'g>) -> String {
    let params: Vec<_> = custom
        .names
        .iter()
        .zip(&custom.args)
        .map(|(name, &arg)| (name.as_str(), expression(g, arg)))
        .collect();
    let support = SUPPORTS.iter().find(|(_, s)| *s == custom.support);
    let (support, _) = support.expect("building checked that the support is one of these");
    let mut fields = vec![("params", object(&params)), ("support", quoted(support))];
    let bodies = [("logp", Some(&custom.logp)), ("quantile", custom.quantile.as_ref())];
    for (key, body) in bodies {
        if let Some((graph, root)) = body.map(|b| &**b) {
            let root = without_broadcast(graph, *root, graph.shape(*root));
            fields.push((key, expression(graph, root)));
        }
    }
    object(&fields)
}

fn write_obs<'g>(
    model: &'g Model,
    name: String,
    obs: &Obs,
    expression: Expression<'_, 'g>,
) -> String {
    let g = &model.graph;
    let mut fields = vec![("obs", name), ("of", quoted(&obs.target))];
    match value_with_nulls(g, obs) {
        Some(value) => fields.push(("value", value)),
        None => {
            // A partly observed value is given in full.
            let value = match obs.missing.as_slice() {
                [] => without_broadcast(g, obs.value, g.shape(obs.value)),
                _ => obs.value,
            };
            fields.push(("value", expression(g, value)));
            if !obs.missing.is_empty() {
                fields.push(("missing", format!("{:?}", obs.missing)));
            }
        }
    }
    if !obs.likelihood {
        fields.push(("likelihood", "false".to_owned()));
    }
    for (key, part) in [("weight", obs.weight), ("mask", obs.mask)] {
        if let Some(part) = part {
            fields.push((key, expression(g, part)));
        }
    }
    if obs.reduce != Reduce::Sum {
        fields.push(("reduce", quoted(obs.reduce.name())));
    }
    if let Some(censoring) = obs.censoring {
        fields.push(("censored", write_censoring(g, censoring, expression)));
    }
    if let Some(log_jacobian) = obs.log_jacobian {
        fields.push(("log_jacobian", expression(g, log_jacobian)));
    }
    if obs.joint {
        fields.push(("joint", "true".to_owned()));
    }
    object(&fields)
}

/// The value of a partly observed variable as an array with nulls, where an array can say it.
fn value_with_nulls(g: &Graph, obs: &Obs) -> Option<String> {
    let stretched = || Some(Tensor::filled(g.shape(obs.value).clone(), g.as_uniform(obs.value)?));
    let tensor = g.as_constant(obs.value).cloned().or_else(stretched)?;
    let plain = tensor.values().iter().all(|v| v.is_finite()) && !tensor.shape().is_empty();
    if obs.missing.is_empty() || !plain {
        return None;
    }
    let mut text = String::new();
    write_with_missing(&tensor, &obs.missing, &mut text);
    Some(text)
}

fn write_censoring<'g>(
    g: &'g Graph,
    censoring: Censoring,
    expression: Expression<'_, 'g>,
) -> String {
    let Censoring { code, upper } = censoring;
    let is = |value: f64| g.as_constant(code) == Some(&Tensor::scalar(value));
    match upper {
        None if is(1.0) => quoted("right"),
        None if is(-1.0) => quoted("left"),
        Some(upper) if is(2.0) => object(&[("interval", expression(g, upper))]),
        _ => {
            let mut fields = vec![("code", expression(g, code))];
            if let Some(upper) = upper {
                fields.push(("upper", expression(g, upper)));
            }
            object(&fields)
        }
    }
}
