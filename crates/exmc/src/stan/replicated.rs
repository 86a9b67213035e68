//! A run of a Stan program -> replicated data at each draw, from the program's statements on data.

use std::sync::Mutex;

use exmc_draws::Posterior;
use exmc_math::random::{ChainRng, Phase};
use exmc_stan::diagnostic::Diagnostic;
use exmc_stan::host::RuntimeError;
use exmc_stan::host::error::FaultKind;
use exmc_stan::pointwise::{Replica, Replication};
use exmc_stan::report::locate;
use exmc_stan::source::Sources;

use super::observations::RunDraws;
use super::{StanError, StanModel};
use crate::arrays::{DrawArray, DrawArrays};
use crate::error::Error;
use crate::fit::{FailedDraw, Outcomes};
use crate::generate::Generator;
use crate::predict::by_chain;

impl StanModel {
    /// Replicated data: at each draw, what the program's statements on data (`y ~ normal(mu,
    /// sigma)`, `target += normal_lpdf(y | mu, sigma)`) would make of its parameters; arrays
    /// `[chain, draw, ...]` by the data's names, with the data's shapes.
    ///
    /// The data stay as they are while they are replicated: an autoregression's elements are each
    /// drawn given the one before that was observed. Elements that no statement is on are NaN, and
    /// so are all of a draw at which a distribution has no value. Limits `T[...]` hold, bounds of
    /// declarations do not count, as in the density. The random numbers are those of `seed`.
    ///
    /// ```
    /// # use exmc::{SamplerConfig, StanProgram};
    /// let program = StanProgram::from_text(
    ///     "mean.stan",
    ///     "data { int N; vector[N] y; } parameters { real mu; }
    ///      model { mu ~ normal(0, 10); y ~ normal(mu, 1); }",
    /// )?;
    /// let model = program.bind("mean.json", r#"{"N": 2, "y": [1.0, 3.0]}"#)?;
    /// let fit = exmc::sample(&model, &SamplerConfig::default())?;
    /// let replicated = model.replicate(fit.posterior(), 1)?;
    /// assert_eq!(replicated["y"].shape(), [4, 1000, 2]);
    /// // The mean of `mu` is 2; a new observation has variance 1 + 1/2.
    /// assert!((replicated["y"].mean() - 2.0).abs() < 0.1);
    /// assert!((replicated["y"].sd() - 1.5_f64.sqrt()).abs() < 0.1);
    /// # Ok::<(), exmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a statement on data cannot be told from the others, as of a mixture, or cannot be
    /// drawn, as a user's density without an `_rng` or the logarithm of data; when no statement is
    /// on data.
    pub fn replicate(&self, posterior: &Posterior, seed: u64) -> Result<DrawArrays, Error> {
        Ok(self.outcomes(posterior, seed)?.arrays)
    }

