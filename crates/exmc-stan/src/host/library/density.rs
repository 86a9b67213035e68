//! Densities and distribution functions on values: graphs of the one source of formulas, compiled
//! once for each name and shape of arguments (and, where constant terms are left out, for which of
//! them are parameters).

use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use exmc_exec::{Executor, FunctionInstance, FunctionSource, compile_function};
use exmc_graph::{DType, Graph, NodeId, Role, Shape, Tensor, evaluate};
use exmc_model::KnownSupports;
use rustc_hash::{FxHashMap, FxHasher};

use super::{Builtin, Call};
use crate::check::types::is_complex;
use crate::families::{Family, family};
use crate::host::error::Fault;
use crate::host::numeric;
use crate::library::{self, Argument, LibraryError};
use crate::typed::{Expr, SyntaxId, Type};
use crate::value::{Numbers, Value};

/// Densities that were compiled so far, and what calls on single numbers turned out to be.
#[derive(Debug, Default)]
pub struct Densities {
    compiled: Vec<Compiled>,
    /// Their places, by the hash of name, types and shapes.
    places: FxHashMap<u64, Vec<usize>>,
    /// By the first of the call's arguments.
    sites: FxHashMap<SyntaxId, (Arc<str>, Site)>,
    position: Vec<f64>,
    out: Vec<f64>,
}

/// What a call on single numbers is, looked up once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) builtin: Option<Builtin>,
    /// Whether it is a density that is compiled for the types of its arguments.
    pub(crate) is_compiled: bool,
    /// The place of that density, once it was compiled.
    place: usize,
}

/// One density at arguments of certain types and shapes.
#[derive(Debug)]
struct Compiled {
    name: String,
    types: Vec<Type>,
    shapes: Vec<Vec<usize>>,
    /// Of one without its constant terms, which arguments are parameters.
    varies: Option<Vec<bool>>,
    instance: FunctionInstance,
    /// What the outputs after the first must satisfy: not zero, or else this sentence.
    checks: Vec<String>,
    /// Which of all numbers must be finite.
    finite: Vec<Range<usize>>,
}

impl Compiled {
    /// Whether it is the density of that name for these types and shapes.
    fn is<'s>(
        &self,
        (name, varies): (&str, Option<&[bool]>),
        types: &[&Type],
        shape: &dyn Fn(usize) -> &'s [usize],
    ) -> bool {
        self.name == name
            && self.varies.as_deref() == varies
            && self.types.iter().eq(types.iter().copied())
            && self.shapes.iter().enumerate().all(|(k, kept_shape)| kept_shape == shape(k))
    }
}

/// The most densities that are kept; a loop over vectors of ever other lengths would fill memory.
const MAX_KEPT: usize = 256;

/// The most calls that are kept: more than programs have, but many programs may use one after the
/// other.
const MAX_SITES: usize = 1 << 16;

const SUFFIXES: &[(&str, &str)] = &[
    ("_lpdf", "_lpdf"),
    ("_lpmf", "_lpmf"),
    ("_lupdf", "_lpdf"),
    ("_lupmf", "_lpmf"),
    ("_lcdf", "_lcdf"),
    ("_lccdf", "_lccdf"),
    ("_cdf", "_cdf"),
    ("_lcdf_unnorm", "_lcdf_unnorm"),
    ("_lccdf_unnorm", "_lccdf_unnorm"),
];

/// The family of a density or distribution function, and the function's suffix.
fn family_of(name: &str) -> Option<&'static Family> {
    let base = SUFFIXES.iter().find_map(|(suffix, _)| name.strip_suffix(suffix))?;
    family(base)
}

/// Whether the outcome of a density picks an element of a parameter, so that it must be known to
/// the graph.
fn picks(name: &str) -> bool {
    name.starts_with("hmm_") || family_of(name).is_some_and(|family| family.picks)
}

/// Whether the graph of a density, or of its distribution functions, is made for known integers.
pub(crate) fn needs_known_counts(name: &str) -> bool {
    picks(name) || family_of(name).is_some_and(Family::sums_tails)
}

/// Whether Stan throws where that argument of a distribution of numbers is infinite. A density on
/// parameters does not ask: the limit, mostly minus infinity, says enough.
fn is_finite_argument(name: &str, k: usize) -> bool {
    let asks = |family: &Family| {
        family.slots.iter().all(|slot| slot.event_rank() == 0)
            && !family.may_be_infinite.contains(&k)
    };
    k > 0 && family_of(name).is_some_and(asks)
}

