//! `exmc plot` and `exmc report`: figures and pages of stored runs.

use crate::harness::Folder;

const KINDS: [&str; 11] = [
    "trace",
    "rank",
    "forest",
    "posterior",
    "pair",
    "parallel",
    "energy",
    "ess",
    "ess-quantile",
    "autocorrelation",
    "overview",
];

fn with_run() -> Folder {
    let folder = Folder::with_models();
    folder.sample("schools.json", "run", &[]).ends_with(0);
    folder
}

#[test]
fn every_kind_is_drawn_as_text_and_as_an_image() {
    let folder = with_run();
    for kind in KINDS {
        let text = folder.exmc(&["plot", "run", kind]).ends_with(0);
        assert!(text.stdout.lines().count() > 8, "{kind}: {text:?}");
        assert!(text.stdout.lines().all(|line| line.chars().count() <= 100), "{kind}");
        let plain = folder.exmc(&["plot", "run", kind, "--ascii", "--width", "60"]).ends_with(0);
        assert!(plain.stdout.is_ascii(), "{kind}");
        assert!(plain.stdout.lines().all(|line| line.len() <= 60), "{kind}");
        let image = format!("{kind}.svg");
        let ran = folder.exmc(&["plot", "run", kind, "--out", &image]).ends_with(0);
        assert_eq!(ran.stdout, "", "{kind}");
        let first = folder.read(&image);
        assert!(first.starts_with(b"<svg "), "{kind}");
        folder.exmc(&["plot", "run", kind, "--out", &image]).ends_with(0);
        assert!(first == folder.read(&image), "{kind}: other bytes the second time");
    }
}

#[test]
fn parameters_are_chosen_by_name_and_page() {
    let folder = with_run();
    let figure = |args: &[&str]| {
        let args = [&["plot", "run", "posterior", "--json"], args].concat();
        folder.exmc(&args).ends_with(0).json()["figure"].as_str().unwrap().to_owned()
    };
    let panels = |text: &str| -> Vec<String> {
        text.lines().filter_map(|l| l.strip_prefix("panel: ").map(str::to_owned)).collect()
    };
    assert_eq!(panels(&figure(&["mu", "theta[3]"])), ["mu", "theta[3]"]);
    assert_eq!(panels(&figure(&["theta"])).len(), 8);
    let (first, second) = (figure(&[]), figure(&["--page", "2"]));
    assert_eq!((panels(&first).len(), panels(&second).len()), (9, 1));
    assert!(first.contains("note: Page 1 of 2: 9 of 10 parameters."), "{first}");

    // The worst one by R-hat is that of the summary.
    let summary = folder.exmc(&["summary", "run", "--json"]).ends_with(0).json();
    let rows = summary["parameters"].as_array().unwrap();
    let rhat = |row: &&serde_json::Value| row["rhat"].as_f64().unwrap();
    let worst = rows.iter().max_by(|a, b| rhat(a).total_cmp(&rhat(b))).unwrap();
    assert_eq!(panels(&figure(&["--worst"]))[0], worst["name"].as_str().unwrap());
}

