//! Models -> models with a variable fixed by intervention, or with one more observation.
//!
//! An intervention $\mathrm{do}(x=v)$ cuts a variable off from what it depends on: its
//! distribution leaves the joint density and everything below it sees $v$. Conditioning keeps the
//! distribution and adds its likelihood, so that what lies above learns from $v$.
//!
//! **Reference**: Pearl 2009, Causality, section 3.2.

use exmc_graph::{Dependence, NodeId};

use crate::build::Builder;
use crate::build::check_observations;
use crate::diagnostic::{Code, Diagnostic, ModelError, Origin};
use crate::expr::Expr;
use crate::model::{Kind, Model, Node};
use crate::spec::{ObsSpec, Reduce};
use crate::verify::verify;

impl Model {
    /// The model after an intervention that sets a random variable, or a deterministic value, to
    /// `value`: a constant, or an expression of the model's data, that broadcasts to its shape.
    ///
    /// An observation of the variable is left out with its distribution: it was made of the
    /// variable without the intervention.
    ///
    /// ```
    /// use exmc_model::{ModelBuilder, distributions::normal};
    /// let mut model = ModelBuilder::new();
    /// model.rv("cause", normal(0, 1));
    /// model.rv("effect", normal("cause", 1));
    /// let fixed = model.build()?.do_("cause", 2.5)?;
    /// assert_eq!(fixed.free_variables(), ["effect"]);
    /// # Ok::<(), exmc_model::ModelError>(())
    /// ```
    ///
    /// # Errors
    /// When the model has no such variable, or the value has another shape, depends on a variable,
    /// or is a constant outside of the variable's support.
    #[track_caller]
    pub fn do_(&self, name: &str, value: impl Into<Expr>) -> Result<Self, ModelError> {
        let origin = Origin::caller();
        let intervened = self.with_value(name, &value.into(), origin.clone());
        let model = intervened.map_err(|mistake| mistake.at(name, &origin))?;
        check_observations(&model)?;
        Ok(model)
    }

    /// The model with one more observation: that a random variable, or a deterministic value that
    /// is an invertible image of one, was seen to have `value`.
    ///
    /// ```
    /// use exmc_model::{ModelBuilder, distributions::normal};
    /// let mut model = ModelBuilder::new();
    /// model.rv("cause", normal(0, 1));
    /// model.rv("effect", normal("cause", 1));
    /// let seen = model.build()?.condition("effect", 2.5)?;
    /// assert_eq!(seen.free_variables(), ["cause"]);
    /// # Ok::<(), exmc_model::ModelError>(())
    /// ```
    ///
    /// # Errors
    /// As [`observe`](crate::ModelBuilder::observe) with [`build`](crate::ModelBuilder::build);
    /// when the variable is observed already.
    #[track_caller]
    pub fn condition(&self, name: &str, value: impl Into<Expr>) -> Result<Self, ModelError> {
        let origin = Origin::caller();
        let mut own = format!("{name}_obs");
        while self.nodes.contains_key(&own) {
            own.push('_');
        }
        let spec = ObsSpec {
            target: name.to_owned(),
            value: value.into(),
            missing: Vec::new(),
            likelihood: true,
            weight: None,
            mask: None,
            reduce: Reduce::Sum,
            censoring: None,
            log_jacobian: None,
            joint: false,
        };
        let mut builder = Builder::of(self);
        let obs = builder.obs(&spec).map_err(|mistake| mistake.at(name, &origin))?;
        let mut model = builder.model;
        model.declared.push(own.clone());
        model.nodes.insert(own, Node { origin, kind: Kind::Obs(obs) });
        check_observations(&model)?;
        Ok(model)
    }

    fn with_value(&self, name: &str, value: &Expr, origin: Origin) -> Result<Self, Diagnostic> {
        let unknown = |message: String| Diagnostic::new(Code::UnknownReference, message);
        let shape = match self.nodes.get(name).map(|node| &node.kind) {
            Some(Kind::Rv(rv)) => rv.shape.clone(),
            Some(Kind::Det(value)) => self.graph.shape(*value).clone(),
            Some(Kind::Data(_)) => {
                let help = "give it another value when the model is bound";
                return Err(unknown(format!("`{name}` is data and not a variable")).help(help));
            }
            Some(Kind::Obs(_) | Kind::Potential(_)) => {
                return Err(unknown(format!("`{name}` has no value that could be set")));
            }
            None => {
                let mistake = unknown(format!("nothing is called `{name}`"));
                let names = self.nodes.keys().map(String::as_str);
                return Err(match crate::diagnostic::closest(name, names) {
                    Some(other) => mistake.help(format!("did you mean `{other}`?")),
                    None => mistake,
                });
            }
        };
        let mut builder = Builder::of(self);
        let value = builder.expr(value)?;
        let mut model = builder.model;
        let found = model.graph.shape(value);
        if !found.broadcasts_to(&shape) {
            let message = format!("the value has shape {found}, but `{name}` has shape {shape}");
            return Err(Diagnostic::new(Code::ShapeMismatch, message));
        }
        if model.graph.dependence(value) == Dependence::Parameter {
            let message = "the value depends on a variable of the model";
            let help = "an intervention sets a variable from outside: to a constant, or to data";
            return Err(Diagnostic::new(Code::BadArguments, message).help(help));
        }
        let value = model.graph.broadcast_to(value, &shape);
        self.check_support(name, value, &model)?;
        let names_it = |node: &Node| match &node.kind {
            Kind::Obs(obs) => self.resolve_alias(&obs.target) == name,
            _ => false,
        };
        model.nodes.retain(|_, node| !names_it(node));
        model.declared.retain(|declared| model.nodes.contains_key(declared));
        model.nodes.insert(name.to_owned(), Node { origin, kind: Kind::Det(value) });
        debug_assert_eq!(verify(&model), Ok(()));
        Ok(model)
    }

    /// Refuses constants that the variable's distribution never takes.
    fn check_support(&self, name: &str, value: NodeId, model: &Self) -> Result<(), Diagnostic> {
        let Kind::Rv(rv) = &self.nodes[name].kind else { return Ok(()) };
        let mut scratch = model.graph.clone();
        let inside = rv.dist.holds(&mut scratch, value);
        let inside = crate::support::all(&mut scratch, inside);
        let is_constant = scratch.dependence(inside) == Dependence::Constant;
        if !is_constant || crate::build::holds(&scratch, inside) {
            return Ok(());
        }
        let (family, what) = (rv.dist.name(), rv.dist.support().describe());
        let message =
            format!("the value lies outside of the support of {family}: it must be {what}");
        Err(Diagnostic::new(Code::OutsideSupport, message))
    }
}
