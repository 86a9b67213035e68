"""Writes src/double_double/log_table.rs: reciprocals of 48/64 .. 96/64 and their logarithms to 106 bits.

Run: python double_double_log.py > ../src/double_double/log_table.rs. Needs mpmath.
"""
from mpmath import mp, mpf, log

mp.dps = 60


def split(value):
    high = float(value)
    return high, float(value - mpf(high))


print("//! Reciprocal and logarithm per 1/64 step of [3/4, 3/2], written by `scripts/double_double_log.py`.\n")
print("/// Entry `i` belongs to `c = (48 + i) / 64`: `r` near `1/c`, then the high and low part of `-log r`.")
print("#[rustfmt::skip]\npub(super) const LOG_TABLE: [[f64; 3]; 49] = [")
for i in range(48, 97):
    reciprocal = float(mpf(64) / i)
    high, low = split(-log(mpf(reciprocal)))
    print(f"    [{reciprocal!r}, {high!r}, {low!r}],")
print("];")
