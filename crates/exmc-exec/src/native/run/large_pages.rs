//! Memory for large arrays -> the same memory in large pages, where the system has them to give.
//!
//! A page is found and cleared when it is first written, which costs more than the writing: for the
//! arrays of a large model thousands of times. Large pages are also missed less often by the
//! processor's table of pages.
#![expect(unsafe_code, reason = "the system's calls for memory cannot be made otherwise")]

use exmc_math::simd::Line;

/// Bytes of a large page.
const LARGE_PAGE_SIZE: usize = 1 << 21;

/// Memory for so many lines, none of which is there yet.
pub(in crate::native) fn lines(count: usize) -> Vec<Line> {
    let lines = Vec::with_capacity(count);
    if count * size_of::<Line>() >= LARGE_PAGE_SIZE {
        advise(&lines);
    }
    lines
}

#[cfg(target_os = "linux")]
fn advise(lines: &Vec<Line>) {
    use std::ffi::{c_int, c_void};

    unsafe extern "C" {
        fn madvise(address: *mut c_void, len: usize, how: c_int) -> c_int;
    }
    /// Linux's number for large pages.
    const LARGE_PAGES: c_int = 14;
    /// Bytes of a page; where pages are larger, the system refuses.
    const PAGE: usize = 4096;
    let first = lines.as_ptr();
    let before = first.addr() % PAGE;
    let len = (lines.capacity() * size_of::<Line>() + before) / PAGE * PAGE;
    // SAFETY: the call changes how memory is provided, never what is in it, so it may be made for
    // any pages; those are of the vector, but for what lies before it in its first page. A refusal
    // leaves all as it was.
    unsafe { madvise(first.byte_sub(before).cast_mut().cast(), len, LARGE_PAGES) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_: &Vec<Line>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_holds_what_is_written() {
        for count in
            [0, 1, LARGE_PAGE_SIZE / size_of::<Line>(), 3 * LARGE_PAGE_SIZE / size_of::<Line>() + 5]
        {
            let mut memory = lines(count);
            assert!(memory.is_empty() && memory.capacity() >= count);
            memory.extend((0..count).map(|k| Line([k as f64; 8])));
            assert!(memory.iter().enumerate().all(|(k, line)| line.0 == [k as f64; 8]));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn large_arrays_ask_for_large_pages() {
        // What the system says of the pages at an address, if it has large ones.
        let flags = |address: usize| -> Option<String> {
            std::fs::metadata("/sys/kernel/mm/transparent_hugepage").ok()?;
            let text = std::fs::read_to_string("/proc/self/smaps").ok()?;
            let mut inside = false;
            for line in text.lines() {
                let ends = line.split_whitespace().next().and_then(|range| range.split_once('-'));
                let number = |text| usize::from_str_radix(text, 16).ok();
                if let Some((first, end)) = ends.and_then(|(a, b)| number(a).zip(number(b))) {
                    inside = (first..end).contains(&address);
                }
                if inside && line.starts_with("VmFlags:") {
                    return Some(line.to_owned());
                }
            }
            None
        };
        let memory = lines(2 * LARGE_PAGE_SIZE / size_of::<Line>());
        let Some(flags) = flags(memory.as_ptr().addr() + LARGE_PAGE_SIZE) else { return };
        assert!(flags.contains(" hg"), "{flags}");
    }
}
