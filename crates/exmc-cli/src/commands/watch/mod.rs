//! `exmc watch DIR`: the files of a run that goes on somewhere -> a table that is kept up to date,
//! lines of JSON, or a page for a browser.

mod followed;
mod request;
mod server;

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use exmc_draws::RunStatus;

use crate::display::{put, say};
use crate::failure::{Exit, Failure};
use crate::signals::Stop;
use followed::Followed;
use server::Server;

/// Time between looks at the files.
const LOOK: Duration = Duration::from_secs(1);
/// Time between tables where standard output is no terminal.
const TABLE: Duration = Duration::from_secs(10);
/// How long pages have for the end of a run.
const LAST_WORD: Duration = Duration::from_secs(2);

/// Follow a run that goes on, here or on another machine that shares the disk
///
/// Only the run's files are read, and nothing is written. It ends when the run does, with 0 if the
/// run is complete or its time was up, 1 if it failed, and 5 if it was interrupted or nothing has
/// changed for as long as `--patience` says.
#[derive(Args, Debug)]
pub(crate) struct WatchArgs {
    /// The run's directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Show the run as it is now, and end
    #[arg(long)]
    once: bool,
    /// Write one JSON object a line, whenever something has changed
    #[arg(long)]
    pub(crate) json: bool,
    /// Seconds after which a run that does not change is taken for dead
    #[arg(long, value_name = "SECONDS", default_value_t = 600.0, allow_negative_numbers = true)]
    patience: f64,
    /// Show the run in the browser, at an address that is told; ADDR is a loopback address with a
    /// port [default: 127.0.0.1 and any port]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, require_equals = true,
          default_missing_value = "127.0.0.1:0", conflicts_with = "once")]
    serve: Option<String>,
}

pub(crate) fn run(args: &WatchArgs) -> Result<Exit, Failure> {
    let patience = Duration::try_from_secs_f64(args.patience).map_err(|_| {
        let found = args.patience;
        let message =
            format!("invalid value for `--patience`: expected a number from 0 on, found {found}");
        Failure::new(Exit::Usage, message)
    })?;
    let address = args.serve.as_deref().map(loopback).transpose()?;
    let stop = Stop::on_signals()?;
    let mut followed = Followed::open(&args.directory)?;
    followed.look()?;
    if args.once {
        show(&followed, args.json, 0)?;
        return Ok(Exit::Success);
    }
    let server = address.map(Server::start).transpose()?;
    if let Some(server) = &server {
        say(&format!("the run is at {}", server.url()));
        server.publish(&followed.to_json(true));
    }
    let is_terminal = std::io::stdout().is_terminal();
    let (mut shown, mut last_table, mut changed) = (0, None::<Instant>, true);
    let status = loop {
        let status = followed.status();
        let is_over = status != RunStatus::Running;
        let is_due = last_table.is_none_or(|last| is_terminal || last.elapsed() >= TABLE);
        if is_over || changed && (args.json || is_due) {
            shown = show(&followed, args.json, if is_terminal { shown } else { 0 })?;
            last_table = Some(Instant::now());
        }
        if is_over {
            break status;
        }
        if followed.unchanged() >= patience {
            let seconds = followed.unchanged().as_secs();
            let message = format!(
                "nothing has changed in `{}` for {seconds} seconds; its process may be gone",
                args.directory.display()
            );
            let hint = format!("`exmc resume {}` goes on with it", args.directory.display());
            return Err(Failure::new(Exit::Interrupted, message).hint(hint));
        }
        let slept = Instant::now();
        while slept.elapsed() < LOOK {
            if stop.is_asked() {
                return Ok(Exit::Interrupted);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        changed = followed.look()?;
        if let Some(server) = &server {
            server.publish(&followed.to_json(true));
        }
    };
    if server.is_some() {
        std::thread::sleep(LAST_WORD);
    }
    Ok(match status {
        RunStatus::Interrupted => Exit::Interrupted,
        RunStatus::Failed => Exit::Model,
        _ => Exit::Success,
    })
}

/// Writes how the run is, over so many lines that were written before; how many there are now.
fn show(followed: &Followed, json: bool, before: usize) -> Result<usize, Failure> {
    if json {
        put(&format!("{}\n", followed.to_json(false)))?;
        return Ok(0);
    }
    let text = followed.to_text();
    // Up to the first of them, and everything below is cleared.
    let up = if before > 0 { format!("\u{1b}[{before}A\u{1b}[J") } else { String::new() };
    put(&format!("{up}{text}"))?;
    Ok(text.lines().count())
}

/// An address that only this machine can reach.
fn loopback(text: &str) -> Result<SocketAddr, Failure> {
    let address: Option<SocketAddr> = text.parse().ok();
    match address {
        Some(address) if address.ip().is_loopback() => Ok(address),
        _ => {
            let message = format!(
                "invalid value for `--serve`: expected a loopback address with a port, found `{text}`"
            );
            let hint =
                "such as `127.0.0.1:8000` or `[::1]:0`; `ssh -L` brings it to another machine";
            Err(Failure::new(Exit::Usage, message).hint(hint))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_are_taken() {
        for good in ["127.0.0.1:0", "127.1.2.3:80", "[::1]:8000"] {
            assert!(loopback(good).is_ok(), "{good}");
        }
        let bad = ["0.0.0.0:80", "[::]:80", "192.168.1.2:80", "localhost:80", "127.0.0.1", "8000"];
        for bad in bad.into_iter().chain(["", "[::ffff:10.0.0.1]:80", "example.org:80"]) {
            assert!(loopback(bad).is_err(), "{bad}");
        }
    }
}