/// Whether a name is that of a density or distribution function.
pub(crate) fn is_density(name: &str) -> bool {
    SUFFIXES.iter().any(|(suffix, _)| name.ends_with(suffix))
}

/// Whether it is one that is compiled for the types and shapes of its arguments alone.
pub(crate) fn is_compiled(name: &str) -> bool {
    let sums = name.ends_with("cdf") && family_of(name).is_some_and(Family::sums_tails);
    is_density(name) && !sums && !picks(name)
}

impl Densities {
    /// The function's value. Unnormalised forms keep all terms: on values there is no parameter
    /// that they could be constant in.
    pub(crate) fn call(&mut self, c: &Call<'_>) -> Result<Value, Fault> {
        if !is_compiled(c.name) {
            return once(c);
        }
        self.call_compiled(c, None)
    }

    /// An unnormalised density without the terms in which no argument is a parameter; `varies` says
    /// which are.
    pub(crate) fn unnormalised(&mut self, c: &Call<'_>, varies: &[bool]) -> Result<Value, Fault> {
        if !is_compiled(c.name) {
            return unnormalised_once(c, varies);
        }
        self.call_compiled(c, Some(varies))
    }

    fn call_compiled(&mut self, c: &Call<'_>, varies: Option<&[bool]>) -> Result<Value, Fault> {
        let shape = |k: usize| c.args[k].shape();
        let place = match self.find((c.name, varies), c.types, &shape) {
            Ok(place) => place,
            Err(key) => self.insert(key, compile(c, varies)?),
        };
        let mut position = std::mem::take(&mut self.position);
        position.clear();
        for arg in c.args {
            match arg {
                Value::Real(x) => position.push(*x),
                Value::Int(i) => position.push(*i as f64),
                other => position.extend_from_slice(&numeric::real_slice(other)?),
            }
        }
        let found = self.run(c.name, place, &position);
        self.position = position;
        found
    }

    /// What the call of a name is; `args` are its arguments, at least one.
    #[inline]
    pub(crate) fn site(&mut self, name: &str, args: &[Expr]) -> Site {
        // Another program's call may have had the id before: its name tells.
        match self.sites.get(&args[0].id) {
            Some((site_name, site)) if **site_name == *name => *site,
            _ => self.new_site(name, args),
        }
    }

    #[cold]
    fn new_site(&mut self, name: &str, args: &[Expr]) -> Site {
        let builtin = super::find(name);
        let is_compiled = builtin.is_none() && is_compiled(name);
        if self.sites.len() >= MAX_SITES {
            self.sites.clear();
        }
        let site = Site { builtin, is_compiled, place: usize::MAX };
        self.sites.insert(args[0].id, (Arc::from(name), site));
        site
    }

    /// A density of single numbers, which `args` are.
    pub(crate) fn call_on_scalars(
        &mut self,
        name: &str,
        (site, args): (Site, &[Expr]),
        point: &[f64],
        types: &[&Type],
    ) -> Result<Value, Fault> {
        let noted = self.compiled.get(site.place);
        if noted.is_some_and(|entry| entry.is((name, None), types, &|_| &[])) {
            return self.run(name, site.place, point);
        }
        let place = match self.find((name, None), types, &|_| &[]) {
            Ok(place) => place,
            Err(key) => {
                let value = |(x, ty): (&f64, &&Type)| match ty {
                    Type::Int => Value::Int(*x as i64),
                    _ => Value::Real(*x),
                };
                let args: Vec<Value> = point.iter().zip(types).map(value).collect();
                let call = Call { name, args: &args, types, returns: &Type::Real };
                self.insert(key, compile(&call, None)?)
            }
        };
        if let Some((_, site)) = self.sites.get_mut(&args[0].id) {
            site.place = place;
        }
        self.run(name, place, point)
    }

