//! The release build -> an archive for one platform: program, library of models, manual pages,
//! completions, licences.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use flate2::{Compression, write::GzEncoder};

use crate::ci::{cargo, target_folder};
use crate::root;

/// Shells with completions, and what their scripts are called.
const SHELLS: [(&str, &str); 4] =
    [("bash", "exmc.bash"), ("zsh", "_exmc"), ("fish", "exmc.fish"), ("powershell", "_exmc.ps1")];

/// Files of the repository that go along.
const FILES: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Builds for a platform (of this machine if it is none) and writes
/// `target/dist/exmc-VERSION-PLATFORM.tar.gz`.
///
/// # Errors
/// A command that failed, or a file that cannot be read or written.
pub(crate) fn dist(platform: Option<&str>) -> Result<(), String> {
    let host = host()?;
    let platform = platform.unwrap_or(&host);
    let crates = ["-p", "exmc-cli", "-p", "exmc-bridgestan"];
    cargo(&[&["build", "--release", "--target", platform][..], &crates].concat(), &[])?;
    let ending = if platform.contains("windows") { ".exe" } else { "" };
    let program = target_folder().join(platform).join("release").join(format!("exmc{ending}"));
    let name = format!("exmc-{}-{platform}", env!("CARGO_PKG_VERSION"));
    let folder = target_folder().join("dist").join(&name);
    // What an earlier call left.
    let _ = fs::remove_dir_all(&folder);
    for part in ["man", "completions"] {
        let part = folder.join(part);
        fs::create_dir_all(&part).map_err(|e| format!("{}: {e}", part.display()))?;
    }
    copy(&program, &folder.join(format!("exmc{ending}")))?;
    // What `exmc bridgestan install` makes model libraries of; Windows has none.
    for library in ["libexmc_bridgestan.so", "libexmc_bridgestan.dylib"] {
        let built = program.with_file_name(library);
        if built.is_file() {
            copy(&built, &folder.join(library))?;
        }
    }
    for file in FILES {
        copy(&root().join(file), &folder.join(file))?;
    }
    output(&program, &["man", "--out", &folder.join("man").display().to_string()])?;
    for (shell, file) in SHELLS {
        let script = output(&program, &["completions", shell])?;
        let path = folder.join("completions").join(file);
        fs::write(&path, script).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let archive = folder.with_file_name(format!("{name}.tar.gz"));
    let write = || -> std::io::Result<()> {
        let packed = GzEncoder::new(File::create(&archive)?, Compression::best());
        let mut all = tar::Builder::new(packed);
        all.append_dir_all(&name, &folder)?;
        all.into_inner()?.finish()?.sync_all()
    };
    write().map_err(|e| format!("{}: {e}", archive.display()))?;
    println!("written to {}", archive.display());
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(drop).map_err(|e| format!("{}: {e}", from.display()))
}

fn output(program: &Path, args: &[&str]) -> Result<Vec<u8>, String> {
    let ran = Command::new(program).args(args).output();
    let ran = ran.map_err(|e| format!("{}: {e}", program.display()))?;
    if ran.status.success() {
        Ok(ran.stdout)
    } else {
        Err(format!("{} {}: {}", program.display(), args.join(" "), ran.status))
    }
}

/// The platform of this machine, as `rustc` names it.
fn host() -> Result<String, String> {
    let text = output(Path::new("rustc"), &["-vV"])?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).ok_or_else(|| "rustc does not name its host".to_owned())
}
