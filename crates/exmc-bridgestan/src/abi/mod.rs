//! Calls from C -> calls of the library: the functions of `include/bridgestan.h`.
//!
//! **Preconditions**, which the header tells C programs and each function relies on:
//! a `bs_model*` comes from [`bs_model_construct`] and was not destructed (null is refused with a
//! message where there is a place for one, and has neither names nor numbers elsewhere); a
//! `bs_rng*` comes from [`bs_rng_construct`] likewise, or is null where the header allows it; texts
//! end with a zero; arrays have as many numbers as [`bs_param_num`] or [`bs_param_unc_num`] tell
//! (Hessians their square) and what is written overlaps nothing else; `error` is null or may be
//! written to. Models and streams may be shared between threads: they have interior locks. No panic
//! leaves a function.

mod image;
mod print;
pub mod r;
mod texts;

use std::ffi::{CString, c_char, c_int, c_uint};

use crate::density::Density;
use crate::model::{Kind, Model};
use crate::stream::Stream;
use texts::{c_text, code, guarded, numbers, places, put, take_back, text};

pub use print::{Callback, set_printer};

/// The version of the interface.
#[unsafe(no_mangle)]
pub static bs_major_version: c_int = 2;
/// See [`bs_major_version`].
#[unsafe(no_mangle)]
pub static bs_minor_version: c_int = 9;
/// See [`bs_major_version`].
#[unsafe(no_mangle)]
pub static bs_patch_version: c_int = 0;

/// A model with its texts as C has them.
pub struct CModel {
    model: Model,
    name: CString,
    info: CString,
    unconstrained_names: CString,
    /// Without and with transformed parameters; each without and with generated quantities.
    names: [[CString; 2]; 2],
}

impl CModel {
    fn new(model: Model) -> Self {
        let names = [false, true]
            .map(|tp| [false, true].map(|gq| c_text(&model.columns.selection(tp, gq).names)));
        Self {
            name: c_text(&model.name),
            info: c_text(&model.info),
            unconstrained_names: c_text(&model.unconstrained_names),
            names,
            model,
        }
    }
}

/// The model behind a pointer.
///
/// # Safety
/// As the module says of `bs_model*`.
unsafe fn model<'a>(model: *const CModel) -> Result<&'a CModel, String> {
    // SAFETY: null, or a live model, which is only ever shared.
    unsafe { model.as_ref() }.ok_or_else(|| "the model is a null pointer".to_owned())
}

/// A text of the model behind a pointer; null for a null model.
///
/// # Safety
/// As the module says of `bs_model*`.
unsafe fn text_of(model: *const CModel, text: impl FnOnce(&CModel) -> &CString) -> *const c_char {
    // SAFETY: null, or a live model, which is only ever shared.
    unsafe { model.as_ref() }.map_or(std::ptr::null(), |c_model| text(c_model).as_ptr())
}

/// Takes back what a constructor gave out.
///
/// # Safety
/// Null, or from `Box::into_raw` and not used any more.
unsafe fn destruct<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: as the caller says.
        drop(unsafe { Box::from_raw(pointer) });
    }
}

/// Runs what a function named `name` does with a model; its return code, with a message for a
/// failure.
///
/// # Safety
/// As the module says of `bs_model*` and `error`.
unsafe fn on_model(
    name: &str,
    handle: *const CModel,
    error: *mut *mut c_char,
    run: impl FnOnce(&Model) -> Result<(), String>,
) -> c_int {
    // SAFETY: a live model, or null.
    let found = || run(&unsafe { model(handle) }?.model);
    // SAFETY: `error` is null or may be written to.
    code(unsafe { guarded(name, error, found) })
}

/// What all functions of densities begin with.
#[derive(Clone, Copy)]
struct Point {
    handle: *const CModel,
    proportional: u8,
    jacobian: u8,
    theta: *const f64,
}

/// Runs what a function named `name` does with a density at a position, and writes the log density
/// that it finds.
///
/// # Safety
/// As the module says of models, arrays and `error`; `value` is null or may be written to.
unsafe fn on_density(
    name: &str,
    point: Point,
    (value, error): (*mut f64, *mut *mut c_char),
    run: impl FnOnce(&Density, &[f64]) -> Result<f64, String>,
) -> c_int {
    let kind = Kind { proportional: point.proportional != 0, jacobian: point.jacobian != 0 };
    let evaluate = |model: &Model| {
        // SAFETY: an array as long as the model's number says.
        let theta = unsafe { numbers(point.theta, model.dim()) }?;
        let logp = run(model.density(kind)?, theta)?;
        // SAFETY: null, or a number that may be written.
        unsafe { put(value, logp) }
    };
    // SAFETY: a model and an `error` as the caller says.
    unsafe { on_model(name, point.handle, error, evaluate) }
}