    /// The same, with the draws that failed.
    pub(crate) fn outcomes(&self, posterior: &Posterior, seed: u64) -> Result<Outcomes, Error> {
        let program = &self.program;
        let wrong = |diagnostics: Vec<Diagnostic>| {
            Error::from(StanError { sources: program.sources.clone(), diagnostics })
        };
        let replication = Replication::find(program).map_err(wrong)?;
        let (values, run) = (self.recorded_values()?, RunDraws::of(posterior)?);
        let draw = |generator: &mut Generator, environment: &mut _, row: &[f64], rng: &mut _| {
            let row = match generator.recorded(row) {
                Ok(row) => row,
                // On the edge of the support there is no position.
                Err(error) if error.is_model() => {
                    let first = error.diagnostics().first();
                    return Ok(Err(first.map_or_else(|| error.to_string(), |d| d.message.clone())));
                }
                Err(error) => return Err(error),
            };
            let made = values.place(environment, row);
            match made.and_then(|()| replication.draw(environment, rng)) {
                Err(error) if !is_of_draw(&error) => Err(wrong(vec![error.into()])),
                made => Ok(made.map_err(|error| reason(&error, &program.sources))),
            }
        };
        // Names and shapes are those of the first draw that has values.
        let mut replicas: Option<Vec<Replica>> = None;
        let mut generator = Generator::new(self.bound(), run.variables, 0)?;
        let mut environment = self.environment.clone();
        let mut rng = ChainRng::new(seed, 0, Phase::Predictive);
        for row in run.chains.iter().flat_map(|(_, rows)| run.rows(rows)) {
            if replicas.is_none() {
                replicas = draw(&mut generator, &mut environment, row, &mut rng)?.ok();
            }
        }
        let replicas = replicas.unwrap_or_default();
        let failed: Mutex<Vec<FailedDraw>> = Mutex::default();
        let made = by_chain(&run.chains, |chain, rows| {
            let mut generator = Generator::new(self.bound(), run.variables, 0)?;
            let mut environment = self.environment.clone();
            let mut rng = ChainRng::new(seed, chain, Phase::Predictive);
            let mut made = vec![Vec::new(); replicas.len()];
            for (index, row) in run.rows(rows).enumerate() {
                let drawn = match draw(&mut generator, &mut environment, row, &mut rng)? {
                    Ok(values) => values,
                    Err(reason) => {
                        let place = run.chains.iter().position(|(number, _)| *number == chain);
                        let one = FailedDraw { chain: place.unwrap_or(0), draw: index, reason };
                        failed.lock().unwrap_or_else(|poison| poison.into_inner()).push(one);
                        Vec::new()
                    }
                };
                for (k, (made, known)) in made.iter_mut().zip(&replicas).enumerate() {
                    match drawn.get(k) {
                        Some(value) => made.extend_from_slice(&value.values),
                        None => made.resize(made.len() + known.values.len(), f64::NAN),
                    }
                }
            }
            Ok(made)
        })?;
        let (chains, each) = (run.chains.len(), run.each);
        let array = |(known, values): (&Replica, Vec<f64>)| {
            let made = DrawArray::new(chains, each, known.shape.as_slice(), values)?;
            Some((known.name.clone(), made))
        };
        let arrays: Option<DrawArrays> = replicas.iter().zip(made).map(array).collect();
        let arrays =
            arrays.ok_or_else(|| Error::internal("a replica has another shape at other draws"))?;
        let mut failed = failed.into_inner().unwrap_or_else(|poison| poison.into_inner());
        failed.sort_by_key(|failure| (failure.chain, failure.draw));
        Ok(Outcomes { arrays, failed })
    }
}

/// Whether a mistake is that of a draw, on the edge of its support, and not of the program.
fn is_of_draw(error: &RuntimeError) -> bool {
    matches!(error.kind, FaultKind::Domain | FaultKind::Rejected)
}

/// A mistake with its line, as a sentence.
fn reason(error: &RuntimeError, sources: &Sources) -> String {
    match locate(error.span, sources) {
        Some(place) => format!("{} (`{}`, line {})", error.message, place.file, place.line),
        None => error.message.clone(),
    }
}

#[cfg(test)]
mod tests {
    use crate::{SamplerConfig, StanProgram, sample};

