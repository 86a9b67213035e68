//! What figures hold: descriptions as text (`EXMC_BLESS=1` writes them anew), and numbers against
//! closed forms and numpy.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use std::path::Path;
use std::{env, fs};

use exmc_plot::figures::{
    ComparedModel, Predictive, autocorrelation_plot, calibration_plot, compare_plot, energy_plot,
    ess_evolution_plot, ess_quantile_plot, forest_by_index_plot, forest_plot, loo_pit_plot,
    overview_plot, pair_plot, parallel_plot, pareto_k_plot, posterior_plot,
    predictive_density_plot, predictive_ecdf_plot, prior_posterior_plot, rank_plot, rootogram_plot,
    trace_plot,
};
use exmc_plot::statistics::Interval;
use exmc_plot::{
    Figure, Mark, Marker, Parameter, SamplerStatistics, SvgOptions, TerminalOptions, Theme,
    describe, svg, terminal,
};
use serde_json::Value;

/// Numbers in (-1, 1) that look random: a multiplicative generator, the same everywhere.
fn noise(seed: u64, n: usize) -> Vec<f64> {
    let mut state = seed * 2 + 1;
    let step = |_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 30) as f64 - 1.0
    };
    (0..n).map(step).collect()
}

fn parameter(name: &str, seed: u64, scale: f64) -> Parameter {
    let chain = |c: u64| -> Vec<f64> {
        let (a, b) = (noise(seed + 10 * c, 100), noise(seed + 10 * c + 5, 100));
        a.iter().zip(b).map(|(a, b)| scale * (a + b + 1.0)).collect()
    };
    Parameter::new(name, (0..4).map(chain).collect()).unwrap()
}

fn some() -> Vec<Parameter> {
    vec![parameter("mu", 1, 1.0), parameter("tau", 2, 3.0), parameter("theta[1]", 3, 0.1)]
}

fn statistics() -> SamplerStatistics {
    let divergent = |c: usize| (0..100).map(|t| t % 40 == 10 * c).collect();
    SamplerStatistics {
        divergent: (0..4).map(divergent).collect(),
        energy: (0..4).map(|c| noise(70 + c, 100).iter().map(|x| 10.0 + x).collect()).collect(),
    }
}

fn check() -> Predictive {
    let counts = |seed: u64| noise(seed, 40).iter().map(|x| (3.0 * x + 3.0).round()).collect();
    let groups = (0..40).map(|k| if k % 3 == 0 { "a" } else { "b" }.to_owned()).collect();
    Predictive::new(counts(900), (0..30).map(|s| counts(901 + s)).collect())
        .unwrap()
        .by_group(groups)
        .unwrap()
}

/// Every figure that there is, by name.
fn all() -> Vec<(&'static str, Figure)> {
    let parameters = some();
    let flags = statistics().pooled_divergent();
    let runs =
        [("first".to_owned(), parameters.clone()), ("second".to_owned(), parameters[1..].to_vec())];
    let summary = |p: &Parameter| (p.name().to_owned(), p.statistic(exmc_diagnose::Summary::of));
    let summaries: Vec<_> = parameters.iter().map(summary).collect();
    let model = |name: &str, elpd: f64, difference: f64| ComparedModel {
        name: name.to_owned(),
        elpd,
        elpd_se: 2.0,
        difference,
        difference_se: 0.5,
    };
    let pit: Vec<f64> = (0..50).map(|k| (f64::from(k) + 0.5) / 50.0).collect();
    let outcome: Vec<f64> = (0..50).map(|k| f64::from(k * k % 7 < k % 6)).collect();
    vec![
        ("trace", trace_plot(&parameters, Some(&statistics()))),
        ("rank", rank_plot(&parameters, 0.05)),
        ("forest", forest_plot(&runs, Interval::HighestDensity, (0.5, 0.9)).unwrap()),
        ("forest-by-index", forest_by_index_plot(&runs, Interval::EqualTailed, (0.5, 0.9))),
        ("posterior", posterior_plot(&parameters, Interval::EqualTailed, 0.9)),
        ("pair", pair_plot(&parameters, Some(&flags)).unwrap()),
        ("parallel", parallel_plot(&parameters, &flags).unwrap()),
        ("energy", energy_plot(&statistics().energy)),
        ("ess-evolution", ess_evolution_plot(&parameters)),
        ("ess-quantile", ess_quantile_plot(&parameters)),
        ("autocorrelation", autocorrelation_plot(&parameters, 20)),
        ("overview", overview_plot(&summaries, 4)),
        ("predictive", predictive_density_plot(&check())),
        ("predictive-ecdf", predictive_ecdf_plot(&check(), 0.9)),
        ("rootogram", rootogram_plot(&check(), 0.9).unwrap()),
        ("calibration", calibration_plot(&pit, &outcome).unwrap()),
        ("loo-pit", loo_pit_plot(&pit, 0.05).unwrap()),
        ("pareto-k", pareto_k_plot(&[0.1, 0.75, -0.05, 1.2, f64::INFINITY], 0.7)),
        ("compare", compare_plot(&[model("a", -10.0, 0.0), model("b", -12.5, -2.5)]).unwrap()),
        ("prior", prior_posterior_plot(&parameters, &some()).unwrap()),
    ]
}

