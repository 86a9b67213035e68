//! The pages for people who come from a client -> their code, run as a reader would run it.
//!
//! A page's lines for the shell come first, in an empty home folder, and what they set holds for
//! the rest. Code is written to a file of as many lines as the page has, so that a mistake is
//! reported at its line of the page. Where the client is not installed, the lines for the shell are
//! run all the same and each Stan program of the page is checked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::run;
use crate::ci::{cargo, target_folder};
use crate::{files, root};

/// A page, the language of its code, and what that language must have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    path: &'static str,
    language: &'static str,
    imports: &'static str,
}

/// For CmdStanPy.
pub(super) const CMDSTANPY: Page =
    Page { path: "docs/from-cmdstanpy.md", language: "python", imports: "import cmdstanpy" };
/// For BridgeStan.
pub(super) const BRIDGESTAN: Page =
    Page { path: "docs/from-bridgestan.md", language: "python", imports: "import bridgestan" };
/// For CmdStanR and brms.
pub(super) const CMDSTANR: Page = Page {
    path: "docs/from-cmdstanr-and-brms.md",
    language: "r",
    imports: "library(cmdstanr); library(brms)",
};

/// Runs the code of all pages with a development build; `python` and `rscript` have the clients. A
/// Python is made where none is named; R is not, since CmdStanR is in no registry.
///
/// # Errors
/// A page whose code fails.
pub(crate) fn pages(args: &[&str]) -> Result<(), String> {
    let (mut python, mut rscript, mut exmc) = (None, "Rscript".to_owned(), None);
    for pair in args.chunks(2) {
        match *pair {
            ["--python", path] => python = Some(path.to_owned()),
            ["--rscript", path] => rscript = path.to_owned(),
            ["--exmc", path] => exmc = Some(PathBuf::from(path)),
            _ => return Err(format!("pages has no setting `{}`: see cargo xtask", pair[0])),
        }
    }
    let exmc = match exmc {
        Some(path) => path,
        None => {
            cargo(&["build", "-p", "exmc-cli", "-p", "exmc-bridgestan"], &[])?;
            target_folder().join("debug/exmc")
        }
    };
    let python = match python {
        Some(python) => Ok(python),
        None => files::environment("python", &["arviz<1"]),
    };
    for page in [CMDSTANPY, BRIDGESTAN, CMDSTANR] {
        let program = match page.language {
            "python" => python.clone(),
            _ => Ok(rscript.clone()),
        };
        let program = program.and_then(|program| page.is_run_by(&program).map(|()| program));
        match program {
            Ok(program) => page.run(&exmc, Command::new(program))?,
            Err(why) => {
                println!(
                    "skipped: the {} code of {}, of which only the lines for the shell are run and \
                     the Stan programs checked ({why})",
                    page.language, page.path
                );
                page.check(&exmc)?;
            }
        }
    }
    Ok(())
}

