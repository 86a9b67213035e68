//! Models -> models with a variable fixed by intervention, or with one more observation.
//!
//! An intervention $\mathrm{do}(x=v)$ cuts a variable off from what it depends on: its
//! distribution leaves the joint density and everything below it sees $v$. Conditioning keeps the
//! distribution and adds its likelihood, so that what lies above learns from $v$.
//!
//! **Reference**: Pearl 2009, Causality, section 3.2.

use exmc_graph::{DType, Dependence, NodeId, Role, Shape};

use crate::build::Builder;
use crate::build::check_observations;
use crate::diagnostic::{Code, Diagnostic, ModelError, Origin};
use crate::expr::Expr;
use crate::model::{Data, Kind, Model, Node, Obs};
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
        let mut observation_name = format!("{name}_obs");
        while self.nodes.contains_key(&observation_name) {
            observation_name.push('_');
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
        model.declared.push(observation_name.clone());
        model.nodes.insert(observation_name, Node { origin, kind: Kind::Obs(obs) });
        check_observations(&model)?;
        Ok(model)
    }

    /// The model with the values of all its observations still to come: each becomes data, named
    /// as the second part says, with the target whose draws of the joint prior have its shape.
    ///
    /// ```
    /// use exmc_model::{ModelBuilder, distributions::normal};
    /// let mut model = ModelBuilder::new();
    /// model.rv("mu", normal(0, 1));
    /// model.rv("y", normal("mu", 1));
    /// model.observe("y_obs", "y", 2.5);
    /// let (open, observed) = model.build()?.with_open_observations()?;
    /// assert_eq!(observed, [("y".to_owned(), "y_obs_simulated".to_owned())]);
    /// assert!(open.data().any(|(name, data)| name == "y_obs_simulated" && data.value.is_none()));
    /// # Ok::<(), exmc_model::ModelError>(())
    /// ```
    ///
    /// # Errors
    /// For what the joint prior says nothing of: a potential; an observation that is weighted,
    /// masked, censored, partly missing, or has a Jacobian of the caller's.
    pub fn with_open_observations(&self) -> Result<(Self, Vec<(String, String)>), ModelError> {
        let (mut model, mut observed, mut mistakes) = (self.clone(), Vec::new(), Vec::new());
        for (name, node) in &self.nodes {
            let refuse = |what: &str| {
                let message = format!("{what}, of which the joint prior says nothing");
                Diagnostic::new(Code::BadObservation, message)
                    .help("data can be simulated of a model of whole observations")
                    .at(name, &node.origin)
            };
            let obs = match &node.kind {
                Kind::Obs(obs) => obs,
                Kind::Potential(_) => {
                    mistakes.push(refuse("this adds a factor to the density"));
                    continue;
                }
                _ => continue,
            };
            let part = [
                (!obs.missing.is_empty(), "the observation is partly missing"),
                (obs.weight.is_some(), "the observation is weighted"),
                (obs.mask.is_some(), "the observation is masked"),
                (obs.censoring.is_some(), "the observation is censored"),
                (obs.log_jacobian.is_some(), "the observation has a Jacobian of its own"),
            ];
            if let Some((_, what)) = part.iter().find(|(is, _)| *is) {
                mistakes.push(refuse(what));
                continue;
            }
            let target = self.resolve_alias(&obs.target);
            let (Some(shape), dtype) = (self.shape_of(target), self.graph.node(obs.value).dtype)
            else {
                mistakes.push(refuse("the observation is of no variable"));
                continue;
            };
            let mut data_name = format!("{name}_simulated");
            while self.nodes.contains_key(&data_name) {
                data_name.push('_');
            }
            let dtype = match self.nodes.get(target).map(|node| &node.kind) {
                Some(Kind::Rv(rv)) if rv.dist.support().is_discrete() => DType::Int,
                Some(Kind::Rv(_)) => DType::Real,
                _ => dtype,
            };
            let shape = shape.clone();
            let input = model.graph.input(&data_name, Role::Data, shape.clone(), dtype);
            let Ok(value) = input else { continue };
            let open = Obs { value, ..obs.clone() };
            let kind = Kind::Obs(open);
            model.nodes.insert(name.clone(), Node { origin: node.origin.clone(), kind });
            let kind = Kind::Data(Data { dtype, shape, value: None });
            model.nodes.insert(data_name.clone(), Node { origin: node.origin.clone(), kind });
            model.declared.insert(0, data_name.clone());
            observed.push((obs.target.clone(), data_name));
        }
        ModelError::check(mistakes)?;
        debug_assert_eq!(verify(&model), Ok(()));
        Ok((model, observed))
    }

    /// The model with a mask for each observation that is still to come: by observed variable the
    /// name of the data that hold it, 1 for an outcome that counts and 0 for one that does not.
    /// What an observation had as a mask before is to be part of it.
    ///
    /// # Errors
    /// For an observation whose outcomes cannot be told apart: one of a matrix image, or whose
    /// elements are averaged.
    pub fn with_open_masks(&self) -> Result<(Self, Vec<(String, String)>), ModelError> {
        let (mut model, mut masks, mut mistakes) = (self.clone(), Vec::new(), Vec::new());
        for (name, node) in &self.nodes {
            let Kind::Obs(obs) = &node.kind else { continue };
            let target = self.resolve_alias(&obs.target);
            let shape = match self.nodes.get(target).map(|node| &node.kind) {
                Some(Kind::Rv(rv)) => {
                    let rank = rv.shape.rank() - rv.dist.event_rank();
                    Some(Shape::from(&rv.shape.extents()[..rank]))
                }
                _ => self.shape_of(target).cloned(),
            };
            let is_apart = !obs.joint && obs.reduce == Reduce::Sum;
            let Some(shape) = shape.filter(|_| is_apart) else {
                let message = "the outcomes of this observation cannot be left out one by one";
                let mistake = Diagnostic::new(Code::BadObservation, message);
                mistakes.push(mistake.at(name, &node.origin));
                continue;
            };
            let mut mask_name = format!("{name}_kept");
            while self.nodes.contains_key(&mask_name) {
                mask_name.push('_');
            }
            let input = model.graph.input(&mask_name, Role::Data, shape.clone(), DType::Int);
            let Ok(mask) = input else { continue };
            let kind = Kind::Obs(Obs { mask: Some(mask), ..obs.clone() });
            model.nodes.insert(name.clone(), Node { origin: node.origin.clone(), kind });
            let kind = Kind::Data(Data { dtype: DType::Int, shape, value: None });
            model.nodes.insert(mask_name.clone(), Node { origin: node.origin.clone(), kind });
            model.declared.insert(0, mask_name.clone());
            masks.push((target.to_owned(), mask_name));
        }
        ModelError::check(mistakes)?;
        debug_assert_eq!(verify(&model), Ok(()));
        Ok((model, masks))
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
