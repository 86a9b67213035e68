//! Every function that an expression can call, once, through text and back.

use std::collections::BTreeSet;

use exmc_model::{DataSet, function_names, read_json, write_json};

use crate::json::support::logp_bits;

/// A call of each function over `u` (a number in (0, 1)), `p` (a positive vector of three), `x` (a
/// vector of three), `m` (a matrix, 2 by 3), `s` (a square matrix, positive definite) and `k`
/// (indices).
const CALLS: &[&str] = &[
    r#"["neg", "x"]"#,
    r#"["abs", "x"]"#,
    r#"["sign", "x"]"#,
    r#"["floor", "x"]"#,
    r#"["ceil", "x"]"#,
    r#"["round", "x"]"#,
    r#"["not", "x"]"#,
    r#"["is_finite", "x"]"#,
    r#"["exp", "x"]"#,
    r#"["expm1", "x"]"#,
    r#"["log", "p"]"#,
    r#"["log1p", "p"]"#,
    r#"["sqrt", "p"]"#,
    r#"["square", "x"]"#,
    r#"["reciprocal", "p"]"#,
    r#"["sin", "x"]"#,
    r#"["cos", "x"]"#,
    r#"["tan", "x"]"#,
    r#"["asin", "u"]"#,
    r#"["acos", "u"]"#,
    r#"["atan", "x"]"#,
    r#"["sinh", "x"]"#,
    r#"["cosh", "x"]"#,
    r#"["tanh", "x"]"#,
    r#"["inv_logit", "x"]"#,
    r#"["softplus", "x"]"#,
    r#"["log1m_exp", ["neg", "p"]]"#,
    r#"["lgamma", "p"]"#,
    r#"["digamma", "p"]"#,
    r#"["trigamma", "p"]"#,
    r#"["tetragamma", "p"]"#,
    r#"["erf", "x"]"#,
    r#"["erfc", "x"]"#,
    r#"["std_normal_lcdf", "x"]"#,
    r#"["inv_Phi", "u"]"#,
    r#"["std_normal_log_qf", ["neg", "p"]]"#,
    r#"["log_bessel_i0", "x"]"#,
    r#"["bessel_i1_i0", "x"]"#,
    r#"["lambert_w0", "p"]"#,
    r#"["lambert_wm1", ["mul", -0.3, "u"]]"#,
    r#"["add", "x", "u"]"#,
    r#"["sub", "m", "x"]"#,
    r#"["mul", "x", 2]"#,
    r#"["div", "x", "p"]"#,
    r#"["pow", "p", "x"]"#,
    r#"["min", "x", 0.25]"#,
    r#"["max", "x", "u"]"#,
    r#"["log_add_exp", "x", "u"]"#,
    r#"["log_add_exp_share", "x", "u"]"#,
    r#"["log_diff_exp", ["add", "x", "p"], "x"]"#,
    r#"["atan2", "x", "p"]"#,
    r#"["lt", "x", 0]"#,
    r#"["le", "x", 0]"#,
    r#"["eq", "x", "x"]"#,
    r#"["ne", "x", 0]"#,
    r#"["and", "x", "p"]"#,
    r#"["or", "x", 0]"#,
    r#"["lbeta", "p", "u"]"#,
    r#"["digamma_rise", "p", "u"]"#,
    r#"["log_gamma_p", "p", "u"]"#,
    r#"["log_gamma_q", "p", "u"]"#,
    r#"["log_gamma_p_da", "p", "u"]"#,
    r#"["log_gamma_q_da", "p", "u"]"#,
    r#"["owens_t", "x", "u"]"#,
    r#"["bessel_j", 2, "x"]"#,
    r#"["bessel_y", 2, "p"]"#,
    r#"["student_t_quantile", "u", "p"]"#,
    r#"["fmod", "x", "p"]"#,
    r#"["select", ["lt", "x", "u"], "p", 0.5]"#,
    r#"["log_beta_inc", "p", 2.0, "u"]"#,
    r#"["log_beta_inc_da", "p", 2.0, "u"]"#,
    r#"["log_beta_inc_db", "p", 2.0, "u"]"#,
    r#"["beta_inc_inverse", "p", 2.0, "u"]"#,
    r#"["broadcast", "x", {"shape": [2, 3]}]"#,
    r#"["reshape", "m", {"shape": [3, 2]}]"#,
    r#"["permute", "m", {"order": [1, 0]}]"#,
    r#"["slice", "m", {"axis": 1, "start": 0, "stop": 3, "step": 2}]"#,
    r#"["unslice", "x", {"axis": 0, "start": 1, "step": 2, "extent": 6}]"#,
    r#"["concat", "x", "p"]"#,
    r#"["stack", "x", "u", {"axis": 1}]"#,
    r#"["gather", "x", "k"]"#,
    r#"["at", "m", {"index": 1}]"#,
    r#"["scatter_add", ["gather", "x", "k"], "k", {"len": 5}]"#,
    r#"["sum", "m", {"axes": [0]}]"#,
    r#"["mean", "m", {"axes": [1]}]"#,
    r#"["max_of", "m"]"#,
    r#"["min_of", "m", {"axes": [0, 1]}]"#,
    r#"["log_sum_exp", "m", {"axes": [1]}]"#,
    r#"["cumulative_sum", "m", {"axis": 1, "reverse": true}]"#,
    r#"["matmul", "m", "x"]"#,
    r#"["cholesky", "s"]"#,
    r#"["solve", "s", [1.0, 2.0]]"#,
    r#"["log_abs_det", "s"]"#,
    r#"["lu", "s"]"#,
    r#"["lu_solve", "s", ["lu", "s"], [1.0, 2.0], {"transposed": true}]"#,
    r#"["triangular_solve", ["cholesky", "s"], [1.0, 2.0], {"transposed": true}]"#,
    r#"["transpose", "m"]"#,
    r#"["dot", "x", "p"]"#,
    r#"["dot_self", "x"]"#,
    r#"["outer", "x", "p"]"#,
    r#"["softmax", "m"]"#,
    r#"["log_softmax", "x"]"#,
    r#"["logit", "u"]"#,
    r#"["log1m", "u"]"#,
    r#"["log_inv_logit", "x"]"#,
    r#"["Phi", "x"]"#,
    r#"["diagonal", "s"]"#,
];

