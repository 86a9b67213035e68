//! Warmup schedules: a number of warmup draws -> which draws feed the metric and when it changes.

/// Stan's three phases: a buffer that adapts only the step size, doubling windows that estimate the
/// metric, and a last buffer for the step size.
///
/// **Reference**: Stan reference manual, "Automatic parameter tuning"; with `n` warmup draws the
/// buffers are 75 and 50 and the first window 25, shrunk to 15 %, 10 % and the rest when `n < 150`;
/// below 20 only the step size adapts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StanWindows {
    warmup: u64,
    /// First draw that feeds the metric.
    start: u64,
    /// First draw after the last window.
    end: u64,
    base: u64,
}

impl StanWindows {
    /// The schedule for `warmup` draws.
    pub fn new(warmup: u64) -> Self {
        const INITIAL: u64 = 75;
        const BASE: u64 = 25;
        const TERMINAL: u64 = 50;
        let (start, end, base) = if warmup < 20 {
            (warmup, warmup, 0)
        } else if warmup < INITIAL + BASE + TERMINAL {
            // Integer forms of floor(0.15 n) and floor(0.1 n).
            let (initial, terminal) = (warmup * 15 / 100, warmup / 10);
            (initial, warmup - terminal, warmup - initial - terminal)
        } else {
            (INITIAL, warmup - TERMINAL, BASE)
        };
        Self { warmup, start, end, base }
    }

    /// Whether warmup draw `index` (from 0) feeds the metric estimate.
    pub fn feeds_metric(&self, index: u64) -> bool {
        (self.start..self.end).contains(&index)
    }

    /// Whether a window ends with warmup draw `index`, so that the metric changes after it.
    pub fn window_ends_at(&self, index: u64) -> bool {
        self.window_ends().any(|end| end == index + 1)
    }

    /// First draw of the first window.
    pub fn initial_buffer(&self) -> u64 {
        self.start
    }

    /// The ends of the windows: a metric comes into force after that many warmup draws.
    pub fn window_ends(&self) -> impl Iterator<Item = u64> + use<> {
        let Self { start, end, base, .. } = *self;
        let mut from = start;
        let mut size = base;
        std::iter::from_fn(move || {
            if size == 0 || from >= end {
                return None;
            }
            let mut to = from + size;
            // A last window that is too short for the next doubling joins this one.
            if to + 2 * size > end {
                to = end;
            }
            from = to;
            size *= 2;
            Some(to)
        })
    }
}

/// nutpie's schedule: two overlapping windows, many short ones early and growing ones later, then a
/// last phase for the step size alone.
///
/// A *foreground* estimate is in force and a *background* one collects; when the background holds a
/// window's worth of draws it becomes the foreground and an empty one takes its place. The metric
/// therefore always rests on at least the last full window and forgets the transient quickly.
/// **Reference**: nutpie 0.16 and nuts-rs 0.18 (their documented defaults: early phase 30 %,
/// windows of 10; later windows from 80, growing by 1.5; last 15 % step size only).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverlappingWindows {
    early_end: u64,
    metric_end: u64,
}

impl OverlappingWindows {
    /// Window length in the early phase.
    pub const EARLY_WINDOW: u64 = 10;
    /// First window length after it.
    pub const FIRST_WINDOW: u64 = 80;

    /// The schedule for `warmup` draws.
    pub fn new(warmup: u64) -> Self {
        Self { early_end: warmup * 30 / 100, metric_end: warmup - warmup * 15 / 100 }
    }

    /// Whether warmup draw `index` (from 0) feeds the metric estimate.
    pub fn feeds_metric(&self, index: u64) -> bool {
        index < self.metric_end
    }

    /// The window length at draw `index`, when later windows have grown to `later`.
    pub fn window(&self, index: u64, later: u64) -> u64 {
        if index < self.early_end { Self::EARLY_WINDOW } else { later }
    }

    /// Whether draw `index` is in the early phase.
    pub fn is_early(&self, index: u64) -> bool {
        index < self.early_end
    }

    /// Whether a new window of length `window` that starts after draw `index` would still fill.
    pub fn has_room(&self, index: u64, window: u64) -> bool {
        index + window <= self.metric_end
    }

    /// The length of the window after one of length `later`: half as long again.
    pub fn grown(later: u64) -> u64 {
        later + later / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Row D20 of the requirement table.
    #[test]
    fn stan_windows_have_the_exact_boundaries() {
        let ends = |n| StanWindows::new(n).window_ends().collect::<Vec<_>>();
        let buffer = |n| StanWindows::new(n).initial_buffer();
        assert_eq!((buffer(1000), ends(1000)), (75, vec![100, 150, 250, 450, 950]));
        assert_eq!((buffer(500), ends(500)), (75, vec![100, 150, 250, 450]));
        assert_eq!((buffer(300), ends(300)), (75, vec![100, 150, 250]));
        assert_eq!((buffer(150), ends(150)), (75, vec![100]));
        assert_eq!((buffer(100), ends(100)), (15, vec![90]));
        assert_eq!((buffer(20), ends(20)), (3, vec![18]));
        assert_eq!(ends(19), Vec::<u64>::new());
        assert_eq!(ends(0), Vec::<u64>::new());
    }

    /// Every length from 20 on must estimate a metric and leave a last buffer.
    #[test]
    fn every_warmup_from_20_on_adapts_the_metric() {
        for n in 20..1200 {
            let windows = StanWindows::new(n);
            let ends: Vec<_> = windows.window_ends().collect();
            let last = *ends.last().expect("at least one window");
            assert!(last < n && last == windows.end, "{n}: {ends:?}");
            assert!(ends.is_sorted());
            assert_eq!((0..n).filter(|i| windows.window_ends_at(*i)).count(), ends.len());
        }
    }

    #[test]
    fn overlapping_windows_leave_a_last_phase() {
        let windows = OverlappingWindows::new(1000);
        assert!(windows.is_early(299) && !windows.is_early(300));
        assert!(windows.feeds_metric(849) && !windows.feeds_metric(850));
        assert_eq!((windows.window(299, 80), windows.window(300, 80)), (10, 80));
        assert_eq!(OverlappingWindows::grown(80), 120);
        for n in 1..20 {
            assert!(OverlappingWindows::new(n).feeds_metric(0), "{n}");
        }
    }
}
