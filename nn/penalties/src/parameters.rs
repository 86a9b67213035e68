//! A module's float parameters one after another: path, identity, elements in one axis.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamGroup, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;

use crate::primitive::flatten;

/// One parameter, its elements in one axis. It shares the module's graph.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) path: String,
    pub(crate) id: ParamId,
    pub(crate) flat: Tensor<1>,
    pub(crate) dims: Vec<usize>,
}

impl Parameter {
    pub(crate) fn is_in(&self, group: &ParamGroup) -> bool {
        group.matches(&self.id, Some(&self.path))
    }
}

/// All float parameters in the order of the module's fields.
pub(crate) fn parameters<M: Module>(module: &M) -> Vec<Parameter> {
    struct Collect {
        path: Vec<String>,
        found: Vec<Parameter>,
    }
    impl ModuleVisitor for Collect {
        fn enter_module(&mut self, name: &str, _container_type: &str) {
            self.path.push(name.to_owned());
        }

        fn exit_module(&mut self, _name: &str, _container_type: &str) {
            self.path.pop();
        }

        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let value = param.val();
            self.found.push(Parameter {
                path: self.path.join("."),
                id: param.id,
                dims: value.dims().to_vec(),
                flat: flatten(value),
            });
        }
    }
    let mut collect = Collect { path: Vec::new(), found: Vec::new() };
    module.visit(&mut collect);
    collect.found
}

/// The module with each parameter that `change` gives new elements for; the rest keeps its bits.
///
/// `change` gets parameters without a graph. A parameter stays trainable if it was.
pub(crate) fn replace<M: Module>(
    module: M,
    change: &mut dyn FnMut(&Parameter) -> Option<Tensor<1>>,
) -> M {
    struct Replace<'a> {
        path: Vec<String>,
        change: &'a mut dyn FnMut(&Parameter) -> Option<Tensor<1>>,
    }
    impl ModuleMapper for Replace<'_> {
        fn enter_module(&mut self, name: &str, _container_type: &str) {
            self.path.push(name.to_owned());
        }

        fn exit_module(&mut self, _name: &str, _container_type: &str) {
            self.path.pop();
        }

        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            let value = param.val();
            let (tracked, lifted) = (value.is_require_grad(), value.is_autodiff());
            let inner = value.inner();
            let dims = inner.dims();
            let parameter = Parameter {
                path: self.path.join("."),
                id: param.id,
                dims: dims.to_vec(),
                flat: flatten(inner),
            };
            let Some(flat) = (self.change)(&parameter) else { return param };
            param.map(|_| {
                let new = flat.reshape(dims);
                let new = if lifted { new.autodiff() } else { new };
                if tracked { new.require_grad() } else { new }
            })
        }
    }
    module.map(&mut Replace { path: Vec::new(), change })
}

/// A parameter without a graph and its gradient, both with elements in one axis.
#[derive(Clone, Debug)]
pub(crate) struct Slope {
    pub(crate) parameter: Parameter,
    pub(crate) gradient: Tensor<1>,
}

/// The gradients with `change` applied to all of them at once. Parameters without one stay without.
pub(crate) fn with_gradients<M: Module>(
    module: &M,
    mut gradients: GradientsParams,
    change: &mut dyn FnMut(&mut [Slope]),
) -> GradientsParams {
    struct Take<'a> {
        path: Vec<String>,
        from: &'a mut GradientsParams,
        taken: Vec<Slope>,
    }
    impl ModuleVisitor for Take<'_> {
        fn enter_module(&mut self, name: &str, _container_type: &str) {
            self.path.push(name.to_owned());
        }

        fn exit_module(&mut self, _name: &str, _container_type: &str) {
            self.path.pop();
        }

        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if let Some(gradient) = self.from.remove::<D>(param.id) {
                let value = param.val().inner();
                self.taken.push(Slope {
                    parameter: Parameter {
                        path: self.path.join("."),
                        id: param.id,
                        dims: value.dims().to_vec(),
                        flat: flatten(value),
                    },
                    gradient: flatten(gradient.inner()),
                });
            }
        }
    }
    struct Put<'a> {
        into: &'a mut GradientsParams,
        taken: std::vec::IntoIter<Slope>,
    }
    impl ModuleVisitor for Put<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if self.taken.as_slice().first().is_some_and(|next| next.parameter.id == param.id)
                && let Some(slope) = self.taken.next()
            {
                let gradient: Tensor<D> = slope.gradient.reshape(param.val().dims());
                self.into.register(param.id, gradient);
            }
        }
    }
    let mut take = Take { path: Vec::new(), from: &mut gradients, taken: Vec::new() };
    module.visit(&mut take);
    let mut taken = take.taken;
    change(&mut taken);
    module.visit(&mut Put { into: &mut gradients, taken: taken.into_iter() });
    gradients
}
