//! A module's parameters <-> named arrays of host data, by the paths of its fields.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{DType, Tensor, TensorData};

use crate::error::Error;

/// An array with its name and shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The path of the parameter.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its elements, row by row.
    pub values: Vec<f32>,
}

/// The shape and the elements of an array that was found by its name.
pub type Found<'a> = (&'a [usize], &'a [f32]);

/// A part of a parameter's name: the kind of a layer is none, the contract knows it.
fn part(name: &str, container: &str) -> Option<String> {
    (!container.starts_with("Enum:")).then(|| name.to_owned())
}

/// The parameters of a module, in the order of its fields.
///
/// # Errors
/// When the device does not give its data.
pub fn arrays<M: Module>(module: &M) -> Result<Vec<Array>, Error> {
    #[derive(Default)]
    struct Collect {
        path: Vec<String>,
        found: Vec<Array>,
        failed: Option<String>,
    }
    impl ModuleVisitor for Collect {
        fn enter_module(&mut self, name: &str, container: &str) {
            self.path.extend(part(name, container));
        }

        fn exit_module(&mut self, name: &str, container: &str) {
            if part(name, container).is_some() {
                self.path.pop();
            }
        }

        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let value = param.val();
            let shape = value.dims().to_vec();
            match value.detach().cast(DType::F32).try_into_vec_as::<f32>() {
                Ok(values) => self.found.push(Array { name: self.path.join("."), shape, values }),
                Err(error) => self.failed = Some(error.to_string()),
            }
        }
    }
    let mut collect = Collect::default();
    module.visit(&mut collect);
    match collect.failed {
        Some(error) => Err(Error::internal(format!("weights cannot be read: {error}"))),
        None => Ok(collect.found),
    }
}

/// The module with the parameters that `find` gives for their names; identities, the device and the
/// number type stay.
///
/// # Errors
/// A parameter that is not found or has another shape, by its name.
pub fn with_arrays<'a, M: Module>(
    module: M,
    find: &dyn Fn(&str) -> Option<Found<'a>>,
) -> Result<M, Error> {
    struct Put<'a, 'b> {
        path: Vec<String>,
        find: &'b dyn Fn(&str) -> Option<Found<'a>>,
        failed: Option<Error>,
    }
    impl ModuleMapper for Put<'_, '_> {
        fn enter_module(&mut self, name: &str, container: &str) {
            self.path.extend(part(name, container));
        }

        fn exit_module(&mut self, name: &str, container: &str) {
            if part(name, container).is_some() {
                self.path.pop();
            }
        }

        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            let name = self.path.join(".");
            let Some((shape, values)) = (self.find)(&name) else {
                self.failed = Some(Error::data(format!("there is no array `{name}`")));
                return param;
            };
            let old = param.val();
            if shape != old.dims() {
                self.failed = Some(Error::data(format!(
                    "array `{name}` has the shape {shape:?}; the architecture needs {:?}",
                    old.dims()
                )));
                return param;
            }
            let data = TensorData::new(values.to_vec(), old.dims());
            let (tracked, lifted) = (old.is_require_grad(), old.is_autodiff());
            let device = if lifted { old.device().inner() } else { old.device() };
            let new = Tensor::<D>::from_data(data, (&device, old.dtype()));
            param.map(|_| {
                let new = if lifted { new.autodiff() } else { new };
                if tracked { new.require_grad() } else { new }
            })
        }
    }
    let mut put = Put { path: Vec::new(), find, failed: None };
    let module = module.map(&mut put);
    put.failed.map_or(Ok(module), Err)
}
