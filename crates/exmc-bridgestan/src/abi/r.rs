//! Calls from R's `.C`, which hands over addresses of everything -> the functions of C.
//!
//! **Preconditions**: each argument is the address of what the function of the same name without
//! `_R` takes or returns, and lives during the call; those of [`super`] hold for what lies there.
//! `.C` has no results: a function of R ends with the places of its return code, of the message,
//! which R sees as a text, and of the message's address, which R hands back to have it freed.

use std::ffi::{c_char, c_int, c_void};

use super::CModel;
use crate::stream::Stream;

/// Arguments as R hands them over: of a flag, of numbers to read and to write, of a pointer.
type Flag = *const c_int;
/// See [`Flag`].
type Numbers = *const f64;
/// See [`Flag`].
type Places = *mut f64;
/// See [`Flag`].
type Pointer<T> = *mut *mut T;

/// Where a message goes: its address is that of the text.
///
/// # Safety
/// Both may be written to and `text` read.
unsafe fn tell(text: Pointer<c_char>, address: Pointer<c_void>) {
    // SAFETY: as the caller says.
    unsafe { *address = (*text).cast() }
}

/// A flag as C has it.
///
/// # Safety
/// It may be read.
unsafe fn flag(value: Flag) -> u8 {
    // SAFETY: as the caller says.
    u8::from(unsafe { *value } != 0)
}

/// Functions for `.C` from their arguments and what they do.
macro_rules! for_r {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => { $(
        /// See the function without `_R`.
        ///
        /// # Safety
        /// See the module.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) {
            // SAFETY: as the module says.
            unsafe { $body }
        }
    )* };
}

/// The same of functions that may fail: `error` is the place of the message, and the last three
/// arguments are added.
macro_rules! fallible_for_r {
    ($(fn $name:ident($($argument:ident: $type:ty),*; $error:ident) $call:block)*) => {
        for_r! { $(
            fn $name(
                $($argument: $type,)*
                code: *mut c_int,
                $error: Pointer<c_char>,
                address: Pointer<c_void>,
            ) {
                *code = $call;
                tell($error, address);
            }
        )* }
    };
}

for_r! {
    fn bs_version_R(major: *mut c_int, minor: *mut c_int, patch: *mut c_int) {
        *major = super::bs_major_version;
        *minor = super::bs_minor_version;
        *patch = super::bs_patch_version;
    }

    fn bs_model_construct_R(
        data: Pointer<c_char>,
        seed: *const c_int,
        out: Pointer<CModel>,
        error: Pointer<c_char>,
        address: Pointer<c_void>,
    ) {
        *out = super::bs_model_construct(*data, (*seed).cast_unsigned(), error);
        tell(error, address);
    }

    fn bs_model_destruct_R(model: Pointer<CModel>) {
        super::bs_model_destruct(*model);
    }

    fn bs_free_error_msg_R(error: Pointer<c_void>) {
        super::bs_free_error_msg((*error).cast());
    }

    fn bs_name_R(model: Pointer<CModel>, out: *mut *const c_char) {
        *out = super::bs_name(*model);
    }

    fn bs_model_info_R(model: Pointer<CModel>, out: *mut *const c_char) {
        *out = super::bs_model_info(*model);
    }

    fn bs_param_names_R(
        model: Pointer<CModel>,
        transformed: Flag,
        generated: Flag,
        out: *mut *const c_char,
    ) {
        *out = super::bs_param_names(*model, flag(transformed), flag(generated));
    }

    fn bs_param_unc_names_R(model: Pointer<CModel>, out: *mut *const c_char) {
        *out = super::bs_param_unc_names(*model);
    }

    fn bs_param_num_R(
        model: Pointer<CModel>,
        transformed: Flag,
        generated: Flag,
        out: *mut c_int,
    ) {
        *out = super::bs_param_num(*model, flag(transformed), flag(generated));
    }

    fn bs_param_unc_num_R(model: Pointer<CModel>, out: *mut c_int) {
        *out = super::bs_param_unc_num(*model);
    }

    fn bs_rng_construct_R(
        seed: *const c_int,
        out: Pointer<Stream>,
        error: Pointer<c_char>,
        address: Pointer<c_void>,
    ) {
        *out = super::bs_rng_construct((*seed).cast_unsigned(), error);
        tell(error, address);
    }

    fn bs_rng_destruct_R(rng: Pointer<Stream>) {
        super::bs_rng_destruct(*rng);
    }
}

fallible_for_r! {
    fn bs_param_constrain_R(
        model: Pointer<CModel>,
        transformed: Flag,
        generated: Flag,
        theta_unc: Numbers,
        theta: Places,
        rng: Pointer<Stream>;
        error
    ) {
        let (tp, gq) = (flag(transformed), flag(generated));
        super::bs_param_constrain(*model, tp, gq, theta_unc, theta, *rng, error)
    }

    fn bs_param_unconstrain_R(
        model: Pointer<CModel>,
        theta: Numbers,
        theta_unc: Places;
        error
    ) {
        super::bs_param_unconstrain(*model, theta, theta_unc, error)
    }

    fn bs_param_unconstrain_json_R(
        model: Pointer<CModel>,
        json: *const *const c_char,
        theta_unc: Places;
        error
    ) {
        super::bs_param_unconstrain_json(*model, *json, theta_unc, error)
    }
}

/// The same of densities: what stands before the brackets comes first in all of them.
macro_rules! densities_for_r {
    ($($name:ident => $function:ident($($argument:ident: $type:ty),*);)*) => {
        fallible_for_r! { $(
            fn $name(
                model: Pointer<CModel>,
                proportional: Flag,
                jacobian: Flag,
                theta: Numbers,
                $($argument: $type),*;
                error
            ) {
                let (propto, jacobian) = (flag(proportional), flag(jacobian));
                super::$function(*model, propto, jacobian, theta, $($argument,)* error)
            }
        )* }
    };
}

densities_for_r! {
    bs_log_density_R => bs_log_density(value: Places);
    bs_log_density_gradient_R => bs_log_density_gradient(value: Places, gradient: Places);
    bs_log_density_hessian_R
        => bs_log_density_hessian(value: Places, gradient: Places, hessian: Places);
    bs_log_density_hessian_vector_product_R
        => bs_log_density_hessian_vector_product(vector: Numbers, value: Places, product: Places);
}
