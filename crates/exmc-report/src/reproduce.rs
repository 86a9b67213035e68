//! A run's record -> the command that makes it again, and hashes of what went in.

use exmc_draws::{METRICS, Method, sha256};
use exmc_plot::escaped;

use crate::fit::{Fit, SourceText};

/// The section's body.
pub(crate) fn reproduce(fit: &Fit) -> String {
    let record = &fit.run.record;
    let mut rows = vec![
        ("program".to_owned(), escaped(&record.program)),
        ("model".to_owned(), escaped(&record.model)),
        ("seed".to_owned(), record.config.seed.to_string()),
        ("begun".to_owned(), utc(record.started)),
    ];
    for source in [&fit.model, &fit.data].into_iter().flatten() {
        let SourceText { name, text } = source;
        let hash = format!("<code class=\"hash\">{}</code>", sha256(text));
        rows.push((format!("SHA-256 of <code>{}</code>", escaped(name)), hash));
    }
    let rows: String = rows
        .into_iter()
        .map(|(name, value)| format!("<tr><th scope=\"row\">{name}</th><td>{value}</td></tr>\n"))
        .collect();
    let command = match command(fit) {
        Some(command) => {
            // Lines end between words only: a browser may end one behind a hyphen of a flag.
            let words: Vec<String> =
                command.split(' ').map(|word| format!("<span>{}</span>", escaped(word))).collect();
            format!(
                "<p>With the files of the run's directory, this gives the same draws to the bit:</p>\n\
                 <pre class=\"command\"><code>{}</code></pre>\n",
                words.join(" ")
            )
        }
        None => "<p>The run's record does not hold the command that made it.</p>\n".to_owned(),
    };
    format!(
        "<table>\n<caption>What made the run</caption>\n<tbody>\n{rows}</tbody></table>\n{command}"
    )
}

/// The command line, where the record determines it: no starting point or earlier run went in.
fn command(fit: &Fit) -> Option<String> {
    let record = &fit.run.record;
    let config = &record.config;
    if record.method != Method::Sample || config.warm_start.is_some() {
        return None;
    }
    let (metric, _) = METRICS.iter().find(|(_, kind)| *kind == config.metric)?;
    let mut words = vec!["exmc sample".to_owned(), fit.model.as_ref()?.name.clone()];
    if let Some(data) = &fit.data {
        words.push(format!("--data {}", data.name));
    }
    words.push(format!(
        "--chains {} --warmup {} --draws {}",
        config.chains, config.warmup, config.draws
    ));
    words.push(format!("--seed {} --metric {metric}", config.seed));
    words
        .push(format!("--target-accept {} --max-depth {}", config.target_accept, config.max_depth));
    if config.step_jitter != 0.0 {
        words.push(format!("--step-jitter {}", config.step_jitter));
    }
    words.push(format!("--executor {}", record.executor));
    words.extend(record.without.iter().map(|pass| format!("--without {pass}")));
    Some(words.join(" "))
}

/// Seconds since 1970 as a date and time.
fn utc(seconds: u64) -> String {
    if seconds == 0 {
        return "unknown".to_owned();
    }
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days since 1 March of year 0, in eras of 400 years (Howard Hinnant, civil_from_days).
    let z = days + 719_468;
    let (era, day) = (z / 146_097, z % 146_097);
    let year_of_era = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + 400 * era + u64::from(month <= 2);
    format!(
        "{year}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

#[cfg(test)]
mod tests {
    use super::utc;

    /// From GNU `date -u -d @N`.
    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(utc(951_827_696), "2000-02-29 12:34:56 UTC");
        assert_eq!(utc(1_795_534_918), "2026-11-24 15:41:58 UTC");
        assert_eq!(utc(0), "unknown");
    }
}
