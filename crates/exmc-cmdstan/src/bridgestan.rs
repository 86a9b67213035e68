//! A folder -> one that BridgeStan's clients take for theirs: `make path/to/NAME_model.so` writes a
//! copy of one library with the program behind it, without C++.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::install::Makefile;

/// The version of BridgeStan whose interface the library has.
pub const VERSION: &str = "2.9.0";

/// The file of the library without a program.
pub const LIBRARY: &str = match cfg!(target_os = "macos") {
    true => "libexmc_bridgestan.dylib",
    false => "libexmc_bridgestan.so",
};

/// The functions of a model library, for programs in C.
const HEADER: &str = include_str!("../../exmc-bridgestan/include/bridgestan.h");

/// The library without a program that belongs to a `stanc` of such a folder.
pub(crate) fn template(stanc: &Path) -> PathBuf {
    let bin = stanc.parent().unwrap_or(Path::new(""));
    bin.parent().unwrap_or(Path::new("")).join("lib").join(LIBRARY)
}

/// Where the library lies that came with a program exmc: beside it, or in `lib` beside its folder.
pub fn library_of(image: &Path) -> Option<PathBuf> {
    let folder = image.parent()?;
    let mut places = vec![folder.join(LIBRARY), folder.join("lib").join(LIBRARY)];
    places.extend(folder.parent().map(|above| above.join("lib").join(LIBRARY)));
    places.into_iter().find(|place| place.is_file())
}

/// Switches of BridgeStan's make, which clients look for in what a model says of itself.
pub const SWITCHES: [&str; 5] =
    ["STAN_THREADS", "STAN_MPI", "STAN_OPENCL", "STAN_NO_RANGE_CHECKS", "BRIDGESTAN_AD_HESSIAN"];

/// Clients give paths of libraries as goals, and options of `stanc` in `STANCFLAGS`.
fn makefile() -> Makefile {
    Makefile {
        name: "Makefile",
        mark: "# exmc in the place of BridgeStan",
        models: "libraries",
        variables: format!("BRIDGESTAN_VERSION := {VERSION}\nBS_ROOT ?= .\n"),
        root: "$(BS_ROOT)/",
        switches: SWITCHES,
        help: &[("make path/to/NAME_model.so", "makes the library of path/to/NAME.stan")],
        idle: "clean",
        rules: "\
            %_model.so: %.stan FORCE\n\
            \t@$(BS_ROOT)/bin/stanc $(STANCFLAGS) $(SWITCHES) --library=\"$@\" \"$<\"\n",
    }
}

/// Writes such a folder, which is made if it does not exist, and returns its absolute path. `image`
/// is the file of the program exmc, `library` that of the library without a program.
///
/// A folder of this kind is brought up to date; one that holds anything else is left alone.
///
/// # Errors
/// When the folder holds something else, or a file cannot be read or written;
/// [`io::ErrorKind::InvalidInput`] when it is the library that cannot be read.
pub fn install(folder: &Path, image: &Path, library: &Path) -> io::Result<PathBuf> {
    readable(library).map_err(|error| {
        let text = format!("cannot read the library `{}`: {error}", library.display());
        io::Error::new(io::ErrorKind::InvalidInput, text)
    })?;
    let place = format!("lib/{LIBRARY}");
    let copies = [(image, "bin/stanc"), (library, place.as_str())];
    let texts = ["bridgestan.h", "src/bridgestan.h"].map(|place| (place, HEADER));
    makefile().install(folder, &["bin", "lib", "make", "src"], &copies, &texts)
}

/// Whether a path is that of a file that may be read.
fn readable(path: &Path) -> io::Result<()> {
    match fs::File::open(path)?.metadata()?.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("it is not a file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_made_and_brought_up_to_date_and_others_are_left_alone() {
        let folder = std::env::temp_dir().join(format!("exmc-bridge-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (image, library) = (folder.join("image"), folder.join(LIBRARY));
        fs::write(&image, b"image").unwrap();
        fs::write(&library, b"library").unwrap();
        assert_eq!(library_of(&image), Some(library.clone()));
        let error = install(&folder, &image, &library).unwrap_err();
        assert!(error.to_string().contains("holds something"), "{error}");
        let home = folder.join("home");
        for wrong in [folder.join("nothing"), folder.clone()] {
            let error = install(&home, &image, &wrong).unwrap_err();
            assert!(error.to_string().contains(&format!("`{}`", wrong.display())), "{error}");
            assert!(!home.exists(), "nothing is written without a library");
        }
        // One that was cut short can be made again.
        install(&home, &folder.join("nothing"), &library).unwrap_err();
        for _ in 0..2 {
            let path = install(&home, &image, &library).unwrap();
            assert!(path.is_absolute());
            assert_eq!(fs::read(template(&path.join("bin/stanc"))).unwrap(), b"library");
        }
        let header = fs::read_to_string(home.join("src/bridgestan.h")).unwrap();
        assert!(header.contains("bs_log_density_gradient("));
        fs::remove_dir_all(&folder).unwrap();
    }

    /// As clients call it: the program lies in another folder, `stanc` is told what was asked for.
    #[cfg(unix)]
    #[test]
    fn the_makefile_asks_for_the_library_of_a_program_elsewhere() {
        use std::os::unix::fs::PermissionsExt;

        let folder = std::env::temp_dir().join(format!("exmc-goals-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (image, library) = (folder.join("image"), folder.join(LIBRARY));
        fs::write(&image, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n").unwrap();
        fs::set_permissions(&image, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(&library, b"library").unwrap();
        fs::write(folder.join("coin.stan"), "").unwrap();
        let home = install(&folder.join("home"), &image, &library).unwrap();
        let make = |goal: &Path| {
            let mut command = std::process::Command::new("make");
            command.args(["-s", "--no-print-directory", "-C"]).arg(&home).arg(goal);
            command.args(["STAN_THREADS=true", "STANCFLAGS=--include-paths=. --O1"]);
            command.env_remove("MAKEFLAGS").output().unwrap()
        };
        let goal = folder.join("coin_model.so");
        let said = String::from_utf8(make(&goal).stdout).unwrap();
        let (goal, program) = (goal.display(), folder.join("coin.stan"));
        let expected = format!(
            "--include-paths=.\n--O1\n--switch=STAN_THREADS\n--library={goal}\n{}\n",
            program.display()
        );
        assert_eq!(said, expected);
        assert!(!make(&folder.join("none_model.so")).status.success());
        fs::remove_dir_all(&folder).unwrap();
    }
}
