//! A hierarchical model's plain data -> a Stan program and its data.

use super::spec::{Amount, Extra, Hierarchy, Linear, Scalar, Scale, Spelling, Style};

/// A program and its data in JSON.
pub(super) struct Written {
    pub(super) program: String,
    pub(super) data: String,
}

#[derive(Default)]
pub(super) struct Writer {
    spelling: Spelling,
    /// Latents that are variables of one number.
    numbers: Vec<usize>,
    /// Latents and the elements that the rows of a statement read, where there is one for each row;
    /// `@3@` is the place of number three.
    read: Vec<(usize, Vec<usize>)>,
    declared: String,
    values: Vec<String>,
    pub(super) model: String,
}

pub(super) fn write(model: &Hierarchy) -> Written {
    let mut w = Writer { spelling: model.spelling, ..Writer::default() };
    w.numbers = (0..model.latents.len()).filter(|&k| model.latents[k].is_number).collect();
    let mut parameters = String::new();
    let mut derived = String::new();
    for (k, kind) in model.scalars.iter().enumerate() {
        let bound = if kind.is_positive() { "<lower=0>" } else { "" };
        parameters += &format!("  real{bound} s{k};\n");
        let (family, numbers) = match kind {
            Scalar::Real(a, b) => ("student_t", vec![&4.0, a, b]),
            Scalar::Lognormal(a, b) => ("lognormal", vec![a, b]),
            Scalar::HalfNormal(b) => ("normal", vec![&0.0, b]),
            Scalar::Exponential(rate) => ("exponential", vec![rate]),
        };
        let numbers = numbers.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(", ");
        let style = if model.whole_densities { Style::Target } else { Style::Tilde };
        w.statement(&format!("s{k}"), family, &numbers, style);
    }
    for (k, latent) in model.latents.iter().enumerate() {
        if model.spelling == Spelling::Scalars {
            for i in 1..=latent.len {
                parameters += &format!("  real z{k}_{i};\n");
                derived += &format!("  real q{k}_{i} = 2 * z{k}_{i} - s0;\n");
            }
        } else if latent.is_number {
            parameters += &format!("  real z{k};\n");
            derived += &format!("  real q{k} = 2 * z{k} - s0;\n");
        } else {
            parameters += &format!("  vector[{}] z{k};\n", latent.len);
            derived += &format!("  vector[{}] q{k} = 2 * z{k} - s0;\n", latent.len);
        }
        for prior in &latent.priors {
            let rows = prior.range.len();
            let (from, to) = (prior.range.start + 1, prior.range.end);
            let place = w.read.len();
            w.read.push((k, prior.range.clone().collect()));
            let outcome = |row: Option<&str>| match row {
                Some(_) if model.spelling != Spelling::Vectors => format!("@{place}@"),
                _ if latent.is_number => format!("z{k}"),
                Some(row) => format!("z{k}[{row} + {}]", prior.range.start),
                None if rows == latent.len => format!("z{k}"),
                None => format!("z{k}[{from}:{to}]"),
            };
            let (location, scale) = (&prior.location, &prior.scale);
            let one_by_one = model.spelling != Spelling::Vectors || latent.is_number;
            w.normal((rows, one_by_one), &outcome, location, scale, prior.style, [None, None]);
        }
    }
    for (k, likelihood) in model.likelihoods.iter().enumerate() {
        let rows = likelihood.outcomes.len();
        let y = w.data(&likelihood.outcomes);
        let outcome = |row: Option<&str>| match row {
            Some(row) => format!("{y}[{row}]"),
            None => y.clone(),
        };
        let weights = likelihood.weights.as_ref().map(|weights| w.data(weights));
        let mask = likelihood.mask.as_ref().map(|mask| {
            let flags: Vec<f64> = mask.iter().map(|&m| f64::from(u8::from(m))).collect();
            w.data(&flags)
        });
        let (location, scale) = (&likelihood.location, &likelihood.scale);
        w.model += &format!("  // outcomes {k}\n");
        let one_by_one = model.spelling != Spelling::Vectors;
        w.normal((rows, one_by_one), &outcome, location, scale, likelihood.style, [weights, mask]);
    }
    if let Some(pairs) = &model.pairs {
        let n = pairs.outcomes.len();
        parameters += &format!("  array[{n}] vector[2] p;\n");
        let [[a, b], [first, second]] = [pairs.mean.map(amount), pairs.diagonal.map(amount)];
        let tied = pairs.tied;
        w.model += "  {\n";
        w.model += &format!("  vector[2] pm = [{a}, {b}]';\n");
        w.model +=
            &format!("  matrix[2, 2] pl = [[{first}, 0], [{tied:?} * {second}, {second}]];\n");
        let (each, row) = if pairs.by_loop { ("for (j in 1:{n}) ", "[j]") } else { ("", "") };
        let each = each.replace("{n}", &n.to_string());
        w.model += &if model.whole_densities && !pairs.non_centred {
            format!("  {each}target += multi_normal_cholesky_lpdf(p{row} | pm, pl);\n")
        } else {
            format!("  {each}p{row} ~ multi_normal_cholesky(pm, pl);\n")
        };
        let (y, scale) = (w.data(&pairs.outcomes), amount(pairs.scale));
        w.model += &format!(
            "  for (j in 1:{n}) target += normal_lpdf({y}[j] | p[j][1] + p[j][2], {scale});\n  }}\n"
        );
    }
    parameters += &w.chains(&model.chains, model.whole_densities);
    for extra in &model.extras {
        w.extra(extra, model.whole_densities);
    }
    let program = format!(
        "data {{\n{}}}\nparameters {{\n{parameters}}}\ntransformed parameters {{\n{derived}}}\nmodel {{\n{}}}\n",
        w.declared, w.model
    );
    Written { program, data: format!("{{{}}}", w.values.join(", ")) }
}

