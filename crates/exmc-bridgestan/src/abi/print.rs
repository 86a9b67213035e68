//! Lines that a program prints -> the function that a client set, or standard output.

use std::ffi::c_char;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use exmc::stan::Printer;

/// What a client sets: takes the bytes of a text and their number.
pub type Callback = unsafe extern "C" fn(*const c_char, usize);

static CALLBACK: Mutex<Option<Callback>> = Mutex::new(None);

/// Held while a line is written, so that a callback never runs on two threads.
static WRITING: Mutex<()> = Mutex::new(());

/// Replaces the function that lines go to.
pub(super) fn set(callback: Option<Callback>) {
    *CALLBACK.lock().unwrap_or_else(PoisonError::into_inner) = callback;
}

/// What models print with.
pub fn set_printer() -> Printer {
    Printer::new(|line| {
        let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        let callback = *CALLBACK.lock().unwrap_or_else(PoisonError::into_inner);
        match callback {
            Some(callback) => [line, "\n"].into_iter().for_each(|text| {
                // SAFETY: whoever set the function promised that it takes the bytes of a text and
                // their number and does not unwind (`bs_set_print_callback`); the text lives until
                // it returns, and the lock above keeps other threads out.
                unsafe { callback(text.as_ptr().cast(), text.len()) };
            }),
            None => {
                let mut out = std::io::stdout().lock();
                // Nobody is there to tell that standard output is closed.
                let _ = writeln!(out, "{line}").and_then(|()| out.flush());
            }
        }
    })
}
