//! Stan's families of distributions, one row each: the name -> what its slots take, which functions
//! it has, formulas, draws, and how Stan reads its outcomes.
//!
//! The rows are in the files of this folder, those of numbers beside their formulas. Everything
//! that asks something of a family by its name asks it here: signatures, densities, `_rng`
//! functions, non-centring, simulation, leaving out observations, `stanc --info`.
//!
//! # Add a family
//! One row, in `continuous`, `counts` or `events`: [`row`] with the slots of its density, then
//! where its formulas are ([`Family::model`] for a family of exmc-model's, [`Family::own`] for one
//! of this crate) and how it is drawn from. Tests walk all rows and fail until the oracles have
//! theirs; docs/recipes.md follows an example.

pub(crate) mod continuous;
mod counts;
mod events;
mod linear_models;
mod quadrature;
mod von_mises;
mod wiener;

use std::sync::LazyLock;

use exmc_graph::{Graph, NodeId};
use exmc_math::random::ChainRng;
use exmc_model::Support;
use exmc_model::distribution::{Distribution, Parameter, find_family};
use rustc_hash::FxHashMap;

/// What one slot of a density takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// An integer or an array of them (vectorised).
    Ints,
    /// A real number, a vector, a row vector or an array of reals (vectorised).
    Reals,
    /// [`Slot::Reals`] or [`Slot::Ints`].
    Numbers,
    /// One integer.
    Int,
    /// One real number.
    Real,
    /// An array of integers that is one event.
    IntArray,
    /// A vector that is one event.
    Vector,
    /// A vector or row vector that is one event, or an array of them (vectorised).
    Vectors,
    /// A matrix that is one event.
    Matrix,
}

impl Slot {
    /// Extents of one event in this slot; those in front of them are vectorised over.
    pub const fn event_rank(self) -> usize {
        match self {
            Self::Ints | Self::Reals | Self::Numbers | Self::Int | Self::Real => 0,
            Self::IntArray | Self::Vector | Self::Vectors => 1,
            Self::Matrix => 2,
        }
    }

    /// Whether it holds integers only.
    pub const fn is_discrete(self) -> bool {
        matches!(self, Self::Ints | Self::Int | Self::IntArray)
    }
}

/// Which functions a family has besides its density.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Functions {
    /// `_cdf`.
    pub cdf: bool,
    /// `_lcdf`.
    pub lcdf: bool,
    /// `_lccdf`.
    pub lccdf: bool,
    /// `_rng` that takes the density's parameters, vectorised. Families without it may still have
    /// one of a form of its own.
    pub rng: bool,
}

const ALL: Functions = Functions { cdf: true, lcdf: true, lccdf: true, rng: true };
const CDFS: Functions = Functions { cdf: true, lcdf: true, lccdf: true, rng: false };
const RNG: Functions = Functions { cdf: false, lcdf: false, lccdf: false, rng: true };
const DENSITY: Functions = Functions { cdf: false, lcdf: false, lccdf: false, rng: false };

/// Which function of a distribution a formula is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// $\log P(Y \le y)$
    Lower,
    /// $\log P(Y > y)$
    Upper,
}

/// A log density of an outcome and parameters that broadcast; outcomes lie inside the support, the
/// callers check or guard the rest.
type Density = fn(&mut Graph, NodeId, &[NodeId]) -> NodeId;
/// The arguments of another family, from this one's.
type Arguments = fn(&mut Graph, &[NodeId]) -> [NodeId; 2];
/// A log distribution function of them.
type Distributed = fn(&mut Graph, NodeId, &[NodeId], Tail) -> NodeId;
/// The argument, of outcome and parameters, that says over how many outcomes a distribution
/// function sums.
type Terms = fn(NodeId, &[NodeId]) -> NodeId;
/// One draw; arguments satisfy the supports of the parameters.
pub(crate) type Kernel = fn(&mut ChainRng, &[f64]) -> f64;

/// A distribution by its formulas.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Formula {
    /// Parameters, in Stan's order.
    parameters: &'static [Parameter],
    /// Where outcomes lie.
    support: Support,
    /// Axes that one outcome uses up.
    event_rank: usize,
    lpdf: Lpdf,
    /// Log distribution functions, where they have a formula here.
    tails: Option<Distributed>,
    terms: Option<Terms>,
}

