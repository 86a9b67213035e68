//! exmc
