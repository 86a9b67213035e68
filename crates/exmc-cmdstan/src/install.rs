//! A folder -> one that clients take for a CmdStan installation.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::VERSION;

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

/// Switches of CmdStan's make, which clients look for in what a model's `info` says.
pub(crate) const SWITCHES: [&str; 5] =
    ["STAN_THREADS", "STAN_MPI", "STAN_OPENCL", "STAN_NO_RANGE_CHECKS", "STAN_CPP_OPTIMS"];

/// A makefile of a folder that clients call make in.
pub(crate) struct Makefile {
    /// Its name.
    pub(crate) name: &'static str,
    /// The beginning of its first line, by which a folder of ours is known.
    pub(crate) mark: &'static str,
    /// What models are.
    pub(crate) models: &'static str,
    /// Lines of variables; clients read that of the version.
    pub(crate) variables: String,
    /// The folder that paths begin with, with a slash.
    pub(crate) root: &'static str,
    /// Variables of which `stanc` is told that they are set.
    pub(crate) switches: [&'static str; 5],
    /// Goals and what they do, for `make help`.
    pub(crate) help: &'static [(&'static str, &'static str)],
    /// Goals that do nothing.
    pub(crate) idle: &'static str,
    /// The rules of this folder alone.
    pub(crate) rules: &'static str,
}

impl Makefile {
    fn text(&self) -> String {
        let Self { name, mark, models, variables, root, idle, rules, .. } = self;
        let switches = self.switches.join(" ");
        let line = |(goal, what): &(&str, &str)| format!("\t@echo '{goal:<21} {what}'\n");
        let help: String = self.help.iter().map(line).collect();
        format!(
            "{mark}: models are {models} without C++\n\
             {variables}\
             \n\
             .SUFFIXES:\n\
             .DEFAULT_GOAL := help\n\
             -include {root}make/local\n\
             \n\
             SWITCHES := $(foreach v,{switches},$(if $($(v)),--switch=$(v)))\n\
             ifneq ($(USER_HEADER),)\n\
             STANCFLAGS += --allow-undefined\n\
             endif\n\
             \n\
             .PHONY: help {idle} compile_info FORCE\n\
             \n\
             help:\n\
             {help}\
             \t@echo 'Options of stanc stand in STANCFLAGS, lasting settings in make/local.'\n\
             \n\
             {idle}:\n\
             \t@:\n\
             \n\
             compile_info:\n\
             \t@echo 'exmc: no C++ compiler is called'\n\
             \n\
             print-%: ; @echo $* = $($*)\n\
             \n\
             FORCE:\n\
             \n\
             {name}: ;\n\
             make/local: ;\n\
             \n\
             {rules}"
        )
    }

    /// Writes it into a folder, which is made with its parts where they are not there, with copies
    /// of files and with texts at their places; returns the folder's absolute path.
    ///
    /// # Errors
    /// When the folder holds something that is not ours, or cannot be written.
    pub(crate) fn install(
        &self,
        folder: &Path,
        parts: &[&str],
        copies: &[(&Path, &str)],
        texts: &[(&str, &str)],
    ) -> io::Result<PathBuf> {
        fresh_folder(folder, self.name, self.mark)?;
        parts.iter().try_for_each(|part| fs::create_dir_all(folder.join(part)))?;
        // First, so that the folder is known as ours should what follows be cut short.
        fs::write(folder.join(self.name), self.text())?;
        for (from, to) in copies {
            replace(&folder.join(to), |part| fs::copy(from, part).map(|_| ()))?;
        }
        texts.iter().try_for_each(|(to, text)| fs::write(folder.join(to), text))?;
        folder.canonicalize()
    }
}

/// A model is made anew whenever it is asked for, which takes as long as copying a file.
fn makefile() -> Makefile {
    Makefile {
        name: "makefile",
        mark: "# exmc in the place of CmdStan",
        models: "executables",
        variables: format!("CMDSTAN_VERSION := {VERSION}\n"),
        root: "",
        switches: SWITCHES,
        help: &[
            ("make path/to/model", "makes the executable of path/to/model.stan"),
            ("make build", "nothing to do: exmc is built"),
        ],
        idle: "clean clean-all clean-deps clean-program clean-manual stan-update",
        rules: "\
            .PHONY: build\n\
            build:\n\
            \t@echo '--- CmdStan v$(CMDSTAN_VERSION) built (exmc) ---'\n\
            \n\
            bin/stanc bin/stansummary bin/diagnose bin/print: | bin/exmc\n\
            \t@ln -f bin/exmc $@ || cp bin/exmc $@\n\
            \n\
            %.hpp: %.stan FORCE\n\
            \t@bin/stanc $(STANCFLAGS) --o=\"$@\" \"$<\"\n\
            \n\
            %: %.stan FORCE\n\
            \t@echo '--- Making the executable of a Stan program ---'\n\
            \t@bin/stanc $(STANCFLAGS) $(SWITCHES) --executable=\"$@\" \"$<\"\n",
    }
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
    let texts = [
        ("examples/bernoulli/bernoulli.stan", BERNOULLI),
        ("examples/bernoulli/bernoulli.data.json", BERNOULLI_DATA),
    ];
    let parts = ["bin", "examples/bernoulli", "make"];
    let home = makefile().install(folder, &parts, &[(image, "bin/exmc")], &texts)?;
    let program = home.join("bin/exmc");
    for tool in TOOLS {
        replace(&home.join("bin").join(tool), |part| {
            fs::hard_link(&program, part).or_else(|_| fs::copy(&program, part).map(|_| ()))
        })?;
    }
    Ok(home)
}

/// Whether a folder may be written to: it is empty, is not there, or its makefile has our mark.
fn fresh_folder(folder: &Path, makefile: &str, mark: &str) -> io::Result<()> {
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