/// Where the log density of a family of this crate is.
#[derive(Clone, Copy, Debug)]
enum Lpdf {
    Here(Density),
    /// That of exmc-model's family of this name at other arguments, as are its distribution
    /// functions.
    Of(&'static str, Arguments),
}

/// Where a family's formulas are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// In exmc-model, under this name; distribution functions here, if there are any.
    Model(&'static str, Option<Distributed>),
    /// In this crate.
    Own(Formula),
    /// In this crate, chosen by the number of arguments, and by whether a distribution function is
    /// asked for; with how many of the arguments they look at.
    Forms(fn(usize, bool) -> Option<(&'static Formula, usize)>),
    /// Those of the family of that name, given a linear model's predictors. Arguments at these
    /// positions go with the outcome element by element.
    LinearModel(&'static str, &'static [usize]),
    /// In a function of `library::matrices` that sees the whole call.
    Called,
}

/// How a family is drawn from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Draws {
    /// Not at all.
    None,
    /// As exmc-model does.
    Model,
    /// One number, by this function.
    Number(Kernel),
    /// By a function of `host::library::random` that sees the whole call.
    Event(Event),
}

/// What is one outcome of a family that is not of single numbers with numbers as parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A category: all numbers of an argument belong to each.
    Category,
    /// An ordered category: a number, and cut points.
    Ordered,
    /// Counts with a total.
    Counts,
    /// A vector.
    Vector,
    /// A matrix.
    Matrix,
    /// A correlation matrix, of which the function needs the size.
    Correlation,
}

/// What Stan does with an outcome outside of the support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    /// An error, which rejects the draw.
    Rejects,
    /// A density of zero.
    Impossible,
    /// The formula holds there too.
    Anywhere,
}

/// How the scale of a location-scale family acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Each element is multiplied by its scale.
    Elements,
    /// The whole vector is multiplied by a triangular factor.
    Factor,
    /// The same with the factor of a covariance matrix.
    Covariance,
}

/// A family: one row.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Without suffix.
    pub name: &'static str,
    /// What the density takes, the outcome first.
    pub slots: &'static [Slot],
    /// Which functions there are.
    pub functions: Functions,
    /// Forms that the slots do not give, as patterns of `check::signatures`: suffix and pattern.
    pub(crate) forms: &'static [(&'static str, &'static str)],
    pub(crate) source: Source,
    pub(crate) draws: Draws,
    /// Whether outcomes count from one, where the formulas count from zero.
    pub(crate) one_based: bool,
    pub(crate) outside: Outside,
    /// Where the location stands among the parameters, and how the scale, which follows it, acts.
    pub(crate) location: Option<(usize, Scale)>,
    /// Whether it is symmetric about the location, or about zero if it has none.
    pub(crate) is_symmetric: bool,
    /// Whether the outcome picks an element of a parameter, so that it must be known to the graph.
    pub(crate) picks: bool,
    /// Arguments (1 is the first parameter) that may be infinite in Stan, which asks them for their
    /// sign alone.
    pub(crate) may_be_infinite: &'static [usize],
    /// How many data arguments the embedded Laplace approximation takes in its form for this
    /// family; `None` where it has no such form.
    pub(crate) laplace: Option<usize>,
}

/// A row whose formulas see the whole call and that is not drawn from; methods say otherwise.
const fn row(name: &'static str, slots: &'static [Slot], functions: Functions) -> Family {
    Family {
        name,
        slots,
        functions,
        forms: &[],
        source: Source::Called,
        draws: Draws::None,
        one_based: false,
        outside: Outside::Rejects,
        location: None,
        is_symmetric: false,
        picks: false,
        may_be_infinite: &[],
        laplace: None,
    }
}

