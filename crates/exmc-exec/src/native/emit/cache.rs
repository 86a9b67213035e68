//! Which register holds what: places in memory -> registers that have their numbers already.
//!
//! A register is given away when it was used longest ago. Memory has its numbers, too, but for
//! those of values that are still to be written: the one who gives the register away does that
//! first, if anybody reads them later.

use super::assembler::{Address, Register};

/// Registers of halves, and of whole vectors.
pub(super) const REGISTERS: usize = 16;
pub(super) const WIDE_REGISTERS: usize = 32;
/// Bytes of a vector, and of a scalar's line.
pub(super) const LINE: usize = 64;

/// Eight lanes: one register where all are equal, and of instructions on whole vectors, else two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Equal(Register),
    Lanes([Register; 2]),
    /// The lower four, the upper ones being nobody's; or all eight, where they are `f32` or the
    /// register has a whole vector.
    Low(Register),
}

impl Value {
    /// The register with the lower or the upper four lanes.
    pub(super) fn half(self, half: usize) -> Register {
        match self {
            Self::Equal(register) | Self::Low(register) => register,
            Self::Lanes(registers) => registers[half],
        }
    }

    /// The registers with its lanes.
    pub(super) fn registers(&self) -> &[Register] {
        match self {
            Self::Equal(register) | Self::Low(register) => std::slice::from_ref(register),
            Self::Lanes(registers) => registers,
        }
    }
}

/// What registers hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) address: Address,
    pub(super) value: Value,
    /// The last instruction that reads the value, of one that memory lacks.
    pub(super) unwritten: Option<usize>,
}

#[derive(Debug)]
pub(super) struct Cache {
    known: Vec<Known>,
    /// How many registers there are, and the bytes of the longest value.
    count: usize,
    longest: usize,
    /// When each register was used last; 0 for never.
    used: [u64; WIDE_REGISTERS],
    now: u64,
    /// Registers used since then stay.
    since: u64,
    /// Registers that stay all the time.
    kept: [bool; WIDE_REGISTERS],
}

impl Cache {
    /// A cache of registers with halves of vectors.
    pub(super) fn new() -> Self {
        Self::of(REGISTERS, LINE)
    }

    /// A cache of registers with whole vectors, two of which may make a value.
    pub(super) fn wide() -> Self {
        Self::of(WIDE_REGISTERS, 2 * LINE)
    }

    fn of(count: usize, longest: usize) -> Self {
        Self {
            known: Vec::new(),
            count,
            longest,
            used: [0; WIDE_REGISTERS],
            now: 0,
            since: 0,
            kept: [false; WIDE_REGISTERS],
        }
    }

    /// Begins an instruction: what it uses from here on stays until the next one.
    pub(super) fn begin(&mut self) {
        self.now += 1;
        self.since = self.now;
    }

    /// Keeps a value's registers from now on.
    pub(super) fn keep(&mut self, value: Value) {
        for half in 0..2 {
            self.kept[usize::from(value.half(half))] = true;
        }
    }

    /// Keeps a value during this instruction.
    pub(super) fn hold(&mut self, value: Value) {
        self.now += 1;
        for half in 0..2 {
            self.used[usize::from(value.half(half))] = self.now;
        }
    }

    /// The value of the vector or line there, if a register has it.
    pub(super) fn find(&mut self, address: Address) -> Option<Value> {
        let value = self.known.iter().find(|known| known.address == address)?.value;
        self.hold(value);
        Some(value)
    }

    /// A register to write to, which this instruction keeps, and what was in it.
    pub(super) fn fresh(&mut self) -> (Register, Option<Known>) {
        let free = (0..self.count).filter(|&r| self.used[r] < self.since && !self.kept[r]);
        let oldest =
            free.min_by_key(|&r| self.used[r]).expect("an instruction needs few registers");
        let register = u8::try_from(oldest).expect("there are few");
        let holds = |known: &Known| (0..2).any(|half| known.value.half(half) == register);
        let before = self.known.iter().position(holds).map(|k| self.known.swap_remove(k));
        self.now += 1;
        self.used[oldest] = self.now;
        (register, before)
    }

    /// Gives back a register that holds no known value.
    pub(super) fn release(&mut self, register: Register) {
        self.used[usize::from(register)] = 0;
    }

    /// A value whose place is that.
    pub(super) fn know(&mut self, address: Address, value: Value, unwritten: Option<usize>) {
        self.known.push(Known { address, value, unwritten });
    }

    /// Forgets everything.
    pub(super) fn forget(&mut self) {
        self.known.clear();
    }

    /// Forgets what overlaps a value that is written.
    pub(super) fn overwrite(&mut self, address: Address) {
        self.overwrite_bytes(address, self.longest);
    }

    /// Forgets what overlaps so many bytes that are written, and nothing beside: memory may lack
    /// it.
    pub(super) fn overwrite_bytes(&mut self, address: Address, bytes: usize) {
        let (first, end) = (address.first, address.first + bytes);
        let apart = |known: &Known| {
            end <= known.address.first || known.address.first + self.longest <= first
        };
        self.known.retain(|known| known.address.moves != address.moves || apart(known));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_that_are_in_use_stay_and_the_oldest_goes_first() {
        let mut cache = Cache::new();
        for k in 0..REGISTERS {
            cache.begin();
            let (register, before) = cache.fresh();
            assert_eq!(before, None);
            cache.know(Address::fixed(LINE * k), Value::Equal(register), Some(k));
        }
        cache.begin();
        let first = cache.find(Address::fixed(0)).unwrap();
        let (given, before) = cache.fresh();
        assert_ne!(first, Value::Equal(given));
        let second =
            Known { address: Address::fixed(LINE), value: Value::Equal(given), unwritten: Some(1) };
        assert_eq!(before, Some(second));
        assert_eq!(cache.find(Address::fixed(LINE)), None);
        assert_eq!(cache.find(Address::fixed(0)), Some(first));
    }

    #[test]
    fn what_is_written_over_is_forgotten() {
        let mut cache = Cache::new();
        cache.begin();
        let value = Value::Lanes([cache.fresh().0, cache.fresh().0]);
        cache.know(Address::fixed(1000), value, None);
        cache.overwrite(Address::fixed(1000 + LINE));
        cache.overwrite(Address::fixed(1000 - LINE));
        assert_eq!(cache.find(Address::fixed(1000)), Some(value));
        // Numbers next to it.
        cache.overwrite_bytes(Address::fixed(1000 + LINE), 8);
        cache.overwrite_bytes(Address::fixed(1000 - 8), 8);
        assert_eq!(cache.find(Address::fixed(1000)), Some(value));
        // A view that begins eight bytes on.
        cache.overwrite(Address::fixed(1008));
        assert_eq!(cache.find(Address::fixed(1000)), None);
    }
}
