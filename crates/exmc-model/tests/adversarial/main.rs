//! What a sceptical reviewer tried: models that once gave wrong numbers, panicked or had bad errors.

mod harness;
mod limits_of_use;
mod oracle;
mod wrong_numbers;
