//! Overload resolution: a function's name and the arguments of a call -> the one signature that
//! fits at the least cost, or why none does.
//!
//! A candidate fits if every argument converts to its slot's type and slots for data get data.
//! Among those that fit, the one with the fewest conversions is taken (int to complex counts
//! twice); if there are several, the call is ambiguous.

use std::rc::Rc;

use super::environment::{Checker, Typed, normalised};
use super::signatures::{Parameter, Signature};
use super::types::{promote, promotion_cost, spell, spell_list};
use crate::source::Span;
use crate::typed::{Expr, FunctionId, Type};

/// A function that a name may mean.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// The user's function, or the library's.
    pub(super) user: Option<FunctionId>,
    pub(super) arguments: Vec<Parameter>,
    pub(super) returns: Type,
}

impl Candidate {
    fn new(user: Option<FunctionId>, signature: &Signature) -> Self {
        let Signature { arguments, returns } = signature.clone();
        Self { user, arguments, returns }
    }
}

/// Why an argument list does not fit.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mismatch {
    /// Wanted and given numbers.
    Count(usize, usize),
    /// The argument (from 0) has the wrong type.
    Type(usize),
    /// The argument (from 0) may depend on parameters.
    Data(usize),
}

/// What a call means.
#[derive(Debug)]
pub(super) enum Resolution {
    /// One function fits best.
    One(Candidate),
    /// Several fit equally well.
    Ambiguous(Vec<Candidate>),
    /// None fits; the closest first.
    Unfit(Vec<(Candidate, Mismatch)>),
    /// There is no function of that name.
    Unknown,
}

/// Signatures that an error message lists.
const MAX_LISTED: usize = 4;

/// The cost of the conversions, or the first mismatch.
pub(super) fn fit(parameters: &[Parameter], arguments: &[Typed]) -> Result<u32, Mismatch> {
    if parameters.len() != arguments.len() {
        return Err(Mismatch::Count(parameters.len(), arguments.len()));
    }
    let mut cost = 0;
    for (k, (parameter, argument)) in parameters.iter().zip(arguments).enumerate() {
        cost += promotion_cost(&parameter.ty, argument.ty()).ok_or(Mismatch::Type(k))?;
        if parameter.data_only && argument.level.any() {
            return Err(Mismatch::Data(k));
        }
    }
    Ok(cost)
}

/// Arguments converted to a signature that they fit.
pub(super) fn convert(parameters: &[Parameter], arguments: Vec<Typed>) -> Vec<Expr> {
    let pairs = parameters.iter().zip(arguments);
    pairs.map(|(parameter, argument)| promote(argument.expr, &parameter.ty)).collect()
}

/// A signature as messages show it.
pub(super) fn spell_signature(arguments: &[Parameter], returns: &Type) -> String {
    let slot =
        |p: &Parameter| format!("{}{}", if p.data_only { "data " } else { "" }, spell(&p.ty));
    let arguments: Vec<String> = arguments.iter().map(slot).collect();
    format!("({}) => {}", arguments.join(", "), spell(returns))
}

impl Checker {
    /// All functions of a name: the user's overloads and the library's.
    pub(super) fn candidates(&mut self, name: &str) -> Vec<Candidate> {
        let library = self.library(&normalised(name));
        let users = self.overloads(name).iter();
        let users = users.map(|id| Candidate::new(Some(*id), &self.user(*id).signature));
        users.chain(library.iter().map(|signature| Candidate::new(None, signature))).collect()
    }

    /// What a call of `name` with these arguments means.
    pub(super) fn resolve(&mut self, name: &str, arguments: &[Typed]) -> Resolution {
        let library = self.library(&normalised(name));
        let users = self.overloads(name).iter();
        let users = users.map(|id| (Some(*id), &*self.user(*id).signature));
        let all = users.chain(library.iter().map(|signature| (None, signature)));
        let (mut least, mut best) = (u32::MAX, Vec::new());
        for (user, signature) in all {
            match fit(&signature.arguments, arguments) {
                Ok(cost) if cost < least => (least, best) = (cost, vec![(user, signature)]),
                Ok(cost) if cost == least => best.push((user, signature)),
                _ => {}
            }
        }
        let mut fitting = best.into_iter().map(|(user, signature)| Candidate::new(user, signature));
        match (fitting.next(), fitting.next()) {
            (Some(one), None) => Resolution::One(one),
            (Some(one), Some(two)) => {
                Resolution::Ambiguous([one, two].into_iter().chain(fitting).collect())
            }
            (None, _) => {
                drop(fitting);
                self.closest(name, arguments)
            }
        }
    }

