//! Metrics and judgements -> charts.

use crate::chart::{Chart, Panel, Series};
use crate::judge::{ComponentScore, Judgement};
use crate::metrics::Row;

fn series(label: &str, points: Vec<(f64, f64)>, is_line: bool, style: usize) -> Series {
    Series { label: label.to_owned(), points, is_line, style }
}

fn panel(title: &str, x: (&str, Option<(f64, f64)>), y: (&str, Option<(f64, f64)>)) -> Panel {
    let axis = |(label, ends): (&str, Option<(f64, f64)>)| (label.to_owned(), ends);
    Panel {
        title: title.to_owned(),
        x: axis(x),
        y: axis(y),
        is_log: false,
        names: Vec::new(),
        series: Vec::new(),
    }
}

const SHARE: Option<(f64, f64)> = Some((0.0, 1.0));

/// Training and held-out loss by step.
#[must_use]
pub fn training_chart(rows: &[Row]) -> Chart {
    let mut loss = panel("", ("step", None), ("loss, nats a frame", None));
    loss.is_log = true;
    let kinds = [("training", "training batches"), ("held_out", "held out, averaged weights")];
    for (style, (kind, label)) in kinds.iter().enumerate() {
        let of_kind = rows.iter().filter(|row| row.kind == *kind && row.loss > 0.0);
        let points: Vec<(f64, f64)> = of_kind.map(|row| (row.step as f64, row.loss)).collect();
        if !points.is_empty() {
            loss.series.push(series(label, points, true, style));
        }
    }
    Chart {
        title: "Loss of the run".to_owned(),
        description:
            "The loss by step on a logarithmic scale: training batches, and the average of \
                      weights on held-out frames. A held-out line that rises while the other falls \
                      is overfitting."
                .to_owned(),
        panels: vec![loss],
    }
}

/// What a policy is right in, beside repeating the last input.
#[must_use]
pub fn accuracy_chart(judgement: &Judgement) -> Chart {
    type Pick = fn(&ComponentScore) -> (f64, f64);
    let picks: [(&str, Pick); 2] = [
        ("all frames", |c| c.frames.shares()),
        ("frames with a change", |c| c.any_change.shares()),
    ];
    let last = judgement.components.len() as f64 - 0.5;
    let panels = picks.iter().map(|(title, pick)| {
        let mut panel = panel(title, ("share right", SHARE), ("", Some((last, -0.5))));
        panel.names = judgement.components.iter().map(|c| c.name.clone()).collect();
        let shares: Vec<(f64, f64)> = judgement.components.iter().map(pick).collect();
        let points = |which: fn(&(f64, f64)) -> f64| {
            shares.iter().enumerate().map(|(k, s)| (which(s), k as f64)).collect()
        };
        panel.series.push(series("repeating the last input", points(|s| s.1), false, 1));
        panel.series.push(series("policy", points(|s| s.0), false, 0));
        panel
    });
    Chart {
        title: "Right answers".to_owned(),
        description: "For each component two dots: the share of frames in which the policy's \
                      likeliest class is the one that was played, and the share for repeating the \
                      last input; in all frames, and in frames in which any component changes."
            .to_owned(),
        panels: panels.collect(),
    }
}

/// How often what was promised came, a panel for each component that ever changes.
#[must_use]
pub fn calibration_chart(judgement: &Judgement) -> Chart {
    let changing = judgement.components.iter().filter(|score| score.changes.of > 0);
    let panels = changing.map(|score| {
        let title = format!("{} (error {:.4})", score.name, score.calibration_error());
        let mut panel = panel(&title, ("promised", SHARE), ("came", SHARE));
        panel.series.push(series("as promised", vec![(0.0, 0.0), (1.0, 1.0)], true, 2));
        let filled = score.bins.iter().filter(|bin| bin.count > 0);
        let points: Vec<(f64, f64)> = filled
            .map(|bin| (bin.promised / bin.count as f64, bin.came as f64 / bin.count as f64))
            .collect();
        panel.series.push(series("policy", points, false, 0));
        panel
    });
    Chart {
        title: "Calibration".to_owned(),
        description:
            "The share of promises that came true by the probability that was promised. On \
                      the line, what is promised comes. Buttons: pressing; axes and trigger: the \
                      likeliest class."
                .to_owned(),
        panels: panels.collect(),
    }
}

/// Fit of the actions to each offset.
#[must_use]
pub fn offset_chart(judgement: &Judgement) -> Chart {
    let mut fit = panel("", ("frames after the observed one", None), ("share", SHARE));
    let tried = judgement.offsets.iter().enumerate().filter(|(_, (_, asked))| *asked > 0);
    let points: Vec<(f64, f64)> = tried
        .map(|(offset, (right, asked))| (offset as f64, *right as f64 / *asked as f64))
        .collect();
    let delay = judgement.delay as f64;
    fit.series.push(series("the policy's delay", vec![(delay, 0.0), (delay, 1.0)], true, 2));
    fit.series.push(series("policy", points, true, 0));
    Chart {
        title: "Fit by offset".to_owned(),
        description:
            "The share of change points at which the policy's action is that of the frame \
                      so many frames after the observed one; the peak should stand at its delay."
                .to_owned(),
        panels: vec![fit],
    }
}
