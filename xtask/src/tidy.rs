//! placeholder
pub(crate) fn tidy() -> Result<(), String> {
    Ok(())
}