    const DATA: &str = r#"{"N": 4, "x": [[0.1, 2], [-0.4, 1], [1.2, -1], [0.3, 0.2]],
        "y": [0.2, 1.4, -0.9, 0.4], "k": [1, 3, 2, 2], "n": [4, 5, 3, 6], "m": [[0.2, 1.4], [0.9, 0.4]],
        "v": [[1, 0.5], [0.2, 0.1], [0.3, 0.4], [-1, 2]], "c": [[3, 1, 0], [2, 2, 5], [0, 1, 0], [4, 0, 1]]}"#;

    const FUNCTIONS: &str = "
        real own_lpdf(real y, real mu) { return normal_lpdf(y | mu, 2); }
        real own_rng(real mu) { return normal_rng(mu, 2); }
        real other_lpdf(real y, real mu) { return -square(y - mu); }";

    fn program(model: &str, quantities: &str) -> String {
        format!(
            "functions {{ {FUNCTIONS} }}
             data {{ int N; matrix[N, 2] x; vector[N] y; array[N] int k; array[N] int n;
                     array[2, 2] real m; array[N] vector[2] v; array[N, 3] int c; }}
             parameters {{ real mu; real<lower=0> sigma; vector[2] beta; }}
             model {{ mu ~ normal(0, 1); sigma ~ gamma(3, 3); beta ~ normal(0, 1); {model} }}
             generated quantities {{ {quantities} }}"
        )
    }

    /// What the statements draw has the mean, the deviation and the neighbours' covariance of what
    /// generated quantities draw, which the program says in other words. 4,000 draws of each: a
    /// difference of 5 standard errors, about 0.08 deviations, would fail; of 500 comparisons one
    /// in 3,000 sets of seeds has one by chance, and these seeds have none.
    fn is_as(data: &str, model: &str, quantities: &str) {
        let text = program(model, quantities);
        let model_ = StanProgram::from_text("m.stan", &text).unwrap().bind("data", DATA).unwrap();
        let fit = sample(&model_, &SamplerConfig::default()).unwrap();
        let found = &model_.replicate(fit.posterior(), 3).unwrap()[data];
        let expected = &fit["r"];
        let elements = found.element_shape().len();
        assert_eq!(elements, expected.element_shape().len(), "{model}");
        let draws = (found.n_chains() * found.n_draws()) as f64;
        let columns = |array: &crate::DrawArray| -> Vec<Vec<f64>> {
            (0..elements).map(|k| array.iter().map(|draw| draw[k]).collect()).collect()
        };
        let (found, expected) = (columns(found), columns(expected));
        let mean = |all: &[f64]| all.iter().sum::<f64>() / draws;
        let compare = |what: &str, a: &[f64], b: &[f64]| {
            let (ma, mb) = (mean(a), mean(b));
            let variance = |all: &[f64], m: f64| {
                mean(&all.iter().map(|x| (x - m).powi(2)).collect::<Vec<_>>())
            };
            let error = ((variance(a, ma) + variance(b, mb)) / draws).sqrt();
            assert!(
                (ma - mb).abs() <= 5.0 * error + 1e-12,
                "{model}: {what} {ma}, expected {mb}, error {error}"
            );
        };
        for k in 0..elements {
            let (a, b) = (&found[k], &expected[k]);
            if b[0].is_nan() {
                assert!(a.iter().all(|x| x.is_nan()), "{model}: {k}");
                continue;
            }
            compare("mean", a, b);
            let about = mean(b);
            let squares = |all: &[f64]| all.iter().map(|x| (x - about).powi(2)).collect::<Vec<_>>();
            compare("variance", &squares(a), &squares(b));
            if k > 0 && !expected[k - 1][0].is_nan() {
                let products = |all: &[Vec<f64>]| -> Vec<f64> {
                    all[k].iter().zip(&all[k - 1]).map(|(x, y)| x * y).collect()
                };
                compare("product", &products(&found), &products(&expected));
            }
        }
    }

    #[test]
    fn statements_draw_what_they_are_densities_of() {
        let eta = "vector[N] eta = mu + x * beta;";
        let of_eta = format!("{eta} array[N] real r = normal_rng(eta, sigma);");
        is_as("y", "y ~ normal(mu + x * beta, sigma);", &of_eta);
        is_as("y", "target += normal_id_glm_lpdf(y | x, mu, beta, sigma);", &of_eta);
        is_as(
            "y",
            "for (i in 1:N) target += normal_lupdf(y[i] | mu + x[i] * beta, sigma);",
            &of_eta,
        );
        is_as(
            "k",
            "k ~ binomial_logit(n, mu + x * beta);",
            &format!("{eta} array[N] int r = binomial_rng(n, inv_logit(eta));"),
        );
        is_as(
            "k",
            "k ~ ordered_logistic(rep_vector(mu, N), [-sigma, sigma]');",
            "array[N] int r; for (i in 1:N) r[i] = ordered_logistic_rng(mu, [-sigma, sigma]');",
        );
        is_as(
            "v",
            "v ~ multi_normal_cholesky(beta, [[sigma, 0], [0.5, 1]]);",
            "array[N] vector[2] r; for (i in 1:N) r[i] = multi_normal_cholesky_rng(beta, [[sigma, 0], [0.5, 1]]);",
        );
        is_as(
            "m",
            "for (i in 1:2) for (j in 1:2) m[i, j] ~ normal(mu, sigma) T[0, ];",
            "array[2, 2] real r; for (i in 1:2) for (j in 1:2) { real u = uniform_rng(0, 1);
               r[i, j] = mu - sigma * std_normal_qf(u * Phi(mu / sigma)); }",
        );
        // Counts keep the totals that were observed.
        is_as(
            "c",
            "for (i in 1:N) c[i] ~ multinomial(softmax([mu, beta[1], 0]'));",
            "array[N, 3] int r; for (i in 1:N) r[i] = multinomial_rng(softmax([mu, beta[1], 0]'), sum(c[i]));",
        );
        is_as(
            "y",
            "for (i in 1:N) { real at = mu + x[i, 1]; y[i] ~ own(at); }",
            "vector[N] r; for (i in 1:N) r[i] = normal_rng(mu + x[i, 1], 2);",
        );
        // One step ahead of what was observed; the first element is not drawn.
        let one_ahead = "vector[N] r; for (t in 2:N) r[t] = normal_rng(2 * y[t - 1] + mu, sigma);";
        is_as("y", "for (t in 2:N) y[t] ~ normal(2 * y[t - 1] + mu, sigma);", one_ahead);
        is_as("y", "y[2:N] ~ normal(2 * y[1:(N - 1)] + mu, sigma);", one_ahead);
    }

    #[test]
    fn what_cannot_be_drawn_is_said() {
        for (statement, expected) in [
            (
                "log(y + 2) ~ normal(mu, sigma);",
                "`log(y + 2)` is computed from data, so that it cannot be drawn",
            ),
            ("for (i in 1:N) y[i] ~ other(mu);", "there is no `other_rng` to draw with"),
            ("y ~ normal(mu, 1); y ~ normal(mu, 2);", "`y` is drawn a second time"),
            (
                "for (i in 1:N) target += log_mix(0.5, normal_lpdf(y[i] | mu, 1), normal_lpdf(y[i] | 0, 1));",
                "help: draw replications in generated quantities",
            ),
        ] {
            let text = program(statement, "");
            let model =
                StanProgram::from_text("m.stan", &text).unwrap().bind("data", DATA).unwrap();
            let config = SamplerConfig::default().chains(1).warmup(50).draws(3);
            let fit = sample(&model, &config).unwrap();
            let error = model.replicate(fit.posterior(), 1).unwrap_err().to_string();
            assert!(error.contains(expected), "{statement}: {error}");
        }
    }

    /// Replications do not change with the number of draws before, and chains have their own.
    #[test]
    fn a_seed_has_its_replications() {
        let text = program("y ~ normal(mu, sigma);", "");
        let model = StanProgram::from_text("m.stan", &text).unwrap().bind("data", DATA).unwrap();
        let fit = sample(&model, &SamplerConfig::default().warmup(50).draws(20)).unwrap();
        let replicate = |seed| model.replicate(fit.posterior(), seed).unwrap();
        assert_eq!(replicate(1)["y"], replicate(1)["y"]);
        assert_ne!(replicate(1)["y"], replicate(2)["y"]);
        assert_eq!(fit.posterior_predictive().unwrap()["y"], replicate(fit.settings().seed)["y"]);
        assert_ne!(replicate(1)["y"].chain(0), replicate(1)["y"].chain(1));
    }
}
