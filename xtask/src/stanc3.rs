//! stanc3's integration tests: a checkout -> rates of programs that the Stan front end takes and
//! refuses as stanc does.

use crate::ci;

/// `stanc3` with its arguments.
///
/// # Errors
/// When an argument is not understood, or a bar is missed.
pub(crate) fn stanc3(args: &[&str]) -> Result<(), String> {
    let (mut folder, mut list) = (None, false);
    let mut args = args.iter();
    while let Some(&arg) = args.next() {
        match arg {
            "--dir" => {
                let given = args.next().ok_or("--dir needs a folder")?;
                let path =
                    std::fs::canonicalize(given).map_err(|e| format!("--dir {given}: {e}"))?;
                folder = Some(path.display().to_string());
            }
            "--list" => list = true,
            other => return Err(format!("stanc3 has no setting `{other}`: see cargo xtask")),
        }
    }
    let folder = folder.ok_or("stanc3 needs --dir DIR, a checkout of stan-dev/stanc3")?;
    // Not `--release`: overflows that would go unseen there are panics here.
    let mut command = vec!["run", "-q", "-p", "exmc-stan", "--example", "stanc3", "--", &folder];
    if list {
        command.push("--list");
    }
    ci::cargo(&command, &[])
}