#[test]
fn every_function_reads_back_as_itself() {
    let mut called = BTreeSet::new();
    for call in CALLS {
        called.insert(call.split('"').nth(1).unwrap());
        let text = format!(
            r#"{{"exmc": 1, "nodes": [
                {{"data": "k", "value": [2, 0, 2, 1]}},
                {{"rv": "u", "dist": "beta", "params": [2, 2]}},
                {{"rv": "p", "dist": "gamma", "params": [2, 2], "shape": [3]}},
                {{"rv": "x", "dist": "normal", "params": [0, 1], "shape": [3]}},
                {{"rv": "m", "dist": "normal", "params": [0, 1], "shape": [2, 3]}},
                {{"det": "s", "value": ["add", ["matmul", "m", ["transpose", "m"]], [[1.0, 0.0], [0.0, 1.0]]]}},
                {{"det": "value", "value": {call}}},
                {{"potential": "used", "value": {call}}}
            ]}}"#
        );
        let model = read_json(&text).unwrap_or_else(|e| panic!("{call}: {e}"));
        let written = write_json(&model);
        let again = read_json(&written).unwrap_or_else(|e| panic!("{e}\n{written}"));
        assert_eq!(write_json(&again), written);
        let bits = logp_bits(&model, &DataSet::new()).unwrap();
        assert_eq!(logp_bits(&again, &DataSet::new()).unwrap(), bits, "{written}");
        assert!(bits.iter().any(|b| f64::from_bits(*b).is_finite()), "{call} is finite nowhere");
    }
    let all: BTreeSet<_> = function_names().collect();
    assert_eq!(called, all, "each function has its row");
}
