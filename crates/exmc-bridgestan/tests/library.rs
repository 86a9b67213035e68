//! A model library loaded by the system's loader, and its functions as C has them.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

use exmc_cmdstan::bridgestan::LIBRARY;
use exmc_cmdstan::program::{Payload, Text};
use libloading::{Library, Symbol};

/// A folder that is deleted in the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A program as a loaded library. Its file is deleted once it is loaded, as some clients do.
pub(crate) struct Loaded(pub(crate) Library);

impl Loaded {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder_name = format!("exmc-bridgestan-{}-{number}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(folder_name));
        std::fs::create_dir_all(&folder.0).unwrap();
        let path = folder.0.join(format!("{name}_model.so"));
        std::fs::copy(prebuilt(), &path).unwrap();
        let payload = Payload {
            name: format!("{name}_model"),
            main: Text { name: format!("{name}.stan"), text: text.to_owned() },
            included: BTreeMap::new(),
            stanc_flags: String::new(),
            switches: vec!["STAN_THREADS".to_owned()],
        };
        payload.append_to(&path).unwrap();
        Self::load(&path).unwrap()
    }

    pub(crate) fn load(path: &Path) -> Result<Self, libloading::Error> {
        // SAFETY: the library's initialiser only reads its own file.
        unsafe { Library::new(path) }.map(Self)
    }

    fn function<T>(&self, name: &str) -> Symbol<'_, T> {
        // SAFETY: callers ask for the types of the header.
        unsafe { self.0.get(name.as_bytes()) }.unwrap()
    }

    pub(crate) fn model(&self, data: &str) -> Result<Model<'_>, String> {
        self.seeded(data, 1)
    }

    pub(crate) fn seeded(&self, data: &str, seed: u32) -> Result<Model<'_>, String> {
        type Construct = unsafe extern "C" fn(*const c_char, c_uint, Message) -> *mut c_void;
        let (construct, data) =
            (self.function::<Construct>("bs_model_construct"), CString::new(data).unwrap());
        let mut message = null_mut();
        // SAFETY: as the header says.
        let pointer = unsafe { construct(data.as_ptr(), seed, &raw mut message) };
        if pointer.is_null() {
            return Err(self.take(message));
        }
        Ok(Model { library: self, pointer })
    }

    /// The text of a message, which is freed.
    fn take(&self, message: *mut c_char) -> String {
        assert!(!message.is_null(), "an error without a message");
        // SAFETY: a text of the library that is used once more, to free it.
        unsafe {
            let text = CStr::from_ptr(message).to_str().unwrap().to_owned();
            self.function::<unsafe extern "C" fn(*mut c_char)>("bs_free_error_msg")(message);
            text
        }
    }

    pub(crate) fn stream(&self, seed: u32) -> Stream<'_> {
        type Construct = unsafe extern "C" fn(c_uint, Message) -> *mut c_void;
        // SAFETY: as the header says; there may be no place for a message.
        let pointer = unsafe { self.function::<Construct>("bs_rng_construct")(seed, null_mut()) };
        Stream { library: self, pointer }
    }

    pub(crate) fn set_print(&self, callback: Option<unsafe extern "C" fn(*const c_char, usize)>) {
        type Set = unsafe extern "C" fn(
            Option<unsafe extern "C" fn(*const c_char, usize)>,
            Message,
        ) -> c_int;
        // SAFETY: the tests' functions take bytes and do not unwind.
        let code = unsafe { self.function::<Set>("bs_set_print_callback")(callback, null_mut()) };
        assert_eq!(code, 0);
    }
}

type Message = *mut *mut c_char;

/// The library without a program, beside the tests.
pub(crate) fn prebuilt() -> PathBuf {
    let executable = std::env::current_exe().unwrap();
    executable.parent().unwrap().join(LIBRARY)
}

/// See `bs_rng_construct`.
pub(crate) struct Stream<'a> {
    library: &'a Loaded,
    pointer: *mut c_void,
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        // SAFETY: it was constructed and is not used any more.
        unsafe {
            type Destruct = unsafe extern "C" fn(*mut c_void);
            self.library.function::<Destruct>("bs_rng_destruct")(self.pointer);
        }
    }
}

/// A constructed model.
pub(crate) struct Model<'a> {
    library: &'a Loaded,
    pointer: *mut c_void,
}

// SAFETY: the header allows calls from several threads on one model.
unsafe impl Sync for Model<'_> {}

