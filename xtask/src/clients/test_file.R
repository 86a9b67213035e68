# A file of testthat tests -> one line a test on standard output, as pytest has them.
suppressPackageStartupMessages({
  library(testthat)
  library(cmdstanr)
})
results <- test_file(
  commandArgs(TRUE)[1],
  package = "cmdstanr", load_package = "installed",
  reporter = "silent", stop_on_failure = FALSE
)
one_line <- function(condition) {
  gsub("[[:space:]]+", " ", conditionMessage(condition))
}
names <- vapply(results, function(test) paste0(test$file, "::", test$test), "")
names <- make.unique(gsub(" - ", ", ", names, fixed = TRUE), sep = " #")
# The first of a name is #1, so that the second is #2.
names <- gsub(" #([0-9]+)$", " #\\1x", names)
for (k in which(grepl(" #[0-9]+x$", names))) {
  number <- as.integer(sub(".* #([0-9]+)x$", "\\1", names[k])) + 1
  names[k] <- sub(" #[0-9]+x$", paste0(" #", number), names[k])
}
for (k in seq_along(results)) {
  parts <- results[[k]]$results
  kind <- vapply(parts, function(part) class(part)[1], "")
  bad <- which(kind %in% c("expectation_failure", "expectation_error"))
  skipped <- which(kind == "expectation_skip")
  if (length(bad)) {
    cat("FAILED ", names[k], " - ", one_line(parts[[bad[1]]]), "\n", sep = "")
  } else if (length(skipped)) {
    cat("SKIPPED [1] ", names[k], ": ", one_line(parts[[skipped[1]]]), "\n", sep = "")
  } else {
    cat("PASSED ", names[k], "\n", sep = "")
  }
}
