//! Calls from R's `.C`, which hands over addresses of everything -> the functions of C.
//!
//! **Preconditions**: each argument is the address of what the function of the same name without
//! `_R` takes or returns, and lives during the call; those of [`super`] hold for what lies there.

use std::ffi::{c_char, c_int, c_void};

use super::CModel;
use crate::stream::Stream;

/// Where a message goes: R sees it as a text, and hands its address back to be freed.
///
/// # Safety
/// Both may be written to and `text` read.
unsafe fn tell(text: *mut *mut c_char, address: *mut *mut c_void) {
    // SAFETY: as the caller says.
    unsafe { *address = (*text).cast() }
}

/// A flag as C has it.
fn flag(value: c_int) -> u8 {
    u8::from(value != 0)
}

/// See the function without `_R`.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_model_construct_R(
    data: *mut *mut c_char,
    seed: *const c_int,
    out: *mut *mut CModel,
    error: *mut *mut c_char,
    address: *mut *mut c_void,
) {
    // SAFETY: as the module says.
    unsafe {
        *out = super::bs_model_construct(*data, (*seed).cast_unsigned(), error);
        tell(error, address);
    }
}

/// See the function without `_R`.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_version_R(major: *mut c_int, minor: *mut c_int, patch: *mut c_int) {
    // SAFETY: as the module says.
    unsafe {
        *major = super::bs_major_version;
        *minor = super::bs_minor_version;
        *patch = super::bs_patch_version;
    }
}

/// See the function without `_R`.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_model_destruct_R(model: *mut *mut CModel) {
    // SAFETY: as the module says.
    unsafe {
        super::bs_model_destruct(*model);
    }
}

/// See the function without `_R`.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_free_error_msg_R(error: *mut *mut c_void) {
    // SAFETY: as the module says.
    unsafe {
        super::bs_free_error_msg((*error).cast());
    }
}

/// See the function without `_R`.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_name_R(model: *mut *mut CModel, out: *mut *const c_char) {
    // SAFETY: as the module says.
    unsafe {
        *out = super::bs_name(*model);
    }
}

/// See the function without `_R`.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_model_info_R(model: *mut *mut CModel, out: *mut *const c_char) {
    // SAFETY: as the module says.
    unsafe {
        *out = super::bs_model_info(*model);
    }
}

/// See the function without `_R`.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_param_unc_names_R(model: *mut *mut CModel, out: *mut *const c_char) {
    // SAFETY: as the module says.
    unsafe {
        *out = super::bs_param_unc_names(*model);
    }
}

/// See the function without `_R`.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_param_names_R(
    model: *mut *mut CModel,
    transformed: *const c_int,
    generated: *const c_int,
    out: *mut *const c_char,
) {
    // SAFETY: as the module says.
    unsafe {
        *out = super::bs_param_names(*model, flag(*transformed), flag(*generated));
    }
}

/// See the function without `_R`.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_param_num_R(
    model: *mut *mut CModel,
    transformed: *const c_int,
    generated: *const c_int,
    out: *mut c_int,
) {
    // SAFETY: as the module says.
    unsafe {
        *out = super::bs_param_num(*model, flag(*transformed), flag(*generated));
    }
}

/// See the function without `_R`.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_param_unc_num_R(model: *mut *mut CModel, out: *mut c_int) {
    // SAFETY: as the module says.
    unsafe {
        *out = super::bs_param_unc_num(*model);
    }
}

/// See the function without `_R`.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_param_constrain_R(
    model: *mut *mut CModel,
    transformed: *const c_int,
    generated: *const c_int,
    theta_unc: *const f64,
    theta: *mut f64,
    rng: *mut *mut Stream,
    code: *mut c_int,
    error: *mut *mut c_char,
    address: *mut *mut c_void,
) {
    // SAFETY: as the module says.
    unsafe {
        let (tp, gq) = (flag(*transformed), flag(*generated));
        *code = super::bs_param_constrain(*model, tp, gq, theta_unc, theta, *rng, error);
        tell(error, address);
    }
}