impl Writer {
    pub(super) fn data(&mut self, values: &[f64]) -> String {
        let name = format!("d{}", self.values.len());
        self.declared += &format!("  vector[{}] {name};\n", values.len());
        self.values.push(format!("\"{name}\": {values:?}"));
        name
    }

    pub(super) fn integers(&mut self, values: &[usize]) -> String {
        let name = format!("d{}", self.values.len());
        self.declared += &format!("  array[{}] int {name};\n", values.len());
        self.values.push(format!("\"{name}\": {values:?}"));
        name
    }

    fn statement(&mut self, outcome: &str, family: &str, arguments: &str, style: Style) {
        self.model += &match style {
            Style::Target => format!("  target += {family}_lpdf({outcome} | {arguments});\n"),
            _ => format!("  {outcome} ~ {family}({arguments});\n"),
        };
    }

    /// Normal rows, with weights and a mask; in a statement for each row on request.
    fn normal(
        &mut self,
        (rows, one_by_one): (usize, bool),
        outcome: &dyn Fn(Option<&str>) -> String,
        location: &Linear,
        scale: &Scale,
        style: Style,
        [weights, mask]: [Option<String>; 2],
    ) {
        let by_row = one_by_one || style == Style::Loop || weights.is_some() || mask.is_some();
        let row = by_row.then_some("i");
        let location = self.linear(location, row);
        let scale = self.scale(scale, row);
        let outcome = outcome(row);
        if !by_row {
            return self.statement(&outcome, "normal", &format!("{location}, {scale}"), style);
        }
        let condition = mask.map_or(String::new(), |mask| format!("if ({mask}[i] == 1) "));
        let says = match weights {
            Some(weights) => {
                format!("target += {weights}[i] * normal_lpdf({outcome} | {location}, {scale});")
            }
            None if style == Style::Target => {
                format!("target += normal_lpdf({outcome} | {location}, {scale});")
            }
            None => format!("{outcome} ~ normal({location}, {scale});"),
        };
        if !one_by_one {
            self.model += &format!("  for (i in 1:{rows}) {condition}{says}\n");
            return;
        }
        for row in 0..rows {
            let mut text =
                format!("  {condition}{says}\n").replace("[i]", &format!("[{}]", row + 1));
            for (place, (latent, elements)) in self.read.iter().enumerate() {
                let Some(element) = elements.get(row) else { continue };
                let name = match self.spelling {
                    Spelling::Scalars => format!("z{latent}_{}", element + 1),
                    _ if self.numbers.contains(latent) => format!("z{latent}"),
                    _ => format!("z{latent}[{}]", element + 1),
                };
                text = text.replace(&format!("@{place}@"), &name);
            }
            self.model += &text;
        }
    }

