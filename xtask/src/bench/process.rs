//! A command with a time limit -> what it printed and how long it took, or one line that says why
//! not.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A command that ended well.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Its standard output.
    pub(crate) output: String,
    /// Wall time.
    pub(crate) seconds: f64,
}

/// Runs a command in a folder and waits for it, at most `limit` seconds.
///
/// # Errors
/// When it cannot be started, takes longer (it is killed then), or fails: the last line of its
/// complaint.
pub(crate) fn run(command: &[String], folder: &Path, limit: f64) -> Result<Finished, String> {
    println!("$ {}", command.join(" "));
    let Some((program, args)) = command.split_first() else {
        return Err("an empty command".to_owned());
    };
    // Files, not pipes: a child that prints more than a pipe holds must not wait for us.
    let place =
        |what: &str| std::env::temp_dir().join(format!("exmc-bench-{}.{what}", std::process::id()));
    let (said, complained) = (place("out"), place("err"));
    let create = |path: &Path| File::create(path).map_err(|e| format!("{}: {e}", path.display()));
    let began = Instant::now();
    let mut child = Command::new(program)
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(create(&said)?)
        .stderr(create(&complained)?)
        .spawn()
        .map_err(|e| format!("{program}: {e}"))?;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            break status;
        }
        if began.elapsed().as_secs_f64() > limit {
            child.kill().and_then(|()| child.wait()).map_err(|e| e.to_string())?;
            return Err(format!("stopped after {limit} seconds"));
        }
        // Pauses that stay far below what has passed, so that the end is seen in time.
        let pause = began.elapsed() / 100;
        std::thread::sleep(pause.clamp(Duration::from_micros(50), Duration::from_millis(50)));
    };
    let seconds = began.elapsed().as_secs_f64();
    let read = |path: &Path| {
        let bytes = std::fs::read(path).unwrap_or_default();
        // What is left in the folder of temporary files is of no use to anybody.
        let _ = std::fs::remove_file(path);
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let (output, complaint) = (read(&said), read(&complained));
    if status.success() {
        return Ok(Finished { output, seconds });
    }
    let last = complaint.lines().rev().find(|line| !line.trim().is_empty());
    Err(format!("{status}: {}", last.unwrap_or("no message").trim()))
}

#[cfg(all(test, unix))]
mod tests {
    use super::run;

    fn shell(script: &str, limit: f64) -> Result<String, String> {
        let command = ["sh", "-c", script].map(str::to_owned);
        run(&command, &std::env::temp_dir(), limit).map(|finished| finished.output)
    }

    /// One test, because runs of one process share their temporary files.
    #[test]
    fn commands_end_fail_or_are_stopped() {
        assert_eq!(shell("echo one; echo two >&2", 10.0), Ok("one\n".to_owned()));
        let failed = shell("echo why >&2; exit 3", 10.0).expect_err("it fails");
        assert!(failed.contains('3') && failed.ends_with("why"), "{failed}");
        assert!(shell("sleep 20", 0.1).is_err_and(|e| e == "stopped after 0.1 seconds"));
        let nothing = run(&["no-such-program-here".to_owned()], &std::env::temp_dir(), 1.0);
        assert!(nothing.is_err_and(|e| e.starts_with("no-such-program-here")));
    }
}
