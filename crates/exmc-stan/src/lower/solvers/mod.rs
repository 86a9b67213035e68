//! Functions that take a function: the user's function is walked once with symbolic arguments into
//! a graph of its own, which an operation of the graph carries (initial value problems, systems of
//! equations, integrals, `map_rect`, Laplace).

pub(super) mod algebra;
pub(super) mod dae;
pub(super) mod laplace;
pub(super) mod laplace_of_numbers;
pub(super) mod map_rect;
pub(super) mod ode;
pub(super) mod quadrature;