    fn linear(&mut self, linear: &Linear, row: Option<&str>) -> String {
        let indexed = |name: String| row.map_or(name.clone(), |row| format!("{name}[{row}]"));
        let mut terms = Vec::new();
        terms.extend(linear.constant.map(amount));
        if let Some((by, x)) = &linear.slope {
            let x = self.data(x);
            terms.push(format!("{} * {}", amount(*by), indexed(x)));
        }
        if let Some(data) = &linear.data {
            let data = self.data(data);
            terms.push(indexed(data));
        }
        for (by, latent, index) in &linear.latents {
            let value = if self.spelling == Spelling::Vectors && self.numbers.contains(latent) {
                format!("z{latent}")
            } else if self.spelling == Spelling::Vectors {
                let one_based: Vec<usize> = index.iter().map(|i| i + 1).collect();
                let index = self.integers(&one_based);
                match row {
                    Some(row) => format!("z{latent}[{index}[{row}]]"),
                    None => format!("z{latent}[{index}]"),
                }
            } else {
                self.read.push((*latent, index.clone()));
                format!("@{}@", self.read.len() - 1)
            };
            terms.push(match by {
                Amount::Number(1.0) => value,
                _ => format!("{} * {value}", amount(*by)),
            });
        }
        terms.join(" + ")
    }

    fn scale(&mut self, scale: &Scale, row: Option<&str>) -> String {
        let amount_text = amount(scale.amount);
        let Some(data) = &scale.data else { return amount_text };
        let data = self.data(data);
        match row {
            Some(row) => format!("{amount_text} * {data}[{row}]"),
            None => format!("{amount_text} * {data}"),
        }
    }

    fn extra(&mut self, extra: &Extra, keeps_constants: bool) {
        let style = if keeps_constants { Style::Target } else { Style::Tilde };
        match extra {
            Extra::Regression { a, b, scale, x, outcomes } => {
                let (x, y) = (self.data(x), self.data(outcomes));
                self.statement(&y, "normal", &format!("s{a} + s{b} * {x}, s{scale}"), style);
            }
            Extra::Logistic { a, b, x, outcomes } => {
                let whole_numbers: Vec<usize> = outcomes.iter().map(|y| *y as usize).collect();
                let (x, y) = (self.data(x), self.integers(&whole_numbers));
                let arguments = format!("s{a} + s{b} * {x}");
                if keeps_constants {
                    self.model +=
                        &format!("  target += bernoulli_logit_lpmf({y} | {arguments});\n");
                } else {
                    self.statement(&y, "bernoulli_logit", &arguments, style);
                }
            }
            Extra::Robust { a, scale, outcomes } => {
                let y = self.data(outcomes);
                self.statement(&y, "student_t", &format!("4, s{a}, s{scale}"), style);
            }
        }
    }
}

pub(super) fn amount(amount: Amount) -> String {
    match amount {
        Amount::Number(x) => format!("({x:?})"),
        Amount::Scalar(k) => format!("s{k}"),
        Amount::Affine(by, k, shift) => format!("({by:?} * s{k} + ({shift:?}))"),
        Amount::Product(a, b) => format!("(s{a} * s{b})"),
        Amount::Square(k) => format!("square(s{k})"),
        Amount::Exp(k) => format!("exp(0.3 * s{k})"),
        Amount::Root(k, more) => format!("sqrt(square(s{k}) + {more:?})"),
    }
}
