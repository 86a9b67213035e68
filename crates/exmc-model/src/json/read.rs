//! A JSON document -> declared nodes, which [`crate::build`] makes a model of.

use exmc_graph::{DType, Shape};

use super::lines::Lines;
use super::parse::parse;
use super::place::Place;
use super::read_expression::Shared;
use super::tensor::{DATA, OBSERVED, numbers, read_dtype};
use super::value::Value;
use crate::build::build;
use crate::diagnostic::{Code, Diagnostic, ModelError, closest};
use crate::model::Model;
use crate::spec::{
    CensoringSpec, Centring, KindSpec, NodeSpec, ObsSpec, Reduce, RvSpec, StandardisedSpec,
};

/// The form that this program writes; it reads no other.
pub(super) const FORMAT: usize = 1;

/// Reads a model from its JSON form (`docs/model-json.md`).
///
/// A byte order mark at the start is skipped; keys may come in any order.
///
/// # Errors
/// Everything that is wrong with the document or with the model that it declares, each with path,
/// line and column: text that is no JSON, keys that are given twice or unknown, ragged arrays,
/// numbers that no `f64` holds, and all that [`ModelBuilder::build`](crate::ModelBuilder::build)
/// reports.
///
/// ```
/// let model = exmc_model::read_json(
///     r#"{"exmc": 1, "nodes": [
///         {"rv": "mu", "dist": "normal", "params": {"mu": 0, "sigma": 10}},
///         {"rv": "y", "dist": "normal", "params": ["mu", 1]},
///         {"obs": "y_obs", "of": "y", "value": 1.5}
///     ]}"#,
/// )?;
/// assert_eq!(model.free_variables(), ["mu"]);
/// # Ok::<(), exmc_model::ModelError>(())
/// ```
pub fn read_json(text: &str) -> Result<Model, ModelError> {
    let document = parse(text, false)?;
    let lines = Lines::new(text);
    let root = Place::root(&lines, &document);
    let what = "a model";
    root.check_keys(what, &["exmc", "plates", "expressions", "nodes"])?;
    let version = root.need("exmc", what).map_err(|m| m.help("it starts {\"exmc\": 1, ...}"))?;
    if version.whole_number("the version of the form")? != FORMAT {
        let message = format!("expected version {FORMAT}, found {}", version.value().describe());
        return Err(version.mistake(Code::BadJson, message).into());
    }
    let mut plates = Vec::new();
    if let Some(place) = root.get("plates") {
        if !matches!(place.value(), Value::Object(_)) {
            return Err(place.expected("an object of plates with their sizes").into());
        }
        for (name, size) in place.fields() {
            plates.push((name.to_owned(), size.whole_number("the size of a plate")?));
        }
    }
    let mut shared = Shared::default();
    if let Some(place) = root.get("expressions") {
        for entry in place.elements("an array of expressions")? {
            let expression = shared.with_depth(&entry)?;
            shared.0.push(expression);
        }
    }
    let nodes = root.need("nodes", what)?;
    let (mut specs, mut mistakes) = (Vec::new(), Vec::new());
    for place in nodes.elements("an array of nodes")? {
        match node(&place, &shared) {
            Ok(spec) => specs.push(spec),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    ModelError::check(mistakes)?;
    build(&specs, &plates)
}

const KINDS: &[&str] = &["data", "rv", "obs", "det", "potential"];

fn node(place: &Place<'_>, shared: &Shared) -> Result<NodeSpec, Diagnostic> {
    if !matches!(place.value(), Value::Object(_)) {
        return Err(place.expected("an object for a node"));
    }
    let mut kinds = KINDS.iter().copied().filter(|kind| place.get(kind).is_some());
    let Some(kind) = kinds.next() else {
        let mistake = place
            .mistake(Code::BadJson, "a node needs one of the keys data, rv, obs, det, potential");
        let meant =
            place.fields().find_map(|(key, _)| Some((key, closest(key, KINDS.iter().copied())?)));
        return Err(match meant {
            Some((key, kind)) => mistake.help(format!("did you mean {kind:?} by {key:?}?")),
            None => mistake.help("its value is the node's name: {\"rv\": \"theta\", ...}"),
        });
    };
    if let Some(second) = kinds.next() {
        let message = format!("a node is one thing, found the keys {kind:?} and {second:?}");
        return Err(place.mistake(Code::BadJson, message));
    }
    let name = place.need(kind, "a node")?.string("the node's name, a string")?.to_owned();
    let read = match kind {
        "data" => data(place),
        "rv" => rv(place, shared).map(KindSpec::Rv),
        "obs" => obs(place, shared).map(KindSpec::Obs),
        _ => {
            let (keys, what) = ([kind, "value"], format!("a node of kind {kind:?}"));
            place.check_keys(&what, &keys).and_then(|()| {
                let value = shared.expression(&place.need("value", &what)?)?;
                Ok(if kind == "det" { KindSpec::Det(value) } else { KindSpec::Potential(value) })
            })
        }
    };
    let origin = place.origin();
    match read {
        Ok(kind) => Ok(NodeSpec { name, origin, kind }),
        Err(mistake) => Err(mistake.at(&name, &origin)),
    }
}

fn data(place: &Place<'_>) -> Result<KindSpec, Diagnostic> {
    let what = "data";
    place.check_keys(what, &["data", "dtype", "shape", "value"])?;
    let dtype = place.get("dtype").map(|d| read_dtype(&d)).transpose()?;
    let shape = place.get("shape").map(|s| s.shape()).transpose()?;
    let Some(given) = place.get("value") else {
        let Some(shape) = shape else {
            let message = "data without a value need a shape";
            return Err(place
                .mistake(Code::BadJson, message)
                .help("a single number has \"shape\": []"));
        };
        return Ok(KindSpec::Data { dtype: dtype.unwrap_or(DType::Real), shape, value: None });
    };
    let value = if let Value::Object(_) = given.value() {
        let tensor = super::tensor::flat_tensor(&given)?;
        if let Some(shape) = shape.filter(|s| s != tensor.shape()) {
            let message =
                format!("the value has shape {}, not the declared {shape}", tensor.shape());
            return Err(given.mistake(Code::ShapeMismatch, message));
        }
        match dtype {
            Some(DType::Int) if tensor.dtype() != DType::Int => {
                let message = "the tensor holds real numbers, but integers were declared";
                return Err(given.mistake(Code::BadData, message));
            }
            Some(DType::Real) => tensor.into_real(),
            _ => tensor,
        }
    } else {
        let mut read = numbers(&given, DATA)?;
        if let Some(shape) = shape {
            read.reshape(&given, shape)?;
        }
        read.into_tensor(&given, dtype)?
    };
    Ok(KindSpec::Data { dtype: value.dtype(), shape: value.shape().clone(), value: Some(value) })
}

fn rv(place: &Place<'_>, shared: &Shared) -> Result<RvSpec, Diagnostic> {
    let what = "a random variable";
    let keys = ["rv", "dist", "params", "shape", "over", "transform", "centring", "standardised"];
    place.check_keys(what, &keys)?;
    let dist = shared.distribution(place)?;
    let shape: Option<Shape> = place.get("shape").map(|s| s.shape()).transpose()?;
    let mut over = Vec::new();
    if let Some(plates) = place.get("over") {
        for plate in plates.elements("an array of plates' names")? {
            over.push(plate.string("the name of a plate")?.to_owned());
        }
    }
    let transform = place.get("transform").map(|t| shared.transform(&t)).transpose()?;
    let centring = match place.get("centring") {
        None => Centring::Auto,
        Some(place) => one_of(&place, &CENTRINGS.map(|c| (c.name(), c)))?,
    };
    let standardised = match place.get("standardised") {
        None => None,
        Some(place) => {
            let what = "\"standardised\"";
            place.check_keys(what, &["location", "scale"])?;
            let location = shared.optional(&place, "location")?;
            let scale = shared.expression(&place.need("scale", what)?)?;
            Some(StandardisedSpec { location, scale })
        }
    };
    Ok(RvSpec { dist, shape, over, transform, centring, standardised })
}

const CENTRINGS: [Centring; 3] = [Centring::Auto, Centring::Centred, Centring::NonCentred];
const REDUCTIONS: [Reduce; 3] = [Reduce::Sum, Reduce::Mean, Reduce::LogSumExp];

fn obs(place: &Place<'_>, shared: &Shared) -> Result<ObsSpec, Diagnostic> {
    let what = "an observation";
    let keys = [
        "obs",
        "of",
        "value",
        "missing",
        "likelihood",
        "weight",
        "mask",
        "reduce",
        "censored",
        "log_jacobian",
        "joint",
    ];
    place.check_keys(what, &keys)?;
    let target = place.need("of", what)?.string("the name of what is observed")?.to_owned();
    let given = place.need("value", what)?;
    let is_constant = match given.value() {
        Value::Array(elements) => {
            !matches!(elements.first().map(|e| &e.value), Some(Value::String(_) | Value::Object(_)))
        }
        Value::Number(_) | Value::Null => true,
        _ => false,
    };
    let (value, mut missing) = if is_constant {
        let read = numbers(&given, OBSERVED)?;
        let missing = read.missing.clone();
        (read.into_tensor(&given, None)?.into(), missing)
    } else {
        (shared.expression(&given)?, Vec::new())
    };
    if let Some(positions) = place.get("missing") {
        for position in positions.elements("an array of positions")? {
            missing.push(position.whole_number("a missing position")?);
        }
        missing.sort_unstable();
        missing.dedup();
    }
    let flag = |key: &str, default: bool| place.get(key).map_or(Ok(default), |p| p.boolean());
    Ok(ObsSpec {
        target,
        value,
        missing,
        likelihood: flag("likelihood", true)?,
        weight: shared.optional(place, "weight")?,
        mask: shared.optional(place, "mask")?,
        reduce: match place.get("reduce") {
            None => Reduce::Sum,
            Some(place) => one_of(&place, &REDUCTIONS.map(|r| (r.name(), r)))?,
        },
        censoring: place.get("censored").map(|p| censoring(&p, shared)).transpose()?,
        log_jacobian: shared.optional(place, "log_jacobian")?,
        joint: flag("joint", false)?,
    })
}

fn censoring(place: &Place<'_>, shared: &Shared) -> Result<CensoringSpec, Diagnostic> {
    let what = "\"censored\"";
    if let Value::String(_) = place.value() {
        let sides = [("right", CensoringSpec::Right), ("left", CensoringSpec::Left)];
        return one_of(place, &sides);
    }
    if let Some(upper) = place.get("interval") {
        place.check_keys(what, &["interval"])?;
        return Ok(CensoringSpec::Interval(shared.expression(&upper)?));
    }
    place.check_keys(what, &["code", "upper", "interval"])?;
    let code = shared.expression(&place.need("code", what)?)?;
    Ok(CensoringSpec::Codes { code, upper: shared.optional(place, "upper")? })
}

/// One of some words.
fn one_of<T: Clone>(place: &Place<'_>, choices: &[(&str, T)]) -> Result<T, Diagnostic> {
    let names: Vec<_> = choices.iter().map(|(n, _)| format!("{n:?}")).collect();
    let what = format!("one of {}", names.join(", "));
    let word = place.string(&what)?;
    let found = choices.iter().find(|(n, _)| *n == word);
    found.map(|(_, choice)| choice.clone()).ok_or_else(|| {
        match closest(word, choices.iter().map(|(n, _)| *n)) {
            Some(name) => place.expected(&what).help(format!("did you mean {name:?}?")),
            None => place.expected(&what),
        }
    })
}