impl Family {
    /// `lpmf` for integer outcomes, `lpdf` for others.
    pub const fn density_suffix(&self) -> &'static str {
        if self.slots[0].is_discrete() { "lpmf" } else { "lpdf" }
    }

    /// Formulas of exmc-model's family of that name, which also draws where nothing else does.
    const fn model(mut self, name: &'static str) -> Self {
        self.source = Source::Model(name, None);
        if matches!(self.draws, Draws::None) && self.slots[0].event_rank() == 0 {
            self.draws = Draws::Model;
        }
        self
    }

    /// Formulas of this crate.
    const fn formula(
        mut self,
        support: Support,
        parameters: &'static [Parameter],
        lpdf: Density,
    ) -> Self {
        let (event_rank, lpdf) = (self.slots[0].event_rank(), Lpdf::Here(lpdf));
        let formula = Formula { parameters, support, event_rank, lpdf, tails: None, terms: None };
        self.source = Source::Own(formula);
        self
    }

    /// Formulas of exmc-model's family of that name, distribution functions included, at arguments
    /// that follow from this one's.
    const fn through(
        mut self,
        support: Support,
        parameters: &'static [Parameter],
        name: &'static str,
        arguments: Arguments,
    ) -> Self {
        let (event_rank, lpdf) = (self.slots[0].event_rank(), Lpdf::Of(name, arguments));
        let formula = Formula { parameters, support, event_rank, lpdf, tails: None, terms: None };
        self.source = Source::Own(formula);
        self
    }

    /// Log distribution functions.
    const fn tails(mut self, tails: Distributed) -> Self {
        self.source = match self.source {
            Source::Own(formula) => Source::Own(Formula { tails: Some(tails), ..formula }),
            Source::Model(name, _) => Source::Model(name, Some(tails)),
            other => other,
        };
        self
    }

    /// Log distribution functions that are sums over outcomes, with what says over how many.
    const fn summed_tails(mut self, tails: Distributed, terms: Terms) -> Self {
        self = self.tails(tails);
        if let Source::Own(formula) = self.source {
            self.source = Source::Own(Formula { terms: Some(terms), ..formula });
        }
        self
    }

    /// One draw of a number.
    const fn draws(mut self, kernel: Kernel) -> Self {
        self.draws = Draws::Number(kernel);
        self
    }

    /// Draws of more than numbers.
    const fn event(mut self, event: Event) -> Self {
        self.draws = Draws::Event(event);
        self
    }

    const fn forms(mut self, forms: &'static [(&'static str, &'static str)]) -> Self {
        self.forms = forms;
        self
    }

    const fn one_based(mut self) -> Self {
        self.one_based = true;
        self
    }

    const fn outside(mut self, outside: Outside) -> Self {
        self.outside = outside;
        self
    }

    const fn location(mut self, place: usize, scale: Scale) -> Self {
        self.location = Some((place, scale));
        self
    }

    const fn symmetric(mut self) -> Self {
        self.is_symmetric = true;
        self
    }

    const fn picks(mut self) -> Self {
        self.picks = true;
        self
    }

    const fn may_be_infinite(mut self, arguments: &'static [usize]) -> Self {
        self.may_be_infinite = arguments;
        self
    }

    const fn laplace(mut self, arguments: usize) -> Self {
        self.laplace = Some(arguments);
        self
    }

    /// The formulas for so many arguments, with how many of these they look at.
    pub(crate) fn formulas(
        &'static self,
        arguments: usize,
        is_tail: bool,
    ) -> Option<(Formulas, usize)> {
        match &self.source {
            Source::Model(name, tails) => {
                Some((Formulas::Model(find_family(name)?, *tails), arguments))
            }
            Source::Own(formula) => Some((Formulas::Own(formula), arguments)),
            Source::Forms(choose) => {
                choose(arguments, is_tail).map(|(formula, count)| (Formulas::Own(formula), count))
            }
            Source::LinearModel(..) | Source::Called => None,
        }
    }

    /// Whether its distribution functions are sums of as many terms as outcomes lie below.
    pub(crate) const fn sums_tails(&self) -> bool {
        matches!(&self.source, Source::Own(formula) if formula.terms.is_some())
    }
}

/// The formulas of a family.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Formulas {
    /// exmc-model's, and distribution functions of this crate where it has none.
    Model(&'static dyn Distribution, Option<Distributed>),
    /// This crate's.
    Own(&'static Formula),
}

impl Formulas {
    pub(crate) fn parameters(self) -> &'static [Parameter] {
        match self {
            Self::Model(family, _) => family.parameters(),
            Self::Own(formula) => formula.parameters,
        }
    }

    pub(crate) fn support(self) -> Support {
        match self {
            Self::Model(family, _) => family.support(),
            Self::Own(formula) => formula.support,
        }
    }

    pub(crate) fn event_rank(self) -> usize {
        match self {
            Self::Model(family, _) => family.event_rank(),
            Self::Own(formula) => formula.event_rank,
        }
    }

    pub(crate) fn lpdf(self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        match self {
            Self::Model(family, _) => family.lpdf(g, y, args),
            Self::Own(Formula { lpdf: Lpdf::Here(lpdf), .. }) => lpdf(g, y, args),
            Self::Own(Formula { lpdf: Lpdf::Of(name, arguments), .. }) => {
                let args = arguments(g, args);
                of_model(name).lpdf(g, y, &args)
            }
        }
    }

    /// A log distribution function, where there is one for these arguments.
    pub(crate) fn tail(
        self,
        g: &mut Graph,
        y: NodeId,
        args: &[NodeId],
        tail: Tail,
    ) -> Option<NodeId> {
        match self {
            Self::Model(_, Some(tail_formula)) => Some(tail_formula(g, y, args, tail)),
            Self::Model(family, None) if tail == Tail::Lower => family.lcdf(g, y, args),
            Self::Model(family, None) => family.lccdf(g, y, args),
            // Sums need to know over how many outcomes.
            Self::Own(Formula { terms: Some(terms), .. })
                if counts::terms(g, terms(y, args)).is_none() =>
            {
                None
            }
            Self::Own(Formula { lpdf: Lpdf::Of(name, arguments), .. }) => {
                let args = arguments(g, args);
                Some(tail_of(g, name, y, &args, tail))
            }
            Self::Own(formula) => formula.tails.map(|tails| tails(g, y, args, tail)),
        }
    }
}