#[test]
fn figures_hold_what_they_say() {
    let mut differing = Vec::new();
    for (name, figure) in all() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/expected/{name}.txt"));
        let found = describe(&figure);
        if env::var_os("EXMC_BLESS").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, found).unwrap();
        } else if fs::read_to_string(&path).unwrap_or_default() != found {
            differing.push(name);
        }
    }
    assert!(differing.is_empty(), "{differing:?} differ; EXMC_BLESS=1 accepts the new texts");
}

/// The one mark of a kind in a panel.
fn band_and_line(figure: &Figure, panel: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let marks = &figure.panels[panel].marks;
    let band = marks.iter().find_map(|m| match m {
        Mark::Band { lower, upper, .. } => Some((lower.clone(), upper.clone())),
        _ => None,
    });
    let line = marks.iter().rev().find_map(|m| match m {
        Mark::Line { points, .. } => Some(points.iter().map(|p| p.1).collect()),
        _ => None,
    });
    let (lower, upper) = band.unwrap();
    (lower, upper, line.unwrap())
}

#[test]
fn a_rootogram_is_that_of_numpy() {
    let cases: Value = serde_json::from_str(include_str!("data/plot_cases.json")).unwrap();
    let case = &cases["rootogram"];
    let numbers = |v: &Value| -> Vec<f64> {
        v.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
    };
    let replications = case["replications"].as_array().unwrap().iter().map(numbers).collect();
    let check = Predictive::new(numbers(&case["observed"]), replications).unwrap();
    let figure = rootogram_plot(&check, 0.9).unwrap();
    let (lower, upper, median) = band_and_line(&figure, 0);
    let near = |found: &[f64], key: &str| {
        let expected = numbers(&case[key]);
        assert_eq!(found.len(), expected.len(), "{key}");
        // Interpolation between two square roots rounds once or twice.
        assert!(
            found.iter().zip(&expected).all(|(f, e)| (f - e).abs() < 1e-12),
            "{key}: {found:?}"
        );
    };
    near(&lower, "lower");
    near(&median, "median");
    near(&upper, "upper");
    let points = figure.panels[0].marks.iter().find_map(|m| match m {
        Mark::Points { points, .. } => Some(points.iter().map(|p| p.1).collect::<Vec<_>>()),
        _ => None,
    });
    near(&points.unwrap(), "points");
}

/// Number of points of that marker in a panel.
fn count(figure: &Figure, panel: usize, wanted: Marker) -> usize {
    let points = figure.panels[panel].marks.iter().map(|m| match m {
        Mark::Points { points, marker, .. } if *marker == wanted => points.len(),
        _ => 0,
    });
    points.sum()
}

#[test]
fn every_divergence_is_marked() {
    let flags = statistics().pooled_divergent();
    let diverged = flags.iter().filter(|is| **is).count();
    assert_eq!(diverged, 10);
    let pairs = pair_plot(&some(), Some(&flags)).unwrap();
    assert_eq!(count(&pairs, 3, Marker::Cross), diverged);
    assert_eq!(count(&pairs, 3, Marker::Dot), 400 - diverged);
    assert_eq!(count(&trace_plot(&some(), Some(&statistics())), 0, Marker::Tick), diverged);
    let parallel = parallel_plot(&some(), &flags).unwrap();
    assert_eq!(parallel.panels[0].marks.len(), 200 + diverged);
}