impl Page {
    fn text(self) -> Result<String, String> {
        let path = root().join(self.path);
        fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Whether a program has what the code needs; else what is missing.
    fn is_run_by(self, program: &str) -> Result<(), String> {
        let flag = if self.language == "python" { "-c" } else { "-e" };
        let ran = Command::new(program).args([flag, self.imports]).output();
        match ran.map_err(|e| format!("{program}: {e}"))? {
            output if output.status.success() => Ok(()),
            output => {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                // R's error comes first, Python's last.
                let mut lines = said.trim().lines();
                let line = if self.language == "python" { lines.next_back() } else { lines.next() };
                Err(line.unwrap_or("it fails").to_owned())
            }
        }
    }

    /// An empty folder with the page's lines for the shell, and those of its code.
    fn prepare(self, exmc: &Path) -> Result<(Command, PathBuf), String> {
        let file_name = self.path.rsplit('/').next().unwrap_or(self.path);
        let folder = target_folder().join("pages").join(file_name);
        let _ = fs::remove_dir_all(&folder);
        let home = folder.join("home");
        fs::create_dir_all(&home).map_err(|e| format!("{}: {e}", home.display()))?;
        let text = self.text()?;
        let shell = format!("set -eu\n{}\n\"$@\"\n", code(&text, "sh"));
        for (name, script) in [("page.sh", shell), (file_name, code(&text, self.language))] {
            fs::write(folder.join(name), script).map_err(|e| format!("{name}: {e}"))?;
        }
        let folder = folder.canonicalize().map_err(|e| e.to_string())?;
        let exmc = exmc.canonicalize().map_err(|e| format!("{}: {e}", exmc.display()))?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let all = exmc.parent().map(Path::to_owned).into_iter().chain(std::env::split_paths(&path));
        let mut shell = Command::new("sh");
        shell.arg("page.sh").current_dir(&folder).env("HOME", folder.join("home"));
        shell.env("PATH", std::env::join_paths(all).map_err(|e| e.to_string())?);
        shell.env("CMDSTANR_NO_VER_CHECK", "true");
        shell.env_remove("CMDSTAN").env_remove("BRIDGESTAN");
        Ok((shell, folder))
    }

    /// Runs the code with a program, whose variables of the environment are taken over.
    pub(super) fn run(self, exmc: &Path, program: Command) -> Result<(), String> {
        println!("code of {}", self.path);
        let (mut shell, _) = self.prepare(exmc)?;
        let file_name = self.path.rsplit('/').next().unwrap_or(self.path);
        shell.arg(program.get_program()).args(program.get_args()).arg(file_name);
        for (name, value) in program.get_envs().filter(|(name, _)| *name != "HOME") {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        run(&mut shell).map_err(|_| format!("the code of {} fails: see above", self.path))
    }

    /// Runs the lines for the shell and checks the Stan programs.
    fn check(self, exmc: &Path) -> Result<(), String> {
        let (mut shell, folder) = self.prepare(exmc)?;
        let mut names = Vec::new();
        for (k, program) in programs(&code(&self.text()?, self.language)).iter().enumerate() {
            let name = format!("program-{}.stan", k + 1);
            fs::write(folder.join(&name), program).map_err(|e| format!("{name}: {e}"))?;
            names.push(name);
        }
        if names.is_empty() {
            return Err(format!("{} has no Stan program", self.path));
        }
        // Each is one command, the first of them within the page's shell.
        shell.args(["sh", "-c", "for own in \"$@\"; do exmc check \"$own\" || exit 1; done", "sh"]);
        run(shell.args(names)).map_err(|_| format!("a fragment of {} fails", self.path))
    }
}

/// The lines of a page that are code of a language, each at its place; others are empty.
fn code(text: &str, language: &str) -> String {
    let mut is_code = false;
    let lines = text.lines().map(|line| {
        match line.strip_prefix("```") {
            Some(fence) => is_code = !is_code && fence == language,
            None if is_code => return line,
            None => {}
        }
        ""
    });
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Stan programs in code: texts over several lines, between quotes or three of them, with a model.
fn programs(code: &str) -> Vec<String> {
    let (mut found, mut rest) = (Vec::new(), code);
    while let Some(start) = rest.find(['"', '#']) {
        if rest[start..].starts_with('#') {
            rest = rest[start..].split_once('\n').map_or("", |(_, after)| after);
            continue;
        }
        let quote = if rest[start..].starts_with("\"\"\"") { "\"\"\"" } else { "\"" };
        let quoted = &rest[start + quote.len()..];
        let Some((text, after)) = quoted.split_once(quote) else { break };
        if text.contains('\n') && text.contains("model {") {
            found.push(text.to_owned());
        }
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_keeps_its_lines() {
        let page = "a\n```sh\nmake\n```\nb `c`\n```text\n```\n```sh\nls\n```\n";
        assert_eq!(code(page, "sh"), "\n\nmake\n\n\n\n\n\nls\n\n");
        assert_eq!(code(page, "python"), "\n".repeat(10));
    }

    #[test]
    fn programs_are_texts_over_several_lines() {
        let python = "# \"\nf(\"model { }\", \"\"\"\nmodel { }\n\"\"\")\n";
        assert_eq!(programs(python), ["\nmodel { }\n"]);
        let r =
            "x <- c(\"a\", \"model {\")\nwriteLines(\"\ndata { int N; }\nmodel { }\n\", \"x\")\n";
        assert_eq!(programs(r), ["\ndata { int N; }\nmodel { }\n"]);
    }

    /// Each page has lines for the shell, code and a program.
    #[test]
    fn pages_have_all_parts() {
        for page in [CMDSTANPY, BRIDGESTAN, CMDSTANR] {
            let text = page.text().unwrap();
            assert!(code(&text, "sh").contains("exmc "), "{}", page.path);
            assert!(!programs(&code(&text, page.language)).is_empty(), "{}", page.path);
        }
    }
}