impl Drop for Model<'_> {
    fn drop(&mut self) {
        // SAFETY: it was constructed and is not used any more.
        unsafe {
            type Destruct = unsafe extern "C" fn(*mut c_void);
            self.library.function::<Destruct>("bs_model_destruct")(self.pointer);
        }
    }
}

impl Model<'_> {
    fn finish<T>(&self, call: impl FnOnce(Message) -> (c_int, T)) -> Result<T, String> {
        let mut message = null_mut();
        let (code, result) = call(&raw mut message);
        match code {
            0 => Ok(result),
            -1 => Err(self.library.take(message)),
            other => panic!("return code {other}"),
        }
    }

    fn text(&self, pointer: *const c_char) -> String {
        // SAFETY: a text of the model.
        unsafe { CStr::from_ptr(pointer) }.to_str().unwrap().to_owned()
    }

    pub(crate) fn name(&self) -> String {
        type Get = unsafe extern "C" fn(*const c_void) -> *const c_char;
        // SAFETY: as the header says.
        self.text(unsafe { self.library.function::<Get>("bs_name")(self.pointer) })
    }

    pub(crate) fn info(&self) -> String {
        type Get = unsafe extern "C" fn(*const c_void) -> *const c_char;
        // SAFETY: as the header says.
        self.text(unsafe { self.library.function::<Get>("bs_model_info")(self.pointer) })
    }

    pub(crate) fn names(&self, tp: bool, gq: bool) -> String {
        type Get = unsafe extern "C" fn(*const c_void, bool, bool) -> *const c_char;
        // SAFETY: as the header says.
        self.text(unsafe { self.library.function::<Get>("bs_param_names")(self.pointer, tp, gq) })
    }

    pub(crate) fn unconstrained_names(&self) -> String {
        type Get = unsafe extern "C" fn(*const c_void) -> *const c_char;
        // SAFETY: as the header says.
        self.text(unsafe { self.library.function::<Get>("bs_param_unc_names")(self.pointer) })
    }

    pub(crate) fn count(&self, tp: bool, gq: bool) -> usize {
        type Get = unsafe extern "C" fn(*const c_void, bool, bool) -> c_int;
        // SAFETY: as the header says.
        unsafe { self.library.function::<Get>("bs_param_num")(self.pointer, tp, gq) as usize }
    }

    pub(crate) fn dim(&self) -> usize {
        type Get = unsafe extern "C" fn(*const c_void) -> c_int;
        // SAFETY: as the header says.
        unsafe { self.library.function::<Get>("bs_param_unc_num")(self.pointer) as usize }
    }

    pub(crate) fn constrain(
        &self,
        theta: &[f64],
        (tp, gq): (bool, bool),
        stream: Option<&Stream<'_>>,
    ) -> Result<Vec<f64>, String> {
        type Constrain = unsafe extern "C" fn(
            *const c_void,
            bool,
            bool,
            *const f64,
            *mut f64,
            *mut c_void,
            Message,
        ) -> c_int;
        let constrain = self.library.function::<Constrain>("bs_param_constrain");
        let mut out = vec![f64::NAN; self.count(tp, gq)];
        let rng = stream.map_or(null_mut(), |stream| stream.pointer);
        self.finish(|message| {
            let (from, to) = (theta.as_ptr(), out.as_mut_ptr());
            // SAFETY: arrays as long as the model's numbers say.
            (unsafe { constrain(self.pointer, tp, gq, from, to, rng, message) }, out)
        })
    }

    pub(crate) fn unconstrain(&self, theta: &[f64]) -> Result<Vec<f64>, String> {
        type Unconstrain =
            unsafe extern "C" fn(*const c_void, *const f64, *mut f64, Message) -> c_int;
        let unconstrain = self.library.function::<Unconstrain>("bs_param_unconstrain");
        let mut out = vec![f64::NAN; self.dim()];
        // SAFETY: arrays as long as the model's numbers say.
        self.finish(|message| unsafe {
            (unconstrain(self.pointer, theta.as_ptr(), out.as_mut_ptr(), message), out)
        })
    }

    pub(crate) fn unconstrain_json(&self, json: &str) -> Result<Vec<f64>, String> {
        type Unconstrain =
            unsafe extern "C" fn(*const c_void, *const c_char, *mut f64, Message) -> c_int;
        let unconstrain = self.library.function::<Unconstrain>("bs_param_unconstrain_json");
        let (json, mut out) = (CString::new(json).unwrap(), vec![f64::NAN; self.dim()]);
        // SAFETY: as the header says.
        self.finish(|message| unsafe {
            (unconstrain(self.pointer, json.as_ptr(), out.as_mut_ptr(), message), out)
        })
    }

    pub(crate) fn initialize(
        &self,
        json: Option<&str>,
        stream: &Stream<'_>,
        (radius, tries): (f64, c_int),
    ) -> Result<Vec<f64>, String> {
        type Initialize = unsafe extern "C" fn(
            *const c_void,
            *const c_char,
            *mut c_void,
            f64,
            c_int,
            bool,
            *mut f64,
            Message,
        ) -> c_int;
        let initialize = self.library.function::<Initialize>("bs_param_initialize");
        let json = json.map(|text| CString::new(text).unwrap());
        let json = json.as_ref().map_or(null(), |text| text.as_ptr());
        let mut out = vec![f64::NAN; self.dim()];
        self.finish(|message| {
            let (model, rng, to) = (self.pointer, stream.pointer, out.as_mut_ptr());
            // SAFETY: as the header says.
            (unsafe { initialize(model, json, rng, radius, tries, true, to, message) }, out)
        })
    }

    pub(crate) fn log_density(
        &self,
        theta: &[f64],
        (propto, jacobian): (bool, bool),
    ) -> Result<f64, String> {
        type Density =
            unsafe extern "C" fn(*const c_void, bool, bool, *const f64, *mut f64, Message) -> c_int;
        let density = self.library.function::<Density>("bs_log_density");
        let mut value = f64::NAN;
        self.finish(|message| {
            let (model, theta) = (self.pointer, theta.as_ptr());
            // SAFETY: an array as long as the model's number says.
            let code = unsafe { density(model, propto, jacobian, theta, &raw mut value, message) };
            (code, value)
        })
    }

    /// Log density, gradient and Hessian.
    pub(crate) fn hessian(
        &self,
        theta: &[f64],
        (propto, jacobian): (bool, bool),
    ) -> Result<(f64, Vec<f64>, Vec<f64>), String> {
        type Hessian = unsafe extern "C" fn(
            *const c_void,
            bool,
            bool,
            *const f64,
            *mut f64,
            *mut f64,
            *mut f64,
            Message,
        ) -> c_int;
        type Gradient = unsafe extern "C" fn(
            *const c_void,
            bool,
            bool,
            *const f64,
            *mut f64,
            *mut f64,
            Message,
        ) -> c_int;
        let gradient_alone = self.library.function::<Gradient>("bs_log_density_gradient");
        let density = self.library.function::<Hessian>("bs_log_density_hessian");
        let n = self.dim();
        let (mut value, mut gradient, mut hessian) = (f64::NAN, vec![0.0; n], vec![0.0; n * n]);
        let found = self.finish(|message| {
            let (model, theta, value) = (self.pointer, theta.as_ptr(), &raw mut value);
            let (to, second) = (gradient.as_mut_ptr(), hessian.as_mut_ptr());
            // SAFETY: arrays as long as the model's number says.
            (unsafe { density(model, propto, jacobian, theta, value, to, second, message) }, ())
        });
        found?;
        let (mut other, mut alone) = (f64::NAN, vec![0.0; n]);
        self.finish(|message| {
            let (model, theta, other) = (self.pointer, theta.as_ptr(), &raw mut other);
            let to = alone.as_mut_ptr();
            // SAFETY: as above.
            (unsafe { gradient_alone(model, propto, jacobian, theta, other, to, message) }, ())
        })?;
        assert_eq!((value, &gradient), (other, &alone));
        Ok((value, gradient, hessian))
    }

    pub(crate) fn hessian_product(
        &self,
        theta: &[f64],
        vector: &[f64],
    ) -> Result<Vec<f64>, String> {
        type Product = unsafe extern "C" fn(
            *const c_void,
            bool,
            bool,
            *const f64,
            *const f64,
            *mut f64,
            *mut f64,
            Message,
        ) -> c_int;
        let product = self.library.function::<Product>("bs_log_density_hessian_vector_product");
        let (mut value, mut out) = (f64::NAN, vec![0.0; self.dim()]);
        self.finish(|message| {
            let (model, theta, by) = (self.pointer, theta.as_ptr(), vector.as_ptr());
            let (value, to) = (&raw mut value, out.as_mut_ptr());
            // SAFETY: arrays as long as the model's number says.
            (unsafe { product(model, true, true, theta, by, value, to, message) }, out)
        })
    }
}
