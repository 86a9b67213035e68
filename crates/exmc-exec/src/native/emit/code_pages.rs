//! Executable memory: machine code -> pages that the processor may run, where the system allows it.
//!
//! Pages are written first and made executable then, never both.
#![expect(unsafe_code, reason = "the system's calls for memory cannot be made otherwise")]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use crate::native::run::block::{Position, Results};

unsafe extern "C" {
    fn mmap(
        address: *mut c_void,
        len: usize,
        allow: c_int,
        how: c_int,
        file: c_int,
        from: i64,
    ) -> *mut c_void;
    fn mprotect(address: *mut c_void, len: usize, allow: c_int) -> c_int;
    fn munmap(address: *mut c_void, len: usize) -> c_int;
}

/// Linux's numbers for what is allowed and for memory of no file.
const READ: c_int = 1;
const WRITE: c_int = 2;
const EXECUTE: c_int = 4;
const PRIVATE_ANONYMOUS: c_int = 0x22;

/// Pages with machine code, until they are dropped.
#[derive(Debug)]
pub(in crate::native) struct Pages {
    first: NonNull<u8>,
    len: usize,
}

// SAFETY: nobody writes to the pages once they are made.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    /// Pages with this code; nothing where the system refuses.
    pub(super) fn new(code: &[u8]) -> Option<Self> {
        let len = code.len().max(1);
        // SAFETY: asks for fresh memory anywhere.
        let first =
            unsafe { mmap(std::ptr::null_mut(), len, READ | WRITE, PRIVATE_ANONYMOUS, -1, 0) };
        if first.addr() == usize::MAX {
            return None;
        }
        let pages = Self { first: NonNull::new(first.cast())?, len };
        // SAFETY: the memory is fresh, writable and long enough; then it is ours to make
        // executable.
        let refused = unsafe {
            std::ptr::copy_nonoverlapping(code.as_ptr(), pages.first.as_ptr(), code.len());
            mprotect(first, len, READ | EXECUTE)
        };
        (refused == 0).then_some(pages)
    }

    pub(super) fn first(&self) -> *const u8 {
        self.first.as_ptr().cast_const()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the memory is that of `mmap`. A failure leaves it mapped, which harms nobody.
        unsafe { munmap(self.first.as_ptr().cast(), self.len) };
    }
}

impl Pages {
    /// Runs the function of a flow that begins there, on a coupled vector and its slope of as many
    /// numbers as it has.
    ///
    /// # Safety
    /// As for [`Self::run`]; both slices are as long as the code was made for.
    #[inline]
    pub(in crate::native) unsafe fn run_flow(&self, entry: usize, x: &[f64], dx: &mut [f64]) {
        // SAFETY: as below; it also reads numbers of the vector and writes such of the slope.
        unsafe {
            let code = self.first().add(entry);
            std::mem::transmute::<*const u8, extern "sysv64" fn(*const f64, *mut f64)>(code)(
                x.as_ptr(),
                dx.as_mut_ptr(),
            );
        }
    }

    /// Runs the function that begins there, which was emitted for memory that nobody else refers to
    /// meanwhile; of a loop, for a block's first byte, its bytes, and whether a vector that is not
    /// whole comes behind them.
    ///
    /// # Safety
    /// An `Emitter` gave `entry` for these pages; the frame whose program it emitted lives, and so
    /// do its packed data, and nothing else refers to the elements that the program writes.
    #[inline]
    pub(in crate::native) unsafe fn run(
        &self,
        entry: usize,
        first: usize,
        bytes: usize,
        rest: bool,
    ) {
        // SAFETY: the code follows the platform's convention and touches only places of the frame
        // that the caller vouches for, each inside of its region with all its elements, as `verify`
        // has checked.
        unsafe {
            let code = self.first().add(entry);
            std::mem::transmute::<*const u8, extern "sysv64" fn(usize, usize, usize)>(code)(
                first,
                bytes,
                usize::from(rest),
            );
        }
    }

    /// Runs the function of a whole program that begins there.
    ///
    /// # Safety
    /// As for [`Self::run`].
    #[inline]
    pub(in crate::native) unsafe fn run_whole(
        &self,
        entry: usize,
        position: &Position,
        results: &Results,
    ) {
        // SAFETY: as above; it also reads elements of the position and writes elements of the
        // results that the program's inputs and outputs name, and these have been checked for all
        // of them.
        unsafe {
            let code = self.first().add(entry);
            std::mem::transmute::<*const u8, extern "sysv64" fn(*const f64, *mut f64)>(code)(
                position.first(),
                results.first(),
            );
        }
    }
}
