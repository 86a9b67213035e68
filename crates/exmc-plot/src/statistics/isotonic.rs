//! Outcomes in the order of their predictions -> the calibrated probabilities.

/// The non-decreasing sequence that is nearest to `values` in squares: pool adjacent violators.
///
/// For 0/1 outcomes in the order of their predicted probabilities, entry k is the conditional event
/// probability of the reliability diagram. **Cost**: linear. **Reference**: Dimitriadis, Gneiting,
/// Jordan 2021, *PNAS* 118 (CORP).
pub fn isotonic(values: &[f64]) -> Vec<f64> {
    // Pools of (sum, size) with increasing means.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for &value in values {
        let mut pool = (value, 1);
        while let Some(&(sum, size)) = pools.last() {
            if sum * (pool.1 as f64) < pool.0 * size as f64 {
                break;
            }
            pool = (pool.0 + sum, pool.1 + size);
            pools.pop();
        }
        pools.push(pool);
    }
    pools.iter().flat_map(|(sum, size)| std::iter::repeat_n(sum / *size as f64, *size)).collect()
}
