//! Every function and distribution of numbers of Stan's library, at its edges: the graph by both
//! executors, the host, and what mpmath says (`scalar.csv` by `scalar.py`, `densities.csv` by
//! `densities.py`), values and derivatives.
//!
//! A function of the checker's signatures without a section in a table fails, unless it stands in
//! [`coverage`]'s lists with a reason.

mod coverage;
mod gate;
mod graph;
mod host;
mod short;
mod table;
mod tolerance;
