//! `cargo run --release -p matrix --bin logits -- FOLDER DATE`: policies that are saved on each
//! device and loaded on each other one in another process -> `nn-logits-DATE.json` and `.md`.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use matrix::logits::{BAR, FRAMES, Failure, Outcome, PLAIN, WINDOWS, compare, load, save};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args[..] {
        ["save", device, folder] => save(device, Path::new(folder)).map(|()| true),
        ["load", device, saved_on, folder] => {
            load(device, saved_on, Path::new(folder)).map(|()| true)
        }
        [folder, date] => report(Path::new(folder), date),
        _ => Err("usage: logits FOLDER DATE".into()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            fail(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

fn report(folder: &Path, date: &str) -> Result<bool, Failure> {
    let devices = backends::devices();
    let savers: Vec<&str> = devices.iter().map(|device| device.name).collect();
    let loaders: Vec<&str> = savers.iter().copied().chain([PLAIN]).collect();
    let scratch = std::env::temp_dir().join(format!("logits-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    let outcomes = compare(&std::env::current_exe()?, &savers, &loaders, &scratch);
    std::fs::remove_dir_all(&scratch)?;
    let outcomes = outcomes?;
    let text = text_of(&outcomes, date);
    let json = serde_json::to_string(&outcomes)?.replace("},{", "},\n{");
    std::fs::write(folder.join(format!("nn-logits-{date}.json")), json + "\n")?;
    std::fs::write(folder.join(format!("nn-logits-{date}.md")), &text)?;
    say(&text);
    Ok(outcomes.iter().all(Outcome::agrees))
}

fn text_of(outcomes: &[Outcome], date: &str) -> String {
    let mut text = format!("# The same policy on every device, {date}\n\n");
    text += "`cargo run --release -p matrix --bin logits -- ../bench/record DATE` in `nn/`.\n\n";
    let _ = writeln!(
        text,
        "Networks of each kind are trained for some steps and saved on one device, and loaded on another in another process. \
         Their logits of {WINDOWS}\nwindows of {FRAMES} frames are compared with loops over `f64`: the largest difference over the \
         largest logit; the bar is {BAR:.0e}. The loaded\nweights, saved again, must be the saved file byte for byte.\n"
    );
    let agreed = outcomes.iter().filter(|o| o.agrees()).count();
    let _ = writeln!(text, "{agreed} of {} rows are as they should be.\n", outcomes.len());
    text +=
        "| network | parameters | saved on | loaded on | largest logit | difference | weights |\n";
    text += "|---|---|---|---|---|---|---|\n";
    for outcome in outcomes {
        let weights = if outcome.has_equal_bits { "equal" } else { "**differ**" };
        let apart = match outcome.apart <= BAR {
            true => format!("{:.1e}", outcome.apart),
            false => format!("**{:.1e}**", outcome.apart),
        };
        let Outcome { backbone, parameters, saved_on, loaded_on, largest, .. } = outcome;
        let _ = writeln!(
            text,
            "| {backbone} | {parameters} | {saved_on} | {loaded_on} | {largest:.3} | {apart} | {weights} |"
        );
    }
    text
}

#[expect(clippy::print_stdout, reason = "a command line program")]
fn say(text: &str) {
    println!("{text}");
}

#[expect(clippy::print_stderr, reason = "a command line program")]
fn fail(text: &str) {
    eprintln!("error: {text}");
}
