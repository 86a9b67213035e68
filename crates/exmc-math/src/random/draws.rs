//! Frozen samplers of the named distributions: a stream and parameters to one draw.
