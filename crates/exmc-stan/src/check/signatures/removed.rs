//! Names that older versions of Stan had -> what to write today.

/// Advice for a name that is no function any more.
pub(in crate::check) fn replacement(name: &str) -> Option<String> {
    let advice = match name {
        "increment_log_prob" => "write `target += …;`",
        "get_lp" => "write `target()`",
        "fabs" => "write `abs(…)`",
        "multiply_log" => "write `lmultiply(…)`",
        "binomial_coefficient_log" => "write `lchoose(…)`",
        "if_else" => "write `condition ? a : b`",
        "cov_exp_quad" => "write `gp_exp_quad_cov(…)`",
        "is_uninitialized" | "stochastic_matrix" => return None,
        _ => return removed_density(name),
    };
    Some(format!("`{name}` was removed from Stan; {advice}"))
}

/// `normal_log`, `normal_cdf_log`, `normal_ccdf_log`: the names of densities before 2.10.
fn removed_density(name: &str) -> Option<String> {
    let endings = [("_ccdf_log", "lccdf"), ("_cdf_log", "lcdf"), ("_log", "")];
    let (prefix, suffix) =
        endings.iter().find_map(|(old, new)| Some((name.strip_suffix(old)?, *new)))?;
    let family = super::family(prefix)?;
    let suffix = if suffix.is_empty() { family.density_suffix() } else { suffix };
    Some(format!("`{name}` was removed from Stan; write `{prefix}_{suffix}(y | …)`"))
}
