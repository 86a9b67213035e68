# Four models of brms with CmdStanR behind it, on data made from known values: estimates, their
# deviations, and how many deviations they are from the values. Ends with status 1 where one is
# more than four deviations away or chains have not mixed.
#
#     CMDSTAN=DIR Rscript bench/peers/brms_models.R     # DIR: of `exmc cmdstan install`
suppressPackageStartupMessages({
  library(cmdstanr)
  library(brms)
})
all_good <- TRUE

# Fits a model and compares parameters with their true values.
compare <- function(title, formula, data, family, truth, ...) {
  started <- Sys.time()
  invisible(capture.output(fit <- suppressMessages(brm(
    formula, data = data, family = family, backend = "cmdstanr",
    chains = 4, cores = 2, iter = 2000, seed = 7, refresh = 0, silent = 2, ...
  ))))
  seconds <- as.numeric(difftime(Sys.time(), started, units = "secs"))
  draws <- posterior::subset_draws(posterior::as_draws(fit), variable = names(truth))
  summary <- posterior::summarise_draws(draws, "mean", "sd", "rhat", "ess_bulk")
  for (column in names(summary)[-1]) summary[[column]] <- as.numeric(summary[[column]])
  away <- abs(summary$mean - truth) / summary$sd
  table <- data.frame(
    parameter = summary$variable, truth = round(unname(truth), 3),
    estimate = round(summary$mean, 3), deviation = round(summary$sd, 3),
    away = round(unname(away), 2), rhat = round(summary$rhat, 3), ess = round(summary$ess_bulk)
  )
  divergent <- sum(subset(nuts_params(fit), Parameter == "divergent__")$Value)
  cat(sprintf("\n%s: %.1f s from formula to fit, %d divergences\n", title, seconds, divergent))
  print(table, row.names = FALSE)
  good <- all(away < 4) && all(summary$rhat < 1.02)
  if (!good) cat("  NOT AS IT MUST BE\n")
  all_good <<- all_good && good
  invisible(fit)
}

# Intercepts and slopes that vary over 40 groups, with a correlation of 0.5.
set.seed(1)
n_groups <- 40
covariance <- matrix(c(0.8^2, 0.5 * 0.8 * 0.6, 0.5 * 0.8 * 0.6, 0.6^2), 2)
effects <- matrix(rnorm(2 * n_groups), n_groups) %*% chol(covariance)
slopes <- data.frame(g = rep(seq_len(n_groups), each = 15))
slopes$x <- rnorm(nrow(slopes))
slopes$y <- 1 + effects[slopes$g, 1] + (2 + effects[slopes$g, 2]) * slopes$x + rnorm(nrow(slopes))
compare(
  "varying slopes", y ~ x + (x | g), slopes, gaussian(),
  c(
    b_Intercept = 1, b_x = 2, sd_g__Intercept = 0.8, sd_g__x = 0.6,
    cor_g__Intercept__x = 0.5, sigma = 1
  )
)

# A smooth function of one predictor and a line in another. The function's values are compared at
# five points.
set.seed(2)
smooth <- data.frame(x = runif(300, 0, 1), z = rnorm(300))
wave <- function(x) sin(2 * pi * x)
smooth$y <- wave(smooth$x) + 0.5 * smooth$z + rnorm(300, 0, 0.3)
gam <- compare(
  "a generalized additive model", y ~ s(x) + z, smooth, gaussian(), c(b_z = 0.5, sigma = 0.3),
  control = list(adapt_delta = 0.95)
)
at <- data.frame(x = c(0.1, 0.3, 0.5, 0.7, 0.9), z = 0)
values <- fitted(gam, newdata = at)
away <- abs(values[, "Estimate"] - wave(at$x)) / values[, "Est.Error"]
print(data.frame(
  x = at$x, truth = round(wave(at$x), 3), estimate = round(values[, "Estimate"], 3),
  deviation = round(values[, "Est.Error"], 3), away = round(away, 2)
), row.names = FALSE)
if (any(away > 4)) {
  cat("  NOT AS IT MUST BE\n")
  all_good <- FALSE
}

# An ordered outcome of four levels.
set.seed(3)
thresholds <- c(-1, 0.2, 1.5)
ordinal <- data.frame(x = rnorm(500))
ordinal$y <- 1 + rowSums(outer(1.2 * ordinal$x + rlogis(500), thresholds, ">"))
compare(
  "an ordinal model", y ~ x, ordinal, cumulative("logit"),
  c("b_Intercept[1]" = -1, "b_Intercept[2]" = 0.2, "b_Intercept[3]" = 1.5, b_x = 1.2)
)

# Counts of which three in ten are zero whatever their mean is, with effects of 25 groups.
set.seed(4)
counts <- data.frame(g = rep(1:25, each = 20), x = rnorm(500))
mean_count <- exp(0.7 + rnorm(25, 0, 0.4)[counts$g] + 0.5 * counts$x)
counts$y <- ifelse(runif(500) < 0.3, 0, rpois(500, mean_count))
compare(
  "a zero-inflated model", y ~ x + (1 | g), counts, zero_inflated_poisson(),
  c(b_Intercept = 0.7, b_x = 0.5, sd_g__Intercept = 0.4, zi = 0.3)
)

quit(status = if (all_good) 0 else 1)
