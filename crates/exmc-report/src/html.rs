//! Fits -> the page: its sections in order, style sheet, tables.

use std::fmt::Write;

use exmc_diagnose::{RunDiagnostics, Summary, Warning};
use exmc_plot::figures::{ComparedModel, compare_plot};
use exmc_plot::{Theme, escaped, known, short, style_sheet};

use crate::data_table::data_table;
use crate::fit::{Fit, health};
use crate::history::history;
use crate::model_graph::model_graph;
use crate::plots::{
    check_figures, comparison_figure, health_figures, image, loo_figures, posterior_figures,
    prior_figures, worst,
};
use crate::reproduce::reproduce;

/// Most rows of the table of parameters; then those with the largest R-hat.
const ROWS: usize = 200;

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1a1a1a;--soft:#555;--paper:#fff;--line:#d8d8d8;--card:#f6f6f6;\
--good:#00664a;--bad:#a63a00}\n\
@media (prefers-color-scheme:dark){:root{--ink:#ececec;--soft:#b0b0b0;--paper:#16181b;--line:#3a3d42;\
--card:#1f2226;--good:#4cc9a0;--bad:#ffa25e}}\n\
body{margin:0 auto;max-width:52rem;padding:0 1rem 3rem;font:1rem/1.5 system-ui,sans-serif;\
color:var(--ink);background:var(--paper)}\n\
h1{font-size:1.6rem}h2{font-size:1.3rem;margin-top:2.2rem;border-top:1px solid var(--line);\
padding-top:1rem}h3{font-size:1.05rem;margin-top:1.6rem}\n\
h1,h2,h3,p,li,td,th{overflow-wrap:anywhere}\n\
nav ul{padding-left:1.2rem}a{color:inherit}\n\
pre{background:var(--card);padding:.8rem;overflow:auto;max-height:30rem;font-size:.85rem}\n\
code{font-family:ui-monospace,monospace;font-size:.9em}.hash{word-break:break-all}\n\
table{border-collapse:collapse;font-size:.9rem}\
caption{text-align:left;color:var(--soft);padding:.3rem 0;max-width:calc(100vw - 3rem)}\n\
th,td{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:right;vertical-align:top}\n\
.wide th,.wide td{overflow-wrap:normal;white-space:nowrap}\n\
th[scope=row]{text-align:left;font-weight:500}thead th{color:var(--soft);font-weight:600}\n\
.wide{overflow-x:auto}figure{margin:1rem 0}figure svg{display:block;height:auto;max-width:100%}\n\
.narrow{display:none}@media screen and (max-width:40rem){.broad{display:none}.narrow{display:block}}\n\
th code{white-space:nowrap}.command{white-space:pre-wrap}.command span{white-space:nowrap}\n\
.verdict{border-left:.4rem solid;padding:.5rem 1rem;background:var(--card)}\n\
.good{border-color:var(--good)}.bad{border-color:var(--bad)}\n\
.verdict strong{display:block}\n\
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem}\n\
@media print{pre{max-height:none}}\n";

/// One self-contained page on one or more runs; `compared` is their comparison by predictive
/// density, which may be empty.
pub fn report(fits: &[Fit], compared: &[ComparedModel]) -> String {
    let title = match fits {
        [one] => format!("Fit of {}", one.run.record.model),
        _ => format!("{} fits", fits.len()),
    };
    let title = escaped(&title);
    let mut body = String::new();
    let _ = writeln!(body, "<h1>{title}</h1>");
    if fits.len() > 1 {
        contents(&mut body, fits);
    }
    let mut between = String::new();
    if fits.len() > 1 || !compared.is_empty() {
        comparison(&mut between, fits, compared);
    }
    // Of one run its own verdict comes first.
    if fits.len() > 1 {
        body.push_str(&std::mem::take(&mut between));
    }
    for (k, fit) in fits.iter().enumerate() {
        one_fit(&mut body, fit, (k, fits.len() > 1), &between);
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <title>{title} - exmc</title>\n<style>\n{STYLE}{}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the report</a>\n<main id=\"main\">\n{body}</main>\n\
         </body>\n</html>\n",
        style_sheet(Theme::Automatic)
    )
}

fn contents(out: &mut String, fits: &[Fit]) {
    out.push_str(
        "<nav aria-label=\"Contents\">\n<ul>\n<li><a href=\"#comparison\">Comparison</a></li>\n",
    );
    for (k, fit) in fits.iter().enumerate() {
        let _ = writeln!(out, "<li><a href=\"#fit-{k}\">{}</a></li>", escaped(&fit.label));
    }
    out.push_str("</ul>\n</nav>\n");
}

fn comparison(out: &mut String, fits: &[Fit], compared: &[ComparedModel]) {
    let level = if fits.len() > 1 { 2 } else { 3 };
    let _ = writeln!(out, "<h{level} id=\"comparison\">Comparison</h{level}>");
    if let Ok(figure) = compare_plot(compared) {
        out.push_str(&comparison_table(compared));
        out.push_str(&image(&figure, "compare"));
    }
    if fits.len() < 2 {
        return;
    }
    match comparison_figure(fits) {
        Some(figure) => out.push_str(&image(&figure, "forest-of-runs")),
        None => out.push_str("<p>The runs have no parameters in common.</p>\n"),
    }
}

/// The sections on one run; `comparison` stands behind that on leave-one-out.
fn one_fit(out: &mut String, fit: &Fit, (k, several): (usize, bool), comparison: &str) {
    let (summaries, totals, warnings) = health(fit.posterior());
    let heading = if several { format!("Fit {}", fit.label) } else { "Verdict".to_owned() };
    let _ = writeln!(out, "<h2 id=\"fit-{k}\">{}</h2>", escaped(&heading));
    verdict(out, fit, &summaries, &warnings);
    let level = if several { 3 } else { 2 };
    let mut section = |title: &str, text: &str| {
        if !text.is_empty() {
            let _ = writeln!(out, "<h{level}>{title}</h{level}>\n{text}");
        }
    };
    let images = |figures: Vec<exmc_plot::Figure>, name: &str| -> String {
        let one = |(n, figure): (usize, &exmc_plot::Figure)| {
            image(figure, &format!("fit-{k}-{name}-{n}"))
        };
        figures.iter().enumerate().map(one).collect()
    };
    section("Model", &model(fit, k));
    section("Data", &fit.data.as_ref().map(|d| data_table(&d.text)).unwrap_or_default());
    let did: String = history(fit).iter().map(|s| format!("<li>{}</li>\n", escaped(s))).collect();
    section("What exmc did", &format!("<ul>\n{did}</ul>\n"));
    if !summaries.is_empty() {
        section(
            "Posterior",
            &(table(fit, &summaries) + &images(posterior_figures(fit), "posterior")),
        );
        let health =
            totals_table(fit, &totals) + &images(health_figures(fit, &summaries), "health");
        section("Health of the sampler", &health);
    }
    section("Prior and posterior", &images(prior_figures(fit), "prior"));
    let note = fit.checks_note.iter().map(|note| format!("<p>{}</p>\n", escaped(note)));
    section(
        "Predictive checks",
        &(note.collect::<String>() + &images(check_figures(fit), "check")),
    );
    let loo = loo_text(fit) + &images(loo_figures(fit), "loo") + comparison;
    section("Leave-one-out cross-validation", &loo);
    section("How to reproduce", &reproduce(fit));
}

fn verdict(out: &mut String, fit: &Fit, summaries: &[(String, Summary)], warnings: &[Warning]) {
    let (class, words) = match (summaries.is_empty(), warnings.len()) {
        (true, _) => ("bad", "There are no draws to judge.".to_owned()),
        (_, 0) => ("good", "No diagnostic warns.".to_owned()),
        (_, 1) => ("bad", "One diagnostic warns.".to_owned()),
        (_, n) => ("bad", format!("{n} diagnostics warn.")),
    };
    let draws: usize = fit.posterior().usable_chains().iter().map(|c| c.infos.len()).sum();
    let chains = fit.posterior().usable_chains().len();
    let _ = writeln!(
        out,
        "<div class=\"verdict {class}\"><strong>{words}</strong> {draws} draws of {} values in {chains} \
         chains, in {} seconds.</div>",
        summaries.len(),
        short(fit.posterior().seconds, 3)
    );
    if !warnings.is_empty() {
        out.push_str("<ul>\n");
        for warning in warnings {
            let (message, hint) = (escaped(&warning.message), escaped(warning.hint));
            let _ = writeln!(out, "<li>{message}.<br><em>Advice:</em> {hint}.</li>");
        }
        out.push_str("</ul>\n");
    }
}

fn model(fit: &Fit, k: usize) -> String {
    let Some(source) = &fit.model else {
        return "<p>The run's directory holds no model text.</p>\n".to_owned();
    };
    let graph = model_graph(&source.text, &format!("fit-{k}-model"));
    let graph = graph.map(|svg| {
        format!("<figure class=\"graph\"><div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Graph of the model\">\n{svg}</div></figure>\n")
    });
    format!(
        "{}<pre tabindex=\"0\" role=\"region\" aria-label=\"Text of the model\"><code>{}</code></pre>\n",
        graph.unwrap_or_default(),
        escaped(&source.text)
    )
}

fn table(fit: &Fit, summaries: &[(String, Summary)]) -> String {
    let candidates: Vec<(String, Summary)> =
        summaries.iter().filter(|(name, _)| fit.is_shown(name)).cloned().collect();
    let shown: Vec<&(String, Summary)> = if candidates.len() <= ROWS {
        candidates.iter().collect()
    } else {
        let names = worst(&candidates, ROWS);
        names.iter().filter_map(|n| candidates.iter().find(|(name, _)| name == n)).collect()
    };
    let mut caption = match candidates.len() {
        n if n > shown.len() => {
            format!("The {} of {n} values whose R-hat is largest", shown.len())
        }
        n => format!("All {n} values"),
    };
    if candidates.len() < summaries.len() {
        let names: Vec<String> = fit.aside.iter().map(|name| escaped(name)).collect();
        let left_out = summaries.len() - candidates.len();
        caption += &format!(", without the {left_out} of {}", names.join(" and "));
    }
    let mut rows = String::new();
    for (name, s) in shown {
        let _ = write!(rows, "<tr><th scope=\"row\"><code>{}</code></th>", escaped(name));
        // Down to the first digit that the standard error of the mean makes uncertain.
        let uncertain = s.mcse_mean;
        let values = [s.mean, s.sd].map(|value| known(value, uncertain));
        let quantiles = [s.q5, s.q50, s.q95].map(|value| known(value, uncertain));
        for value in values.iter().chain([&short(uncertain, 2)]).chain(&quantiles) {
            let _ = write!(rows, "<td>{value}</td>");
        }
        let _ = writeln!(
            rows,
            "<td>{:.0}</td><td>{:.0}</td><td>{:.3}</td></tr>",
            s.ess_bulk, s.ess_tail, s.rhat
        );
    }
    let head =
        ["parameter", "mean", "sd", "mcse", "5 %", "50 %", "95 %", "bulk ESS", "tail ESS", "R-hat"];
    let head: String = head.iter().map(|h| format!("<th scope=\"col\">{h}</th>")).collect();
    format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table of the posterior\"><table>\n\
         <caption>{caption}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )
}

fn totals_table(fit: &Fit, totals: &RunDiagnostics) -> String {
    if !fit.is_sampled() {
        return "<p>No sampler made these draws, so there are no sampler statistics.</p>\n"
            .to_owned();
    }
    let mut rows = String::new();
    let chains = fit.posterior().chains.iter().filter(|c| !c.infos.is_empty());
    for (chain, ebfmi) in chains.zip(&totals.ebfmi) {
        let divergent = chain.infos.iter().filter(|i| i.divergent).count();
        let deepest =
            chain.infos.iter().filter(|i| i.tree_depth >= fit.posterior().max_depth).count();
        let step = chain.tuned.as_ref().map_or(String::new(), |t| short(t.step_size, 3));
        let _ = writeln!(
            rows,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{step}</td>\
             <td>{}</td></tr>",
            chain.chain,
            chain.infos.len(),
            divergent,
            deepest,
            short(*ebfmi, 3),
            chain.leapfrogs
        );
    }
    let head = [
        "chain",
        "draws",
        "divergent",
        "at largest depth",
        "E-BFMI",
        "step size",
        "leapfrog steps",
    ];
    let head: String = head.iter().map(|h| format!("<th scope=\"col\">{h}</th>")).collect();
    format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table of the chains\"><table>\n\
         <caption>Chains</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )
}

/// Models by their expected log predictive density, the best one first.
fn comparison_table(compared: &[ComparedModel]) -> String {
    let mut rows = String::new();
    for model in compared {
        let _ = write!(rows, "<tr><th scope=\"row\"><code>{}</code></th>", escaped(&model.name));
        let is_best = model.difference == 0.0 && model.difference_se == 0.0;
        let pairs = [
            (model.difference, if is_best { f64::NAN } else { model.difference_se }),
            (model.elpd, model.elpd_se),
        ];
        for (value, error) in pairs {
            match error.is_nan() {
                true => rows.push_str("<td></td><td></td>"),
                false => {
                    let [value, error] = [value, error].map(|x| known(x, 0.1 * error));
                    let _ = write!(rows, "<td>{value}</td><td>{error}</td>");
                }
            }
        }
        rows.push_str("</tr>\n");
    }
    let head = ["model", "difference", "its error", "elpd", "error"];
    let head: String = head.iter().map(|h| format!("<th scope=\"col\">{h}</th>")).collect();
    format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table of models\"><table>\n\
         <caption>Expected log predictive density of observations that a model has not seen, the best \
         first; a difference below 4, or within two of its errors, is none to act on</caption>\n\
         <thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )
}

fn loo_text(fit: &Fit) -> String {
    let Some(loo) = &fit.loo else { return String::new() };
    let bad = loo.pareto_k.iter().filter(|k| **k > loo.limit || k.is_nan()).count();
    let mut text = format!(
        "<p>Expected log predictive density {} (standard error {}), effective number of parameters \
         {}; {bad} of {} observations have a Pareto k above {}.</p>\n",
        known(loo.elpd.0, 0.1 * loo.elpd.1),
        known(loo.elpd.1, 0.1 * loo.elpd.1),
        short(loo.p, 3),
        loo.pareto_k.len(),
        short(loo.limit, 2)
    );
    if bad == 0 {
        return text;
    }
    text.push_str(
        "<p><em>Advice:</em> the estimate is not to be trusted for these observations, which the \
         model finds surprising or follows closely. Look at them; <code>exmc loo --moment-match</code> \
         moves the draws, <code>exmc loo --exact</code> fits anew without each.</p>\n",
    );
    let mut rows = String::new();
    for (name, k, elpd) in &loo.worst {
        let (name, k, elpd) = (escaped(name), short(*k, 3), short(*elpd, 4));
        let _ = writeln!(
            rows,
            "<tr><th scope=\"row\"><code>{name}</code></th><td>{k}</td><td>{elpd}</td></tr>"
        );
    }
    let _ = writeln!(
        text,
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Observations with a large Pareto k\">\
         <table>\n<caption>Observations with the largest Pareto k</caption>\n<thead><tr>\
         <th scope=\"col\">observation</th><th scope=\"col\">Pareto k</th><th scope=\"col\">elpd</th>\
         </tr></thead>\n<tbody>\n{rows}</tbody></table></div>"
    );
    text
}