/// See the header.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_model_construct(
    data: *const c_char,
    seed: c_uint,
    error: *mut *mut c_char,
) -> *mut CModel {
    let construct = || {
        // SAFETY: the data end with a zero and stay as they are during the call.
        let data = unsafe { text(data) }?;
        let made = Model::new(image::program()?, data, seed, &set_printer())?;
        Ok(Box::into_raw(Box::new(CModel::new(made))))
    };
    // SAFETY: `error` is null or may be written to.
    unsafe { guarded("model_construct", error, construct) }.unwrap_or(std::ptr::null_mut())
}

/// See the header.
///
/// # Safety
/// See the module; the model is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_model_destruct(model: *mut CModel) {
    // SAFETY: as the caller says, it was constructed here or is null.
    unsafe { destruct(model) }
}

/// See the header.
///
/// # Safety
/// `error` is null or a message of a function here, which is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_free_error_msg(error: *mut c_char) {
    // SAFETY: as the caller says.
    unsafe { take_back(error) }
}

/// See the header.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_name(model: *const CModel) -> *const c_char {
    // SAFETY: as the caller says.
    unsafe { text_of(model, |c_model| &c_model.name) }
}

/// See the header.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_model_info(model: *const CModel) -> *const c_char {
    // SAFETY: as the caller says.
    unsafe { text_of(model, |c_model| &c_model.info) }
}

/// See the header.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_param_names(
    model: *const CModel,
    transformed: u8,
    generated: u8,
) -> *const c_char {
    let [tp, gq] = [transformed, generated].map(|flag| usize::from(flag != 0));
    // SAFETY: as the caller says.
    unsafe { text_of(model, |c_model| &c_model.names[tp][gq]) }
}

/// See the header.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_param_unc_names(model: *const CModel) -> *const c_char {
    // SAFETY: as the caller says.
    unsafe { text_of(model, |c_model| &c_model.unconstrained_names) }
}

/// See the header.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_param_num(
    handle: *const CModel,
    transformed: u8,
    generated: u8,
) -> c_int {
    // SAFETY: as the caller says.
    let columns = unsafe { model(handle) }.map(|c_model| &c_model.model.columns);
    let n = columns.map_or(0, |c| c.selection(transformed != 0, generated != 0).order.len());
    c_int::try_from(n).unwrap_or(c_int::MAX)
}

/// See the header.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_param_unc_num(handle: *const CModel) -> c_int {
    // SAFETY: as the caller says.
    let n = unsafe { model(handle) }.map_or(0, |c_model| c_model.model.dim());
    c_int::try_from(n).unwrap_or(c_int::MAX)
}

/// See the header.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_param_constrain(
    handle: *const CModel,
    transformed: u8,
    generated: u8,
    theta_unc: *const f64,
    theta: *mut f64,
    rng: *const Stream,
    error: *mut *mut c_char,
) -> c_int {
    let flags = (transformed != 0, generated != 0);
    let constrain = |model: &Model| {
        let n = model.columns.selection(flags.0, flags.1).order.len();
        // SAFETY: arrays as long as the model's numbers say; null, or a live stream.
        let (from, to, rng) =
            unsafe { (numbers(theta_unc, model.dim())?, places(theta, n)?, rng.as_ref()) };
        model.constrain(from, flags, rng, to)
    };
    // SAFETY: as the module says.
    unsafe { on_model("param_constrain", handle, error, constrain) }
}

/// See the header.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_param_unconstrain(
    handle: *const CModel,
    theta: *const f64,
    theta_unc: *mut f64,
    error: *mut *mut c_char,
) -> c_int {
    let unconstrain = |model: &Model| {
        let n = model.columns.selection(false, false).order.len();
        // SAFETY: arrays as long as the model's numbers say.
        let (from, to) = unsafe { (numbers(theta, n)?, places(theta_unc, model.dim())?) };
        model.unconstrain(from, to)
    };
    // SAFETY: as the module says.
    unsafe { on_model("param_unconstrain", handle, error, unconstrain) }
}

/// See the header.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_param_unconstrain_json(
    handle: *const CModel,
    json: *const c_char,
    theta_unc: *mut f64,
    error: *mut *mut c_char,
) -> c_int {
    let unconstrain = |model: &Model| {
        // SAFETY: a text that ends with a zero; an array as long as the model's number says.
        let (json, to) = unsafe { (text(json)?, places(theta_unc, model.dim())?) };
        model.unconstrain_json(json.unwrap_or("{}"), to)
    };
    // SAFETY: as the module says.
    unsafe { on_model("param_unconstrain_json", handle, error, unconstrain) }
}

