//! The file that this library was loaded from -> the program behind it, read while it is loaded.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::OnceLock;

use exmc_cmdstan::program::Payload;

/// What the loader tells of an address, as `dlfcn.h` has it.
#[repr(C)]
struct DlInfo {
    file_name: *const c_char,
    file_base: *mut c_void,
    symbol_name: *const c_char,
    symbol_address: *mut c_void,
}

unsafe extern "C" {
    fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
}

/// The program behind the library, or why there is none.
static PROGRAM: OnceLock<Result<Payload, String>> = OnceLock::new();

/// The program behind this library.
///
/// # Errors
/// When there is none, or it cannot be read.
pub(super) fn program() -> Result<&'static Payload, String> {
    PROGRAM.get_or_init(read).as_ref().map_err(Clone::clone)
}

/// Clients may delete the library's file once it is loaded, so it is read then.
extern "C" fn at_load() {
    // A panic must not reach the loader; what is wrong is told when a model is constructed.
    let _ = std::panic::catch_unwind(|| _ = PROGRAM.get_or_init(read));
}

// SAFETY: the loader calls the functions of this section, without arguments that `at_load` reads,
// once the library's relocations are done and before any function of it is looked up.
#[used]
#[cfg_attr(not(target_os = "macos"), unsafe(link_section = ".init_array"))]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
static AT_LOAD: extern "C" fn() = at_load;

fn read() -> Result<Payload, String> {
    let file = own_file().ok_or("the loader does not know the file of this library")?;
    let shown = file.display();
    match Payload::read_from(&file) {
        Ok(Some(payload)) => Ok(payload),
        Ok(None) => Err(format!(
            "`{shown}` has no program behind it: make a model library with `make NAME_model.so` in \
             the folder that `exmc bridgestan install` made"
        )),
        Err(error) => Err(format!("cannot read the program behind `{shown}`: {error}")),
    }
}

/// The file that the loader took this library from.
fn own_file() -> Option<PathBuf> {
    let mut info = DlInfo {
        file_name: std::ptr::null(),
        file_base: std::ptr::null_mut(),
        symbol_name: std::ptr::null(),
        symbol_address: std::ptr::null_mut(),
    };
    let address = (&raw const AT_LOAD).cast::<c_void>();
    // SAFETY: `info` is a live `Dl_info`, which the function only writes to; any address may be
    // asked for.
    let found = unsafe { dladdr(address, &raw mut info) };
    if found == 0 || info.file_name.is_null() {
        return None;
    }
    // SAFETY: on success the name is a text that lives as long as the library is loaded, which it
    // is while this runs.
    let name = unsafe { CStr::from_ptr(info.file_name) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}
