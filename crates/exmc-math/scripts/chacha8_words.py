"""An independent ChaCha8 in plain Python: prints the first 64-bit words of a stream, the golden of tests/random_streams.rs.

Key: four SplitMix64 outputs from the seed. Nonce: chain << 8 | phase, 64-bit block counter (Bernstein's layout).
"""
import struct

MASK = 0xFFFFFFFF


def splitmix_key(seed):
    key, state = b"", seed
    for _ in range(4):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        key += struct.pack("<Q", z ^ (z >> 31))
    return key


def quarter(s, a, b, c, d):
    for x, y, z, r in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)]:
        s[x] = (s[x] + s[y]) & MASK
        s[z] ^= s[x]
        s[z] = (s[z] << r | s[z] >> (32 - r)) & MASK


def block(key, counter, nonce):
    start = list(struct.unpack("<4I", b"expand 32-byte k") + struct.unpack("<8I", key)
                 + struct.unpack("<4I", struct.pack("<QQ", counter, nonce)))
    s = start[:]
    for _ in range(4):
        for quad in [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                     (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]:
            quarter(s, *quad)
    return struct.pack("<16I", *((a + b) & MASK for a, b in zip(s, start)))


def words(seed, chain, phase, n):
    data = b"".join(block(splitmix_key(seed), i, chain << 8 | phase) for i in range(n // 8 + 1))
    return struct.unpack(f"<{n}Q", data[: 8 * n])


if __name__ == "__main__":
    stream = words(20240917, 2, 2, 41)
    print("words 0, 1, 40:", *(hex(stream[i]) for i in (0, 1, 40)))