/// See the header.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_param_initialize(
    handle: *const CModel,
    json: *const c_char,
    rng: *const Stream,
    radius: f64,
    tries: c_int,
    jacobian: u8,
    theta_unc: *mut f64,
    error: *mut *mut c_char,
) -> c_int {
    let initialize = |model: &Model| {
        // SAFETY: null, or a text that ends with a zero; an array as long as the model's number
        // says; null, or a live stream.
        let (json, to, rng) =
            unsafe { (text(json)?, places(theta_unc, model.dim())?, rng.as_ref()) };
        let rng = rng.ok_or("initial values need a stream of random numbers")?;
        let tries = usize::try_from(tries).unwrap_or(0);
        model.initialize(json, rng, (radius, tries, jacobian != 0), to)
    };
    // SAFETY: as the module says.
    unsafe { on_model("param_initialize", handle, error, initialize) }
}

/// See the header.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_log_density(
    handle: *const CModel,
    proportional: u8,
    jacobian: u8,
    theta: *const f64,
    value: *mut f64,
    error: *mut *mut c_char,
) -> c_int {
    let point = Point { handle, proportional, jacobian, theta };
    let evaluate =
        |density: &Density, theta: &[f64]| density.logp_grad(theta, &mut vec![0.0; theta.len()]);
    // SAFETY: as the module says.
    unsafe { on_density("log_density", point, (value, error), evaluate) }
}

/// See the header.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_log_density_gradient(
    handle: *const CModel,
    proportional: u8,
    jacobian: u8,
    theta: *const f64,
    value: *mut f64,
    gradient: *mut f64,
    error: *mut *mut c_char,
) -> c_int {
    let point = Point { handle, proportional, jacobian, theta };
    let evaluate = |density: &Density, theta: &[f64]| {
        // SAFETY: an array as long as the model's number says.
        density.logp_grad(theta, unsafe { places(gradient, theta.len()) }?)
    };
    // SAFETY: as the module says.
    unsafe { on_density("log_density_gradient", point, (value, error), evaluate) }
}

/// See the header.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_log_density_hessian(
    handle: *const CModel,
    proportional: u8,
    jacobian: u8,
    theta: *const f64,
    value: *mut f64,
    gradient: *mut f64,
    hessian: *mut f64,
    error: *mut *mut c_char,
) -> c_int {
    let point = Point { handle, proportional, jacobian, theta };
    let evaluate = |density: &Density, theta: &[f64]| {
        let n = theta.len();
        // SAFETY: arrays as long as the model's number and its square say.
        let (gradient, hessian) = unsafe { (places(gradient, n)?, places(hessian, n * n)?) };
        let logp = density.logp_grad(theta, gradient)?;
        density.hessian(theta, hessian).map(|()| logp)
    };
    // SAFETY: as the module says.
    unsafe { on_density("log_density_hessian", point, (value, error), evaluate) }
}

/// See the header.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_log_density_hessian_vector_product(
    handle: *const CModel,
    proportional: u8,
    jacobian: u8,
    theta: *const f64,
    vector: *const f64,
    value: *mut f64,
    product: *mut f64,
    error: *mut *mut c_char,
) -> c_int {
    let point = Point { handle, proportional, jacobian, theta };
    let evaluate = |density: &Density, theta: &[f64]| {
        let n = theta.len();
        // SAFETY: arrays as long as the model's number says.
        let (vector, product) = unsafe { (numbers(vector, n)?, places(product, n)?) };
        let logp = density.logp_grad(theta, &mut vec![0.0; n])?;
        density.hessian_product(theta, vector, product).map(|()| logp)
    };
    // SAFETY: as the module says.
    unsafe { on_density("log_density_hessian_vector_product", point, (value, error), evaluate) }
}

/// See the header.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_rng_construct(seed: c_uint, error: *mut *mut c_char) -> *mut Stream {
    let construct = || Ok(Box::into_raw(Box::new(Stream::new(seed))));
    // SAFETY: `error` is null or may be written to.
    unsafe { guarded("rng_construct", error, construct) }.unwrap_or(std::ptr::null_mut())
}

/// See the header.
///
/// # Safety
/// See the module; the stream is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_rng_destruct(rng: *mut Stream) {
    // SAFETY: as the caller says, it was constructed here or is null.
    unsafe { destruct(rng) }
}

/// See the header.
///
/// # Safety
/// See the module; `callback` is null, or takes bytes and their number and does not unwind, for as
/// long as models print.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_set_print_callback(
    callback: Option<Callback>,
    error: *mut *mut c_char,
) -> c_int {
    let set = || {
        print::set(callback);
        Ok(())
    };
    // SAFETY: `error` is null or may be written to.
    code(unsafe { guarded("set_print_callback", error, set) })
}