/// All families, file by file.
pub fn families() -> impl Iterator<Item = &'static Family> {
    [continuous::ROWS, counts::ROWS, events::ROWS, linear_models::ROWS, wiener::ROWS]
        .into_iter()
        .flatten()
}

/// The family of a name without suffix.
pub fn family(name: &str) -> Option<&'static Family> {
    static BY_NAME: LazyLock<FxHashMap<&str, &Family>> =
        LazyLock::new(|| families().map(|family| (family.name, family)).collect());
    BY_NAME.get(name).copied()
}

/// A family of exmc-model's.
fn of_model(name: &str) -> &'static dyn Distribution {
    find_family(name).expect("exmc-model has the family")
}

/// The log distribution function of a family of exmc-model's that has one.
fn tail_of(g: &mut Graph, name: &str, y: NodeId, args: &[NodeId], tail: Tail) -> NodeId {
    let family = of_model(name);
    let found = match tail {
        Tail::Lower => family.lcdf(g, y, args),
        Tail::Upper => family.lccdf(g, y, args),
    };
    found.expect("the family has distribution functions")
}

/// Outside of a lower limit nothing lies below and everything above: `inside` for `y > limit`.
fn above(
    g: &mut Graph,
    y: NodeId,
    limit: NodeId,
    tail: Tail,
    inside: impl FnOnce(&mut Graph, NodeId) -> NodeId,
) -> NodeId {
    let outside = g.le(y, limit);
    // The formula sees a point inside, so that no derivative of it is 0 times infinity.
    let next = g.shift(limit, 1.0);
    let safe = g.select(outside, next, y);
    let value = inside(g, safe);
    let end = g.scalar(if tail == Tail::Lower { f64::NEG_INFINITY } else { 0.0 });
    g.select(outside, end, value)
}

const fn positive(name: &'static str) -> Parameter {
    Parameter::new(name, Support::Positive)
}

const fn real(name: &'static str) -> Parameter {
    Parameter::new(name, Support::Real)
}

const fn count(name: &'static str) -> Parameter {
    Parameter::new(name, Support::Count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_there_once_and_lead_to_formulas() {
        let mut names: Vec<&str> = families().map(|family| family.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        for family in families() {
            match family.source {
                Source::Model(name, _) => assert!(find_family(name).is_some(), "{name}"),
                Source::LinearModel(name, _) => assert!(super::family(name).is_some(), "{name}"),
                Source::Own(Formula { lpdf: Lpdf::Of(name, _), .. }) => {
                    assert!(find_family(name).is_some(), "{name}");
                }
                Source::Own(_) | Source::Forms(_) | Source::Called => {}
            }
        }
    }

    /// What a row says of draws agrees with its slots and formulas.
    #[test]
    fn families_with_a_function_that_draws_are_drawn_from() {
        for family in families() {
            let has_rng =
                family.functions.rng || family.forms.iter().any(|(suffix, _)| *suffix == "rng");
            let is_model = matches!(family.source, Source::LinearModel(..));
            let is_drawn = !matches!(family.draws, Draws::None);
            assert!(is_drawn || is_model || !has_rng, "{}", family.name);
            if let Draws::Number(_) | Draws::Model = family.draws {
                let (formulas, _) = family.formulas(family.slots.len(), false).unwrap();
                let parameters = formulas.parameters().len();
                assert_eq!(parameters, family.slots.len() - 1, "{}", family.name);
            }
        }
    }
}