#[test]
fn chains_apart_leave_the_rank_band_and_others_do_not() {
    let outside = |parameter: Parameter| {
        let figure = rank_plot(&[parameter], 0.01);
        let marks = &figure.panels[0].marks;
        let Mark::Band { x, lower, upper, .. } = &marks[0] else { panic!("no band") };
        // The line's height at a place: counts stay as they were at the last rank before it.
        let height = |points: &[(f64, f64)], abscissa: f64| {
            let last = points[points.partition_point(|p| p.0 <= abscissa + 1e-9) - 1];
            last.1 + last.0 - abscissa
        };
        marks.iter().any(|m| match m {
            Mark::Line { points, .. } => (1..x.len() - 1).any(|k| {
                let y = height(points, x[k]);
                y > upper[k] + 1e-9 || y < lower[k] - 1e-9
            }),
            _ => false,
        })
    };
    assert!(!outside(parameter("mu", 1, 1.0)));
    let mut chains = parameter("mu", 1, 1.0).chains().to_vec();
    chains[2].iter_mut().for_each(|x| *x += 1.5);
    assert!(outside(Parameter::new("mu", chains).unwrap()));
}

#[test]
fn measurements_that_are_rounded_are_no_counts() {
    let observed = vec![28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
    let check = |replicated: Vec<f64>| {
        let check = Predictive::new(observed.clone(), vec![replicated]).unwrap();
        predictive_density_plot(&check).panels.remove(0).marks
    };
    let measured = check(observed.iter().map(|y| 1.1 * y + 0.3).collect());
    assert!(measured.iter().all(|mark| matches!(mark, Mark::Line { .. })), "curves");
    let counted = check(observed.iter().map(|y| y + 1.0).collect());
    assert!(counted.iter().all(|mark| matches!(mark, Mark::Bars { .. })), "bars");
}

#[test]
fn a_narrow_image_has_fewer_columns_and_nothing_beyond_its_edge() {
    let six: Vec<Parameter> = (1..=6).map(|k| parameter("theta", k, 1.0)).collect();
    let figure = posterior_plot(&six, Interval::EqualTailed, 0.9);
    let frames = |width: f64| -> Vec<(f64, f64)> {
        let image = svg(&figure, &SvgOptions { width, ..SvgOptions::default() });
        let number = |text: &str, name: &str| -> f64 {
            let rest = text.split(&format!(" {name}=\"")).nth(1).unwrap();
            rest.split('"').next().unwrap().parse().unwrap()
        };
        let frames = image.split("<rect class=\"a\"").skip(1);
        frames.map(|text| (number(text, "x"), number(text, "width"))).collect()
    };
    for (width, columns) in [(760.0, 3), (328.0, 2), (200.0, 1)] {
        let frames = frames(width);
        assert_eq!(frames.len(), 6);
        let mut places: Vec<f64> = frames.iter().map(|frame| frame.0).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        assert_eq!(places.len(), columns, "{width}");
        assert!(frames.iter().all(|(x, w)| x + w <= width && *w > 80.0), "{width}: {frames:?}");
    }
}

#[test]
fn every_figure_is_written_in_every_form_the_same_each_time() {
    for (name, figure) in all() {
        for theme in [Theme::Automatic, Theme::Light, Theme::Dark] {
            for width in [200.0, 360.0, 760.0, 1600.0] {
                let options = SvgOptions { theme, width, ..SvgOptions::default() };
                let image = svg(&figure, &options);
                assert_eq!(image, svg(&figure, &options), "{name}");
                assert!(image.contains("role=\"img\"") && image.contains("<title id="), "{name}");
                assert!(image.contains("<desc id="), "{name}");
                assert!(!image.contains("NaN") && !image.contains("inf "), "{name}");
                assert_eq!(image.contains("prefers-color-scheme"), theme == Theme::Automatic);
                assert_eq!(image.matches("<svg").count(), image.matches("</svg>").count());
            }
        }
        for width in [20, 60, 80, 200] {
            for ascii in [false, true] {
                let text = terminal(&figure, &TerminalOptions { width, ascii });
                let longest = text.lines().map(|l| l.chars().count()).max().unwrap();
                assert!(longest <= width.max(30), "{name}: {longest} of {width}\n{text}");
                assert!(!ascii || text.is_ascii(), "{name}");
            }
        }
    }
}

#[test]
fn hostile_names_and_numbers_do_no_harm() {
    let name = "<script>&\"'\u{1}theta_with_a_very_long_name_that_goes_on_and_on_and_on[1,2,3]";
    let wild = |c: usize| vec![f64::NAN, f64::INFINITY, 1e300, -1e300, 0.0, c as f64];
    let parameters = [
        Parameter::new(name, (0..2).map(wild).collect()).unwrap(),
        Parameter::new("same", vec![vec![2.0; 6]; 2]).unwrap(),
        Parameter::new("nothing", vec![vec![f64::NAN; 6]; 2]).unwrap(),
        Parameter::new("one", vec![vec![0.5]; 2]).unwrap(),
    ];
    for parameter in &parameters {
        let one = std::slice::from_ref(parameter);
        let mut figures = vec![
            trace_plot(one, None),
            rank_plot(one, 0.05),
            posterior_plot(one, Interval::HighestDensity, 0.9),
            ess_evolution_plot(one),
            ess_quantile_plot(one),
            autocorrelation_plot(one, 40),
            energy_plot(one[0].chains()),
        ];
        figures.extend(forest_plot(
            &[("run".into(), one.to_vec())],
            Interval::EqualTailed,
            (0.5, 0.9),
        ));
        for figure in figures {
            let image = svg(&figure, &SvgOptions::default());
            assert!(!image.contains("<script") && !image.contains('\u{1}'), "{}", figure.title);
            assert!(!image.contains("NaN\"") && !image.contains("MNaN"), "{}", figure.title);
            assert!(!terminal(&figure, &TerminalOptions::default()).is_empty());
        }
    }
}

#[test]
fn a_thousand_parameters_are_one_band() {
    let many: Vec<Parameter> = (0..1000)
        .map(|k| Parameter::new(format!("x[{k}]"), vec![noise(k, 20); 2]).unwrap())
        .collect();
    let figure = forest_by_index_plot(&[("x".into(), many)], Interval::EqualTailed, (0.5, 0.9));
    let image = svg(&figure, &SvgOptions::default());
    assert!(image.len() < 100_000, "{} bytes", image.len());
    assert_eq!(figure.panels.len(), 1);
}

#[test]
fn long_traces_keep_their_extremes_and_stay_small() {
    let mut chain = noise(5, 200_000);
    chain[123_456] = 40.0;
    let figure = trace_plot(&[Parameter::new("x", vec![chain.clone(), chain]).unwrap()], None);
    let image = svg(&figure, &SvgOptions::default());
    assert!(image.len() < 200_000, "{} bytes", image.len());
    // The frame is 130 high with 4 % of room: the extreme lies 130 * 0.04 / 1.08 from the top.
    assert!(image.contains(" 4.8L"), "the spike is drawn");
}

#[test]
fn wrong_input_is_told() {
    let said = |e: exmc_plot::PlotError| e.to_string();
    assert_eq!(
        said(Parameter::new("a", vec![vec![1.0], vec![]]).unwrap_err()),
        "`a`: chains differ in length: chain 0 holds 1 values, chain 1 holds 0; cut all chains to the shortest"
    );
    assert!(said(pair_plot(&some()[..1], None).unwrap_err()).contains("2 to 8 parameters, not 1"));
    assert!(said(pair_plot(&some(), Some(&[true])).unwrap_err()).contains("not of the same draws"));
    assert!(said(loo_pit_plot(&[0.5, 1.5], 0.05).unwrap_err()).contains("1.5"));
    assert!(said(calibration_plot(&[0.5], &[2.0]).unwrap_err()).contains("0 and 1"));
    assert!(
        said(Predictive::new(vec![1.0], vec![vec![1.0, 2.0]]).unwrap_err())
            .contains("has 2 values")
    );
    let check = Predictive::new(vec![0.5], vec![vec![1.0]]).unwrap();
    assert!(said(rootogram_plot(&check, 0.9).unwrap_err()).contains("no whole numbers"));
    assert!(forest_plot(&[], Interval::EqualTailed, (0.5, 0.9)).is_err());
}