    /// The place of a density that was compiled for these types and shapes, or the key for it.
    fn find<'s>(
        &self,
        (name, varies): (&str, Option<&[bool]>),
        types: &[&Type],
        shape: &dyn Fn(usize) -> &'s [usize],
    ) -> Result<usize, u64> {
        let mut hasher = FxHasher::default();
        (name, varies).hash(&mut hasher);
        for (k, ty) in types.iter().enumerate() {
            ty.hash(&mut hasher);
            shape(k).hash(&mut hasher);
        }
        let key = hasher.finish();
        let mut of_key = self.places.get(&key).into_iter().flatten().copied();
        of_key.find(|&index| self.compiled[index].is((name, varies), types, shape)).ok_or(key)
    }

    fn insert(&mut self, key: u64, entry: Compiled) -> usize {
        if self.compiled.len() >= MAX_KEPT {
            self.compiled.clear();
            self.places.clear();
        }
        self.compiled.push(entry);
        let place = self.compiled.len() - 1;
        self.places.entry(key).or_default().push(place);
        place
    }

    /// Evaluates a density.
    fn run(&mut self, name: &str, place: usize, position: &[f64]) -> Result<Value, Fault> {
        let entry = &mut self.compiled[place];
        self.out.resize(1 + entry.checks.len(), 0.0);
        let wrong = |what: &dyn std::fmt::Display| Fault::domain(format!("{name}: {what}"));
        let mut parameters = entry.finite.iter().flat_map(|part| &position[part.clone()]);
        if let Some(x) = parameters.find(|x| x.is_infinite()) {
            return Err(wrong(&format_args!("a parameter is {x}, but must be finite")));
        }
        let done = entry.instance.evaluate(position, &mut self.out);
        done.map_err(|error| wrong(&error))?;
        if let Some(k) = self.out[1..].iter().position(|holds| *holds == 0.0) {
            return Err(wrong(&entry.checks[k]));
        }
        Ok(Value::Real(self.out[0]))
    }
}

/// The name that keeps all terms.
pub(crate) fn normalised(name: &str) -> String {
    let found = SUFFIXES.iter().find_map(|(suffix, full)| Some((name.strip_suffix(suffix)?, full)));
    found.map_or_else(|| name.to_owned(), |(base, full)| format!("{base}{full}"))
}

fn fault(c: &Call<'_>, error: &LibraryError) -> Fault {
    match error {
        LibraryError::Mistake(message) => c.size(message),
        LibraryError::Unsupported(_) => {
            Fault::unsupported(format!("`{}` is not there yet for known values", c.name))
        }
        other => Fault::unsupported(format!("`{}`: {other}", c.name)),
    }
}

/// Number, then conditions, each with its sentence.
fn density(
    c: &Call<'_>,
    g: &mut Graph,
    args: &[Argument],
) -> Result<(Vec<NodeId>, Vec<String>), Fault> {
    density_nodes(&normalised(c.name), g, args)
}

/// The same for exactly that name: unnormalised forms lose the terms that no parameter of the graph
/// changes.
pub(crate) fn density_nodes(
    name: &str,
    g: &mut Graph,
    args: &[Argument],
) -> Result<(Vec<NodeId>, Vec<String>), Fault> {
    let c = &Call { name, args: &[], types: &[], returns: &Type::Real };
    let mut supports = KnownSupports::default();
    let found = library::density(g, &mut supports, name, args);
    let found = found.map_err(|error| fault(c, &error))?;
    let number = found.number(g);
    let mut outputs = vec![number.node];
    let mut checks = Vec::new();
    for check in found.checks {
        outputs.push(check.holds);
        checks.push(check.message);
    }
    Ok((outputs, checks))
}

/// The nodes of a density without the terms that no argument of those that vary changes; its own
/// arguments are all inputs or constants of `graph`.
pub(crate) fn unnormalised_nodes(
    name: &str,
    graph: &mut Graph,
    args: &[Argument],
    varies: &[bool],
) -> Result<(Vec<NodeId>, Vec<String>), Fault> {
    let broken = |error: exmc_graph::GraphError| Fault::unsupported(error.message());
    let (mut subgraph, mut own_args) = (Graph::new(), Vec::new());
    for (k, arg) in args.iter().enumerate() {
        let node = match graph.as_constant(arg.node) {
            Some(value) => subgraph.constant(value.clone()),
            None => {
                let role = if varies[k] { Role::Parameter } else { Role::Data };
                let shape = graph.shape(arg.node).clone();
                subgraph.input(&format!("x{k}"), role, shape, DType::Real).map_err(broken)?
            }
        };
        own_args.push(Argument { node, ..arg.clone() });
    }
    let (outputs, checks) = density_nodes(name, &mut subgraph, &own_args)?;
    let argument = |_: &mut Graph, _: NodeId, name: &str| {
        let k = name.strip_prefix('x').and_then(|k| k.parse::<usize>().ok());
        Ok::<_, exmc_graph::GraphError>(k.and_then(|k| args.get(k)).map(|arg| arg.node))
    };
    let imported = graph.import(&subgraph, &outputs, argument).map_err(broken)?;
    Ok((imported, checks))
}

