//! internal, unstable
