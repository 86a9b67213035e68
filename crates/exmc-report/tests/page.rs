//! The structure of the page, and how a browser shows it where there is one.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use std::process::Command;
use std::{env, fs};

use exmc_draws::{ChainDraws, Posterior, StoredRun, Variable};
use exmc_plot::Parameter;
use exmc_plot::figures::{ComparedModel, Predictive};
use exmc_report::{Fit, Loo, SourceText, report};

const MODEL: &str = r#"{"exmc": 1, "nodes": [
  {"rv": "mu", "dist": "normal", "params": {"mu": 0, "sigma": 5}},
  {"rv": "y", "dist": "normal", "params": {"mu": "mu", "sigma": 1}},
  {"obs": "y_obs", "of": "y", "value": 2.5}
]}"#;

/// A stored run, made by writing one: two chains of 50 draws of `mu` and of an array of 60.
fn stored() -> StoredRun {
    let directory = env::temp_dir().join(format!("exmc-report-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("run.json"), RUN).unwrap();
    // Files of draws are the matter of exmc-draws: the record is read, draws are made here.
    let record = exmc_draws::read_record(&directory).unwrap();
    fs::remove_dir_all(&directory).unwrap();
    let posterior = Posterior {
        variables: record.variables.clone(),
        chains: (0..2).map(chain).collect(),
        seconds: 1.5,
        max_depth: 10,
        warnings: Vec::new(),
    };
    StoredRun::in_memory(record, posterior, vec!["chain 1 was restarted".to_owned()])
}

const RUN: &str = r#"{
  "exmc_run": 1, "program": "exmc 0.1.0", "method": "sample", "model": "m<o>del", "started": 951827696,
  "status": "completed", "seconds": 1.5,
  "settings": {"chains": 2, "warmup": 10, "draws": 50, "seed": 77, "metric": "diag",
    "target_accept": 0.8, "raise_target_accept": true, "max_depth": 10, "step_jitter": 0.0,
    "initial_radius": 2.0, "initial_attempts": 100, "max_energy_error": 1000.0, "threads": 1,
    "executor": "native", "without": ["marginalise"], "save_warmup": false},
  "variables": [{"name": "mu", "shape": [], "dims": []}, {"name": "x", "shape": [60], "dims": []}],
  "coordinates": [{"name": "mu", "length": 1, "centred": [0.25]}],
  "chains": []
}"#;

fn chain(chain: u32) -> ChainDraws {
    let value =
        |t: usize, k: usize| ((t * 7919 + k * 104_729 + 31 * chain as usize) % 1009) as f64 / 500.0;
    let mut infos = Vec::new();
    for t in 0..50 {
        let mut info = exmc_infer::Info::still(-value(t, 0), 0.5);
        (info.divergent, info.energy, info.tree_depth) = (t % 25 == 3, value(t, 1), 3);
        infos.push(info);
    }
    ChainDraws {
        chain,
        values: (0..50).flat_map(|t| (0..61).map(move |k| value(t, k))).collect(),
        infos,
        warmup_values: Vec::new(),
        warmup_infos: Vec::new(),
        leapfrogs: 420,
        raised_target: None,
        restarts: Vec::new(),
        warmup_seconds: 0.5,
        sampling_seconds: 1.0,
        tuned: None,
        outcome: exmc_infer::ChainOutcome::Completed,
    }
}

fn page(n: usize) -> String {
    page_without(n, &[])
}

/// The same with variables that have no rows of their own.
fn page_without(n: usize, aside: &[&str]) -> String {
    let run = stored();
    assert_eq!(run.posterior.variables.iter().map(Variable::len).sum::<usize>(), 61);
    let check =
        Predictive::new(vec![1.0, 2.0, 2.0], vec![vec![0.0, 2.0, 3.0], vec![1.0, 1.0, 2.0]])
            .unwrap();
    let fit = |k: usize| Fit {
        label: format!("run & {k}"),
        run: &run,
        model: Some(SourceText { name: "model.json".into(), text: MODEL.into() }),
        data: Some(SourceText {
            name: "data.json".into(),
            text: r#"{"y": [[1, 2], [3, 4.5]], "w": "a<b"}"#.into(),
        }),
        aside: aside.iter().map(|name| (*name).to_owned()).collect(),
        checks: vec![("y_rep".to_owned(), check.clone())],
        checks_note: Some("2 draws of y < 0 are left out".to_owned()),
        loo: Some(Loo {
            elpd: (-12.25, 1.5),
            p: 1.1,
            pareto_k: vec![0.1, 0.9, 0.3],
            limit: 0.7,
            worst: vec![("y[<1>]".to_owned(), 0.9, -5.5)],
            pit: Some(vec![0.2, 0.5, 0.9]),
        }),
        prior: vec![Parameter::new("mu", vec![vec![0.0, 1.0, 2.5, 4.0]]).unwrap()],
    };
    let fits: Vec<Fit> = (0..n).map(fit).collect();
    let compared = ComparedModel {
        name: "one".into(),
        elpd: -12.25,
        elpd_se: 1.5,
        difference: 0.0,
        difference_se: 0.0,
    };
    report(&fits, &[compared])
}

/// The beginnings of all elements of a name.
fn tags<'a>(page: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let open = format!("<{name}");
    page.match_indices(&open)
        .map(|(start, _)| &page[start + 1..])
        .filter(move |rest| !rest[name.len()..].starts_with(|c: char| c.is_alphanumeric()))
        .map(|rest| &rest[..rest.find('>').unwrap()])
        .collect::<Vec<_>>()
        .into_iter()
}