fn compile(c: &Call<'_>, varies: Option<&[bool]>) -> Result<Compiled, Fault> {
    let mut g = Graph::new();
    let (mut parameters, mut args, mut dim) = (Vec::new(), Vec::new(), 0);
    let mut finite = Vec::new();
    for (k, (value, ty)) in c.args.iter().zip(c.types).enumerate() {
        let shape = Shape::from(value.shape());
        let len = shape.len();
        let node = g.input(&format!("x{k}"), Role::Parameter, shape, DType::Real);
        let node = node.map_err(|error| c.domain(error.message()))?;
        parameters.push((node, dim));
        if varies.is_none() && is_finite_argument(c.name, k) {
            finite.push(dim..dim + len);
        }
        dim += len;
        args.push(Argument { node, ty: (*ty).clone(), batched: false });
    }
    let (outputs, checks) = match varies {
        None => density(c, &mut g, &args)?,
        Some(varies) => unnormalised_nodes(c.name, &mut g, &args, varies)?,
    };
    let source = FunctionSource { graph: g, outputs, parameters, dim };
    let broken = |error: &dyn std::fmt::Display| Fault::unsupported(format!("{}: {error}", c.name));
    let function = compile_function(Executor::default(), &source).map_err(|e| broken(&e))?;
    let bound = function.bind(&|_| None).map_err(|e| broken(&e))?;
    Ok(Compiled {
        name: c.name.to_owned(),
        types: c.types.iter().map(|ty| (*ty).clone()).collect(),
        shapes: c.args.iter().map(|arg| arg.shape().to_vec()).collect(),
        varies: varies.map(<[bool]>::to_vec),
        instance: bound.instance(),
        checks,
        finite,
    })
}

/// The value as a constant of a graph.
fn constant(c: &Call<'_>, g: &mut Graph, value: &Value) -> Result<NodeId, Fault> {
    let shape = Shape::from(value.shape());
    let tensor = match value {
        Value::Int(_) | Value::Ints(_) => {
            let values: Vec<f64> = numeric::int_slice(value)?.iter().map(|i| *i as f64).collect();
            Tensor::int(shape, values)
        }
        Value::Complex(_) | Value::Complexes(_) => {
            Tensor::real(shape.join(&[2]), numeric::to_complexes(value)?.values.as_flattened())
        }
        _ => Tensor::real(shape, numeric::real_slice(value)?.into_owned()),
    };
    Ok(g.constant(tensor.ok_or_else(|| c.missing())?))
}

fn constants(c: &Call<'_>, g: &mut Graph) -> Result<Vec<Argument>, Fault> {
    let mut args = Vec::new();
    for (value, ty) in c.args.iter().zip(c.types) {
        let node = constant(c, g, value)?;
        args.push(Argument { node, ty: (*ty).clone(), batched: false });
    }
    Ok(args)
}

/// A density whose arguments are constants of a graph that is evaluated and thrown away.
fn once(c: &Call<'_>) -> Result<Value, Fault> {
    for k in (0..c.args.len()).filter(|k| is_finite_argument(c.name, *k)) {
        if let Some(x) = c.reals(k)?.iter().find(|x| x.is_infinite()) {
            return Err(c.domain(format!("a parameter is {x}, but must be finite")));
        }
    }
    let mut g = Graph::new();
    let args = constants(c, &mut g)?;
    let (outputs, checks) = density(c, &mut g, &args)?;
    let values = evaluate(&g, &outputs, &|_| None).map_err(|error| c.domain(error.message()))?;
    let number = |tensor: &Tensor| tensor.values().first().copied().unwrap_or(f64::NAN);
    if let Some(k) = values[1..].iter().position(|holds| number(holds) == 0.0) {
        return Err(c.domain(&checks[k]));
    }
    Ok(Value::Real(number(&values[0])))
}

