//! What calls from C hand over and get back: texts, numbers, errors.

use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A text for C; bytes that C cannot hold are left out.
pub(super) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

/// Runs what a function named `name` does; a failure is written to `error`, and so is a panic.
///
/// # Safety
/// `error` is null or may be written to.
pub(super) unsafe fn guarded<T>(
    name: &str,
    error: *mut *mut c_char,
    run: impl FnOnce() -> Result<T, String>,
) -> Option<T> {
    let message = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(value)) => return Some(value),
        Ok(Err(message)) => message,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            format!("this is a fault of exmc: {}", text.unwrap_or("it has no words"))
        }
    };
    if !error.is_null() {
        let text = c_text(&format!("{name}: {message}")).into_raw();
        // SAFETY: the caller says that it may be written to.
        unsafe { *error = text };
    }
    None
}

/// The return code of a function that has no other result.
pub(super) fn code(done: Option<()>) -> c_int {
    if done.is_some() { 0 } else { -1 }
}

/// Takes back a text that [`guarded`] gave out.
///
/// # Safety
/// `text` is null, or comes from [`guarded`] and was not taken back before.
pub(super) unsafe fn take_back(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: by the caller's promise it came from `CString::into_raw`.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// A text that C hands over; nothing for null.
///
/// # Errors
/// When it is no UTF-8.
///
/// # Safety
/// `text` is null, or ends with a zero and is not changed while the result lives.
pub(super) unsafe fn text<'a>(text: *const c_char) -> Result<Option<&'a str>, String> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: by the caller's promise it ends with a zero and stays as it is.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|_| "the text that was handed over is not UTF-8".to_owned())
}

/// Numbers that C hands over.
///
/// # Errors
/// For null, where there should be some.
///
/// # Safety
/// `first` is null or the first of `n` numbers that are not changed while the result lives.
pub(super) unsafe fn numbers<'a>(first: *const f64, n: usize) -> Result<&'a [f64], String> {
    match (n, first.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => Err(format!("{n} numbers are needed and a null pointer was handed over")),
        // SAFETY: by the caller's promise these are `n` numbers that stay as they are.
        (_, false) => Ok(unsafe { std::slice::from_raw_parts(first, n) }),
    }
}

/// Numbers that C wants to have written.
///
/// # Errors
/// As [`numbers`].
///
/// # Safety
/// `first` is null or the first of `n` numbers that nobody else reads or writes while the result
/// lives.
pub(super) unsafe fn places<'a>(first: *mut f64, n: usize) -> Result<&'a mut [f64], String> {
    match (n, first.is_null()) {
        (0, _) => Ok(&mut []),
        (_, true) => Err(format!("{n} numbers are to be written to a null pointer")),
        // SAFETY: by the caller's promise these are `n` numbers that are ours while we write.
        (_, false) => Ok(unsafe { std::slice::from_raw_parts_mut(first, n) }),
    }
}

/// Writes one number.
///
/// # Errors
/// For null.
///
/// # Safety
/// `place` is null or may be written to.
pub(super) unsafe fn put(place: *mut f64, value: f64) -> Result<(), String> {
    // SAFETY: as the caller says.
    unsafe { places(place, 1) }.map(|slot| slot[0] = value)
}