#[test]
fn predictive_checks_take_observations_from_the_data() {
    let folder = Folder::new();
    folder.write(
        "m.stan",
        "data { int n; array[n] int y; array[n] int g; }\nparameters { real<lower=0, upper=1> p; }\n\
         model { y ~ bernoulli(p); }\n\
         generated quantities { array[n] int r; for (i in 1:n) r[i] = bernoulli_rng(p); }\n",
    );
    folder.write("d.json", r#"{"n": 6, "y": [0, 1, 1, 1, 0, 1], "g": [1, 1, 1, 2, 2, 2]}"#);
    folder.sample("m.stan", "run", &["--data", "d.json"]).ends_with(0);
    for kind in ["ppc", "ppc-ecdf", "rootogram", "calibration"] {
        let ran = folder.exmc(&["plot", "run", kind, "r", "--observed", "y"]).ends_with(0);
        assert!(ran.stdout.lines().count() > 8, "{ran:?}");
    }
    let args = ["plot", "run", "ppc", "r", "--observed", "y", "--group", "g"];
    let grouped = folder.exmc(&args).ends_with(0).stdout;
    assert!(grouped.contains("g 1") && grouped.contains("g 2"), "{grouped}");
    let prior = ["plot", "run", "prior", "p", "--with", "run"];
    folder.exmc(&prior).ends_with(0);

    folder.exmc(&["report", "run", "--check", "r=y", "-o", "page.html"]).ends_with(0);
    let page = String::from_utf8(folder.read("page.html")).unwrap();
    assert!(page.contains("Rootogram: r and y") && page.contains("bernoulli_rng(p)"));

    for (args, said) in [
        (
            &["plot", "run", "ppc", "r"][..],
            "what a recorded quantity replicates is named by `--observed`",
        ),
        (&["plot", "run", "ppc"], "error: a predictive check is of one"),
        (&["plot", "run", "ppc", "r", "--observed", "z"], "error: the data have no `z`"),
        (&["plot", "run", "ppc", "p", "--observed", "y"], "`p` has 1 elements, but `y` has 6"),
        (&["report", "run", "--check", "r"], "is no pair"),
        (&["report", "run", "--check", "q=y"], "the run records no `q`"),
    ] {
        let ran = folder.exmc(args).ends_with(2);
        assert!(ran.stderr.contains(said), "{ran:?}");
    }
}

#[test]
fn runs_are_compared_on_one_page() {
    let folder = with_run();
    folder.sample("schools.json", "other", &["--seed", "9"]).ends_with(0);
    let ran = folder.exmc(&["report", "run", "other", "-o", "both.html"]).ends_with(0);
    assert!(ran.stderr.contains("the report is in `both.html`"), "{ran:?}");
    let page = String::from_utf8(folder.read("both.html")).unwrap();
    assert!(
        page.contains("<h2 id=\"comparison\">")
            && page.contains("<span>--seed</span> <span>9</span>")
    );
    assert!(page.contains("Graph of the model") && !page.contains("<script"));
    let forest = folder.exmc(&["plot", "run", "forest", "mu", "--with", "other"]).ends_with(0);
    assert!(forest.stdout.contains("run") && forest.stdout.contains("other"));
}

#[test]
fn what_cannot_be_drawn_is_said() {
    let folder = with_run();
    for (args, code, said) in [
        (&["plot", "run", "trace", "nu"][..], 2, "error: the run records no `nu`"),
        (&["plot", "run", "pair", "mu"], 2, "2 to 8 parameters, not 1"),
        (&["plot", "run", "trace", "--out", "x.gif"], 2, "ends in `.svg` or `.png`"),
        (&["plot", "run", "trace", "--page", "9"], 2, "there is no page 9 of 2"),
        (&["plot", "run", "trace", "--probability", "1.5"], 2, "not between 0 and 1"),
        (&["plot", "run", "prior", "--with", "a", "--with", "b"], 2, "takes one run of the prior"),
        (&["plot", "run", "compare"], 2, "needs another run"),
        (&["plot", "absent", "trace"], 4, "cannot read `absent`"),
        (&["plot", "run", "trace", "--out", "no/where.svg"], 4, "cannot write `no/where.svg`"),
        (&["report", "run", "-o", "no/where.html"], 4, "cannot write `no/where.html`"),
    ] {
        let ran = folder.exmc(args).ends_with(code);
        assert_eq!(ran.stdout, "");
        assert!(ran.stderr.contains(said), "{ran:?}");
    }
    if !cfg!(feature = "png") {
        let ran = folder.exmc(&["plot", "run", "trace", "--out", "x.png"]).ends_with(2);
        assert!(ran.stderr.contains("--features png"), "{ran:?}");
    }
}
