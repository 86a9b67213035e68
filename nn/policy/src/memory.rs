//! A process -> one whose allocator keeps what a step of training frees for the next step.

use std::hint::black_box;

/// Bytes of the block; glibc learns from blocks of up to 32 MiB.
const BLOCK: usize = 31 << 20;

/// Makes steps of training quicker where the allocator is glibc's, and changes nothing elsewhere.
///
/// A step takes and frees some hundred arrays of up to a few megabytes. By default such arrays are
/// mapped from the system one by one, and every page of each is faulted in anew. glibc raises both
/// limits of that (`M_MMAP_THRESHOLD` to the size of the block, `M_TRIM_THRESHOLD` to twice as
/// much) when a mapped block is freed, so one block does it for all arrays that come behind.
pub fn keep_memory() {
    drop(black_box(Vec::<u8>::with_capacity(BLOCK)));
}
