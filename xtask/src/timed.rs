//! A command with a time limit -> what it printed, its processor time and its wall time.
//!
//! The shell's `time` says what the kernel counted for the process with all its threads and
//! children, in milliseconds; `timeout` asks the program to end at the limit, so that it may still
//! say what it has, and kills it when it does not (it alone: a group would take `timeout` with it,
//! and what the kernel counted).

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// A command that ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Standard output.
    pub(crate) output: String,
    /// Standard error.
    pub(crate) complaint: String,
    /// Whether it ended with exit code 0.
    pub(crate) succeeded: bool,
    /// Whether the time limit ended it.
    pub(crate) stopped: bool,
    /// Processor seconds, of the user and of the system.
    pub(crate) cpu: f64,
    /// Wall seconds.
    pub(crate) wall: f64,
}

/// Seconds that a program has for its last words.
const GRACE: &str = "10";

/// Takes two files and the limit, then the command.
const SCRIPT: &str = r#"
said=$1 complained=$2 limit=$3 grace=$4
shift 4
TIMEFORMAT='%R %U %S'
time timeout --foreground -k "$grace" "$limit" "$@" >"$said" 2>"$complained" </dev/null
"#;

/// Runs a command, with files of `folder` for what it prints; a limit of 0 is none.
///
/// # Errors
/// When there is no bash or `timeout` to run it with; what the command itself says is no error.
pub(crate) fn timed(command: &[&OsStr], folder: &Path, limit: f64) -> Result<Ended, String> {
    let (said, complained) = (folder.join("said"), folder.join("complained"));
    let output = Command::new("bash")
        .args(["-c", SCRIPT, "bash"])
        .args([&said, &complained])
        .args([&limit.to_string(), GRACE])
        .args(command)
        // Numbers with a point, whatever the user's language.
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("bash: {e}"))?;
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    let [wall, user, system] = times(&report).ok_or_else(|| format!("bash: {}", report.trim()))?;
    let read = |path: &Path| {
        let bytes = std::fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    // 124: asked to end; 137: killed, after that.
    let stopped = matches!(output.status.code(), Some(124 | 137)) && limit > 0.0 && wall >= limit;
    let succeeded = output.status.success();
    let (output, complaint) = (read(&said), read(&complained));
    Ok(Ended { output, complaint, succeeded, stopped, cpu: user + system, wall })
}

/// The last line of three numbers.
fn times(report: &str) -> Option<[f64; 3]> {
    let numbers = |line: &str| {
        let all: Result<Vec<f64>, _> = line.split_whitespace().map(str::parse).collect();
        <[f64; 3]>::try_from(all.ok()?).ok()
    };
    report.lines().rev().find_map(numbers)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// One test, because runs share the files.
    #[test]
    fn commands_are_timed_and_stopped() {
        let folder = std::env::temp_dir().join(format!("exmc-timed-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let run = |script: &str, limit: f64| {
            let command = ["sh", "-c", script].map(OsStr::new);
            timed(&command, &folder, limit).expect("bash and timeout are there")
        };
        let ended = run("echo out; echo err >&2; exit 3", 20.0);
        assert_eq!((ended.output.as_str(), ended.complaint.as_str()), ("out\n", "err\n"));
        assert!(!ended.stopped && !ended.succeeded && ended.wall < 20.0);
        let ended = run("trap 'echo last; exit 5' TERM; while :; do :; done", 0.5);
        assert!(ended.stopped && ended.output == "last\n", "{ended:?}");
        // It was busy all the time, but for what the machine's other processes took.
        assert!(ended.cpu > 0.01 && ended.cpu <= ended.wall + 0.02, "{ended:?}");
        let ended = run("sleep 1", 0.0);
        assert!(ended.succeeded && !ended.stopped);
        assert!(ended.wall >= 1.0 && ended.cpu < 0.5, "{ended:?}");
        std::fs::remove_dir_all(&folder).expect("the folder goes");
    }

    #[test]
    fn the_report_is_the_last_line_of_three_numbers() {
        assert_eq!(times("bash: warning\n1.5 0.250 0.010\n"), Some([1.5, 0.25, 0.01]));
        assert_eq!(times("bash: timeout: command not found\n"), None);
    }
}
