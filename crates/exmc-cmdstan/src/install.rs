//! A folder -> one that clients take for a CmdStan installation.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::VERSION;

/// The first line of the makefile, by which an installation of ours is known.
const MARK: &str = "# exmc in the place of CmdStan";

/// Names under which the executable is a tool.
const TOOLS: [&str; 4] = ["stanc", "stansummary", "diagnose", "print"];

const BERNOULLI: &str = "\
data {
  int<lower=0> N;
  array[N] int<lower=0, upper=1> y;
}
parameters {
  real<lower=0, upper=1> theta;
}
model {
  theta ~ beta(1, 1);
  y ~ bernoulli(theta);
}
";

const BERNOULLI_DATA: &str = "{\n  \"N\": 10,\n  \"y\": [0, 1, 0, 0, 0, 0, 0, 0, 0, 1]\n}\n";

/// The makefile. Clients read the line of the version; a model is made anew whenever it is asked
/// for, which takes as long as copying a file.
fn makefile() -> String {
    format!(
        "{MARK}: models are executables without C++\n\
         CMDSTAN_VERSION := {VERSION}\n\
         \n\
         .SUFFIXES:\n\
         .DEFAULT_GOAL := help\n\
         -include make/local\n\
         \n\
         SWITCHES := $(foreach v,STAN_THREADS STAN_MPI STAN_OPENCL STAN_NO_RANGE_CHECKS STAN_CPP_OPTIMS,$(if $($(v)),--switch=$(v)))\n\
         ifneq ($(USER_HEADER),)\n\
         STANCFLAGS += --allow-undefined\n\
         endif\n\
         \n\
         .PHONY: help build clean clean-all clean-deps clean-program clean-manual stan-update compile_info FORCE\n\
         \n\
         help:\n\
         \t@echo 'make path/to/model     makes the executable of path/to/model.stan'\n\
         \t@echo 'make build             nothing to do: exmc is built'\n\
         \t@echo 'Options of stanc stand in STANCFLAGS, lasting settings in make/local.'\n\
         \n\
         build:\n\
         \t@echo '--- CmdStan v$(CMDSTAN_VERSION) built (exmc) ---'\n\
         \n\
         clean clean-all clean-deps clean-program clean-manual stan-update:\n\
         \t@:\n\
         \n\
         compile_info:\n\
         \t@echo 'exmc: no C++ compiler is called'\n\
         \n\
         print-%: ; @echo $* = $($*)\n\
         \n\
         FORCE:\n\
         \n\
         makefile: ;\n\
         make/local: ;\n\
         \n\
         bin/stanc bin/stansummary bin/diagnose bin/print: | bin/exmc\n\
         \t@ln -f bin/exmc $@ || cp bin/exmc $@\n\
         \n\
         %.hpp: %.stan FORCE\n\
         \t@bin/stanc $(STANCFLAGS) --o=\"$@\" \"$<\"\n\
         \n\
         %: %.stan FORCE\n\
         \t@echo '--- Making the executable of a Stan program ---'\n\
         \t@bin/stanc $(STANCFLAGS) $(SWITCHES) --executable=\"$@\" \"$<\"\n"
    )
}

/// Writes an installation into a folder, which is made if it does not exist, and returns the
/// folder's absolute path. `image` is the file of the program exmc.
///
/// A folder that holds an installation of this kind is brought up to date; one that holds anything
/// else is left alone.
///
/// # Errors
/// When the folder holds something else, or cannot be written.
pub fn install(folder: &Path, image: &Path) -> io::Result<PathBuf> {
    fresh_folder(folder, "makefile", MARK)?;
    let bin = folder.join("bin");
    let example = folder.join("examples").join("bernoulli");
    for path in [&bin, &example, &folder.join("make")] {
        fs::create_dir_all(path)?;
    }
    // First, so that the folder is known as ours should what follows be cut short.
    fs::write(folder.join("makefile"), makefile())?;
    let program = bin.join("exmc");
    replace(&program, |part| fs::copy(image, part).map(|_| ()))?;
    for tool in TOOLS {
        replace(&bin.join(tool), |part| {
            fs::hard_link(&program, part).or_else(|_| fs::copy(&program, part).map(|_| ()))
        })?;
    }
    fs::write(example.join("bernoulli.stan"), BERNOULLI)?;
    fs::write(example.join("bernoulli.data.json"), BERNOULLI_DATA)?;
    folder.canonicalize()
}

/// Whether a folder may be written to: it is empty, is not there, or its makefile has our mark.
pub(crate) fn fresh_folder(folder: &Path, makefile: &str, mark: &str) -> io::Result<()> {
    let is_ours =
        fs::read_to_string(folder.join(makefile)).is_ok_and(|text| text.starts_with(mark));
    let holds_something = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if holds_something && !is_ours {
        let message = format!(
            "`{}` holds something that is no installation of exmc: choose a folder that does not exist, or an empty one",
            folder.display()
        );
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
    }
    Ok(())
}

/// Makes a file beside its place and moves it there: a process that runs the old one goes on.
pub(crate) fn replace(path: &Path, make: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let part = path.with_extension(format!("{}.part", std::process::id()));
    let made = make(&part).and_then(|()| fs::rename(&part, path));
    // Where both are links to one file, moving one onto the other does nothing.
    let _ = fs::remove_file(&part);
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_something_else_is_left_alone() {
        let folder = std::env::temp_dir().join(format!("exmc-install-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let image = folder.join("image");
        fs::write(&image, b"image").unwrap();
        let error = install(&folder, &image).unwrap_err();
        assert!(error.to_string().contains("holds something"), "{error}");
        let home = folder.join("home");
        // One that was cut short can be made again.
        install(&home, &folder.join("nothing")).unwrap_err();
        for _ in 0..2 {
            let path = install(&home, &image).unwrap();
            assert!(path.is_absolute());
            assert_eq!(fs::read(path.join("bin/stanc")).unwrap(), b"image");
        }
        let makefile = fs::read_to_string(home.join("makefile")).unwrap();
        assert!(makefile.contains("\nCMDSTAN_VERSION := 2.39.0\n"));
        let names = fs::read_dir(home.join("bin")).unwrap().count();
        assert_eq!(names, 5);
        fs::remove_dir_all(&folder).unwrap();
    }
}