    /// Functions of a name none of which fits, in the order in which they come close: those that go
    /// wrong late first, those with another number of arguments last.
    fn closest(&mut self, name: &str, arguments: &[Typed]) -> Resolution {
        let candidates = self.candidates(name).into_iter();
        let mut unfit: Vec<(Candidate, Mismatch)> = candidates
            .filter_map(|candidate| {
                let mismatch = fit(&candidate.arguments, arguments).err()?;
                Some((candidate, mismatch))
            })
            .collect();
        if unfit.is_empty() {
            return Resolution::Unknown;
        }
        unfit.sort_by_key(|(candidate, mismatch)| match mismatch {
            Mismatch::Type(k) | Mismatch::Data(k) => {
                let wanted = &candidate.arguments[*k].ty;
                (0, usize::MAX - k, wanted.rank().abs_diff(arguments[*k].ty().rank()))
            }
            Mismatch::Count(wanted, given) => (1, wanted.abs_diff(*given), 0),
        });
        Resolution::Unfit(unfit)
    }

    /// The result of an operator that the library has under these names, the first that fits.
    pub(super) fn operator(
        &mut self,
        names: &[&str],
        arguments: &[Typed],
    ) -> Option<(Type, Rc<[Parameter]>)> {
        for name in names {
            let signatures = self.library(name);
            let mut best: Option<(u32, &Signature)> = None;
            for signature in signatures.iter() {
                if let Ok(cost) = fit(&signature.arguments, arguments)
                    && best.is_none_or(|(least, _)| cost < least)
                {
                    best = Some((cost, signature));
                }
            }
            if let Some((_, signature)) = best {
                return Some((signature.returns.clone(), signature.arguments.clone().into()));
            }
        }
        None
    }

    /// Reports a call that fits nothing: what was given, what would fit, and the first thing that
    /// is off.
    pub(super) fn unfit(
        &mut self,
        span: Span,
        name: &str,
        arguments: &[Typed],
        unfit: &[(Candidate, Mismatch)],
    ) {
        let given = spell_list(arguments.iter().map(Typed::ty));
        let listed = unfit.iter().take(MAX_LISTED).map(|(candidate, _)| {
            format!("  {name}{}", spell_signature(&candidate.arguments, &candidate.returns))
        });
        let mut help = String::from("it takes\n");
        help.push_str(&listed.collect::<Vec<_>>().join("\n"));
        if unfit.len() > MAX_LISTED {
            help.push_str(&format!("\n  and {} more", unfit.len() - MAX_LISTED));
        }
        let why = unfit.first().map(|(candidate, mismatch)| match mismatch {
            Mismatch::Count(wanted, given) => format!("expected {}, found {given}", count(*wanted)),
            Mismatch::Type(k) => format!(
                "the {} argument is {}, not {}",
                ordinal(*k),
                spell(arguments[*k].ty()),
                spell(&candidate.arguments[*k].ty)
            ),
            Mismatch::Data(k) => format!(
                "the {} argument must be data, and this may depend on parameters",
                ordinal(*k)
            ),
        });
        let label = match unfit.first() {
            Some((_, Mismatch::Type(k) | Mismatch::Data(k))) => arguments[*k].expr.span,
            _ => span,
        };
        let users: Vec<Span> = unfit
            .iter()
            .filter_map(|(candidate, _)| Some(self.user(candidate.user?).span))
            .collect();
        let diagnostic =
            self.error(span, format!("`{name}` cannot be called with arguments ({given})"));
        diagnostic.help = Some(help);
        if let Some(why) = why {
            diagnostic.labels.push((label, why));
        }
        if let Some(definition) = users.first() {
            diagnostic.labels.push((*definition, "defined here".into()));
        }
    }

    /// Reports a call that several functions fit equally well.
    pub(super) fn ambiguous(&mut self, span: Span, name: &str, candidates: &[Candidate]) {
        let listed = candidates.iter().take(MAX_LISTED).map(|candidate| {
            format!("  {name}{}", spell_signature(&candidate.arguments, &candidate.returns))
        });
        let listed = listed.collect::<Vec<_>>().join("\n");
        self.error(span, format!("this call of `{name}` is ambiguous")).help = Some(format!(
            "these fit equally well; convert an argument to choose one of them\n{listed}"
        ));
    }
}

/// `1 argument`, `2 arguments`.
pub(super) fn count(n: usize) -> String {
    format!("{n} argument{}", if n == 1 { "" } else { "s" })
}

/// The number of an argument (from 0) as a word.
pub(super) fn ordinal(k: usize) -> String {
    match k {
        0 => "first".into(),
        1 => "second".into(),
        2 => "third".into(),
        3 => "fourth".into(),
        4 => "fifth".into(),
        5 => "sixth".into(),
        _ => format!("{}th", k + 1),
    }
}