#[test]
fn the_page_needs_nothing_else() {
    for page in [page(1), page(3)] {
        assert!(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
        for absent in
            ["<script", "<link", "<iframe", "@import", "url(", "src=", "onclick", "javascript:"]
        {
            assert!(!page.contains(absent), "{absent}");
        }
        // A namespace is a name, not a place that is fetched.
        let rest = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
        assert!(!rest.contains("http:") && !rest.contains("https:") && !rest.contains("//"));
        assert!(page.contains("prefers-color-scheme:dark"));
    }
}

#[test]
fn headings_images_and_tables_can_be_heard() {
    for page in [page(1), page(2)] {
        let mut before = 0;
        for (start, _) in page.match_indices("<h") {
            let Some(level) = page[start + 2..].chars().next().and_then(|c| c.to_digit(10)) else {
                continue;
            };
            assert!(level <= before + 1, "h{level} after h{before}");
            before = level;
        }
        assert_eq!(tags(&page, "h1").count(), 1);
        let mut ids: Vec<&str> = page
            .match_indices(" id=\"")
            .map(|(start, m)| page[start + m.len()..].split('"').next().unwrap())
            .collect();
        let n = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), n, "ids are of one element each");
        let images: Vec<&str> = tags(&page, "svg").filter(|t| t.contains("exmc-figure")).collect();
        assert!(images.len() >= 8, "{} images", images.len());
        for image in images {
            let named =
                image.split("aria-labelledby=\"").nth(1).unwrap().split('"').next().unwrap();
            assert!(image.contains("role=\"img\""));
            for id in named.split(' ') {
                assert!(ids.binary_search(&id).is_ok(), "{id}");
            }
        }
        assert_eq!(tags(&page, "table").count(), tags(&page, "caption").count());
        assert!(tags(&page, "th").all(|t| t.contains("scope=")));
        for anchor in tags(&page, "a") {
            let target = anchor.split("href=\"#").nth(1).unwrap().split('"').next().unwrap();
            assert!(ids.binary_search(&target).is_ok(), "{target}");
        }
    }
}