/// An unnormalised density whose outcome must be known to the graph.
fn unnormalised_once(c: &Call<'_>, kinds: &[bool]) -> Result<Value, Fault> {
    let mut g = Graph::new();
    let mut args = Vec::new();
    for (k, (value, ty)) in c.args.iter().zip(c.types).enumerate() {
        let node = if kinds[k] {
            let shape = Shape::from(value.shape());
            let input = g.input(&k.to_string(), Role::Parameter, shape, DType::Real);
            input.map_err(|error| c.domain(error.message()))?
        } else {
            constant(c, &mut g, value)?
        };
        args.push(Argument { node, ty: (*ty).clone(), batched: false });
    }
    let mut supports = KnownSupports::default();
    let found = library::density(&mut g, &mut supports, c.name, &args);
    let found = found.map_err(|error| fault(c, &error))?;
    let mut outputs = vec![found.number(&mut g).node];
    outputs.extend(found.checks.iter().map(|check| check.holds));
    let input = |name: &str| {
        let value = &c.args[name.parse::<usize>().ok()?];
        Tensor::real(Shape::from(value.shape()), numeric::real_slice(value).ok()?.into_owned())
    };
    let values = evaluate(&g, &outputs, &input).map_err(|error| c.domain(error.message()))?;
    let number = |tensor: &Tensor| tensor.values().first().copied().unwrap_or(f64::NAN);
    if let Some(k) = values[1..].iter().position(|holds| number(holds) == 0.0) {
        return Err(c.domain(&found.checks[k].message));
    }
    Ok(Value::Real(number(&values[0])))
}

/// A function that only the library on graphs has.
pub(crate) fn function_once(c: &Call<'_>) -> Result<Value, Fault> {
    if let (Some(parts), Type::Tuple(types)) = (library::parts_of(c.name), c.returns) {
        let slots = parts
            .iter()
            .zip(types)
            .map(|(name, returns)| function_once(&Call { name, returns, ..*c }));
        return slots.collect::<Result<_, _>>().map(Value::Tuple);
    }
    let mut g = Graph::new();
    let args = constants(c, &mut g)?;
    let output = library::function(&mut g, c.name, &args).map_err(|error| fault(c, &error))?;
    let values = evaluate(&g, &[output.node], &|_| None);
    let values = values.map_err(|error| c.domain(error.message()))?;
    if is_complex(c.returns) {
        let (pairs, _) = values[0].values().as_chunks::<2>();
        let (_, extents) = values[0].shape().extents().split_last().ok_or_else(|| c.missing())?;
        return Ok(numeric::from_complexes(Numbers::new(extents, pairs.to_vec())));
    }
    let numbers = Numbers::new(values[0].shape().extents(), values[0].values().to_vec());
    if c.returns.array_parts().1 == &Type::Int {
        let ints = numbers.values.iter().map(|x| *x as i64).collect();
        return Ok(numeric::from_ints(Numbers::new(numbers.shape, ints)));
    }
    Ok(numeric::from_reals(numbers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;
    use crate::typed::ExprKind;

    /// Programs that follow each other have the same ids.
    #[test]
    fn what_a_call_is_does_not_depend_on_what_had_its_id_before() {
        let number = |x| Expr::new(ExprKind::Real(x), Type::Real, Span::default());
        let args = [number(0.5), number(0.0), number(2.0)];
        let (point, types) = ([0.5, 0.0, 2.0], [&Type::Real; 3]);
        let mut densities = Densities::default();
        for name in ["normal_lpdf", "cauchy_lpdf", "normal_lpdf"] {
            let site = densities.site(name, &args);
            assert!(site.is_compiled && site.builtin.is_none());
            let value = densities.call_on_scalars(name, (site, &args), &point, &types).unwrap();
            let Value::Real(value) = value else { panic!("{value:?}") };
            // Of the normal: -1/32 - log(2) - log(2 pi) / 2; of the Cauchy: -log(2 pi (1 + 1/16)).
            let right = if name == "normal_lpdf" {
                -1.643_335_713_764_618
            } else {
                -1.898_501_688_225_780_4
            };
            assert!((value - right).abs() < 1e-15, "{name}: {value}");
        }
        assert!(densities.site("normal_rng", &args).builtin.is_some());
    }
}