/// See the function without `_R`.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_param_unconstrain_R(
    model: *mut *mut CModel,
    theta: *const f64,
    theta_unc: *mut f64,
    code: *mut c_int,
    error: *mut *mut c_char,
    address: *mut *mut c_void,
) {
    // SAFETY: as the module says.
    unsafe {
        *code = super::bs_param_unconstrain(*model, theta, theta_unc, error);
        tell(error, address);
    }
}

/// See the function without `_R`.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_param_unconstrain_json_R(
    model: *mut *mut CModel,
    json: *const *const c_char,
    theta_unc: *mut f64,
    code: *mut c_int,
    error: *mut *mut c_char,
    address: *mut *mut c_void,
) {
    // SAFETY: as the module says.
    unsafe {
        *code = super::bs_param_unconstrain_json(*model, *json, theta_unc, error);
        tell(error, address);
    }
}

/// See the function without `_R`.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_log_density_R(
    model: *mut *mut CModel,
    proportional: *const c_int,
    jacobian: *const c_int,
    theta: *const f64,
    value: *mut f64,
    code: *mut c_int,
    error: *mut *mut c_char,
    address: *mut *mut c_void,
) {
    // SAFETY: as the module says.
    unsafe {
        let (propto, jacobian) = (flag(*proportional), flag(*jacobian));
        *code = super::bs_log_density(*model, propto, jacobian, theta, value, error);
        tell(error, address);
    }
}

/// See the function without `_R`.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_log_density_gradient_R(
    model: *mut *mut CModel,
    proportional: *const c_int,
    jacobian: *const c_int,
    theta: *const f64,
    value: *mut f64,
    gradient: *mut f64,
    code: *mut c_int,
    error: *mut *mut c_char,
    address: *mut *mut c_void,
) {
    // SAFETY: as the module says.
    unsafe {
        let (propto, jacobian) = (flag(*proportional), flag(*jacobian));
        *code =
            super::bs_log_density_gradient(*model, propto, jacobian, theta, value, gradient, error);
        tell(error, address);
    }
}

/// See the function without `_R`.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_log_density_hessian_R(
    model: *mut *mut CModel,
    proportional: *const c_int,
    jacobian: *const c_int,
    theta: *const f64,
    value: *mut f64,
    gradient: *mut f64,
    hessian: *mut f64,
    code: *mut c_int,
    error: *mut *mut c_char,
    address: *mut *mut c_void,
) {
    // SAFETY: as the module says.
    unsafe {
        let (propto, jacobian) = (flag(*proportional), flag(*jacobian));
        *code = super::bs_log_density_hessian(
            *model, propto, jacobian, theta, value, gradient, hessian, error,
        );
        tell(error, address);
    }
}

/// See the function without `_R`.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_log_density_hessian_vector_product_R(
    model: *mut *mut CModel,
    proportional: *const c_int,
    jacobian: *const c_int,
    theta: *const f64,
    vector: *const f64,
    value: *mut f64,
    product: *mut f64,
    code: *mut c_int,
    error: *mut *mut c_char,
    address: *mut *mut c_void,
) {
    // SAFETY: as the module says.
    unsafe {
        let (propto, jacobian) = (flag(*proportional), flag(*jacobian));
        *code = super::bs_log_density_hessian_vector_product(
            *model, propto, jacobian, theta, vector, value, product, error,
        );
        tell(error, address);
    }
}

/// See the function without `_R`.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_rng_construct_R(
    seed: *const c_int,
    out: *mut *mut Stream,
    error: *mut *mut c_char,
    address: *mut *mut c_void,
) {
    // SAFETY: as the module says.
    unsafe {
        *out = super::bs_rng_construct((*seed).cast_unsigned(), error);
        tell(error, address);
    }
}

/// See the function without `_R`.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_rng_destruct_R(rng: *mut *mut Stream) {
    // SAFETY: as the module says.
    unsafe {
        super::bs_rng_destruct(*rng);
    }
}