#[test]
fn the_page_says_what_happened() {
    let page = page(1);
    for said in [
        "4 of 100 transitions (4.0 %) diverged",
        "<em>Advice:</em>",
        "Fit of m&lt;o&gt;del",
        "chosen between non-centred (0) and centred (1): 0.25",
        "Left out on request: marginalise.",
        "Recorded, but not a coordinate: x.",
        "Chain 1 was restarted.",
        "<span>--seed</span> <span>77</span> <span>--metric</span> <span>diag</span>",
        "2000-02-29 12:34:56 UTC",
        "2 × 2",
        "density -12.2 (standard error 1.5)",
        "1 of 3 observations have a Pareto k above 0.7",
        "Rootogram: y_rep",
        "Predictive checks</h2>\n<p>2 draws of y &lt; 0 are left out</p>",
        "y_obs (obs) depends on y",
    ] {
        assert!(page.contains(said), "{said}");
    }
    // `sha256sum` of the model's text.
    assert!(page.contains(&exmc_draws::sha256(MODEL)));
    assert_eq!(page, self::page(1), "the same bytes each time");
}

/// Loads the page in headless Chromium, narrow and wide: nothing may stand out to the side.
#[test]
fn a_browser_shows_the_page_without_scrolling_sideways() {
    let browsers = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let found = browsers
        .iter()
        .find(|b| Command::new(b).arg("--version").output().is_ok_and(|o| o.status.success()));
    let Some(browser) = found else {
        println!("skipped: none of {browsers:?} is installed");
        return;
    };
    let folder = env::temp_dir().join(format!("exmc-browser-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    // The page has no script; the frame around it measures it.
    fs::write(folder.join("page.html"), page(2)).unwrap();
    let frame = "<!DOCTYPE html><body><script>let text = ''; for (const w of [360, 1280]) { const f = \
        document.createElement('iframe'); f.width = w; f.height = 800; f.src = 'page.html'; \
        f.onload = () => { const r = f.contentDocument.documentElement; \
        const shown = [...f.contentDocument.querySelectorAll('svg.exmc-figure')].filter(s => s.getClientRects().length); \
        const out = shown.filter(s => s.getBoundingClientRect().right > r.clientWidth).length; \
        text += `[${w} ${r.scrollWidth - r.clientWidth} ${out} of ${shown.length}]`; \
        document.title = text; }; document.body.append(f); }</script>";
    fs::write(folder.join("frame.html"), frame).unwrap();
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"])
        .args(["--virtual-time-budget=20000", "--dump-dom", &profile])
        .arg(folder.join("frame.html"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let _ = fs::remove_dir_all(&folder);
    if !output.status.success() {
        println!(
            "skipped: {browser} does not run here: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        return;
    }
    // Each figure is there once, as wide as the window allows.
    let figures = tags(&page(2), "figure").count();
    for width in [360, 1280] {
        let expected = format!("[{width} 0 0 of {figures}]");
        assert!(text.contains(&expected), "{expected} is not in {}", &text[..text.len().min(400)]);
    }
}

#[test]
fn figures_are_there_for_wide_and_for_narrow_windows() {
    let page = page(1);
    let count = |what: &str| page.matches(what).count();
    assert!(count("<div class=\"broad\">") >= 8);
    assert_eq!(count("<div class=\"broad\">"), count("<div class=\"narrow\">"));
    assert!(page.contains("(max-width:40rem){.broad{display:none}.narrow{display:block}}"));
}

#[test]
fn what_belongs_to_observations_has_no_rows_of_its_own() {
    let (full, without) = (page(1), page_without(1, &["x"]));
    assert!(
        full.contains("<caption>All 61 values</caption>") && full.contains("<code>x[7]</code>")
    );
    assert!(without.contains("<caption>All 1 values, without the 60 of x</caption>"));
    assert!(!without.contains("<code>x[7]</code>") && without.contains("<code>mu</code>"));
    assert!(page_without(1, &["mu", "x"]).contains("<code>x[7]</code>"), "there is nothing else");
}

#[test]
fn leave_one_out_prior_and_comparison_have_their_sections() {
    let page = page(1);
    for expected in [
        "Leave-one-out cross-validation</h2>",
        "<code>y[&lt;1&gt;]</code>",
        "exmc loo --exact",
        "Prior and posterior</h2>",
        "Expected log predictive density of observations",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
}
