//! Test kit (dev only): models with known posteriors -> verdicts on the whole path from builder to draws.
