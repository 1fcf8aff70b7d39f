"""HighwayHash-64 in plain Python, the twin of `_native.c`.

The state is four vectors of four 64-bit lanes: `v0` and `v1` are mixed with the input, `mul0` and `mul1`
carry the products. Lanes are written out (`v0_0` to `v0_3` would be `a0` to `a3` below) because local
integers are what CPython is fastest at.

Key and use: "Conventions" of
https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md
"""

from __future__ import annotations

import struct

from rlds_kit.riegeli.buffer import Buffer

_MASK64 = (1 << 64) - 1
_MASK32 = (1 << 32) - 1
_PACKET = struct.Struct("<4Q")

Lanes = tuple[int, int, int, int]
State = tuple[Lanes, Lanes, Lanes, Lanes]

# The bytes "Riegeli/records\n" twice, as little-endian lanes.
_KEY: Lanes = (0x2F696C6567656952, 0x0A7364726F636572, 0x2F696C6567656952, 0x0A7364726F636572)
_INIT0: Lanes = (0xDBE6D5D5FE4CCE2F, 0xA4093822299F31D0, 0x13198A2E03707344, 0x243F6A8885A308D3)
_INIT1: Lanes = (0x3BD39E10CB0EF593, 0xC0ACF169B5F18A8C, 0xBE5466CF34E90C6C, 0x452821E638D01377)


def _swap_halves(lane: int) -> int:
    return lane >> 32 | (lane & _MASK32) << 32


def _xor(left: Lanes, right: Lanes) -> Lanes:
    return left[0] ^ right[0], left[1] ^ right[1], left[2] ^ right[2], left[3] ^ right[3]


_SWAPPED_KEY: Lanes = (_swap_halves(_KEY[0]), _swap_halves(_KEY[1]), _swap_halves(_KEY[2]), _swap_halves(_KEY[3]))
_START: State = (_xor(_INIT0, _KEY), _xor(_INIT1, _SWAPPED_KEY), _INIT0, _INIT1)


def _zip_low(even: int, odd: int) -> int:
    """Lane 2k of the byte shuffle 3,12,2,5,14,1,15,0 over the 16 bytes of lanes 2k and 2k+1."""
    return (
        even >> 24 & 0xFF
        | (odd >> 32 & 0xFF) << 8
        | even & 0xFF0000
        | (even >> 40 & 0xFF) << 24
        | (odd >> 48 & 0xFF) << 32
        | (even >> 8 & 0xFF) << 40
        | (odd >> 56) << 48
        | (even & 0xFF) << 56
    )


def _zip_high(even: int, odd: int) -> int:
    """Lane 2k+1 of the byte shuffle 11,4,10,13,9,6,8,7 over the 16 bytes of lanes 2k and 2k+1."""
    return (
        odd >> 24 & 0xFF
        | (even >> 32 & 0xFF) << 8
        | odd & 0xFF0000
        | (odd >> 40 & 0xFF) << 24
        | (odd >> 8 & 0xFF) << 32
        | (even >> 48 & 0xFF) << 40
        | (odd & 0xFF) << 48
        | (even >> 56) << 56
    )


def _update(state: State, packet: Lanes) -> State:
    (a0, a1, a2, a3), (b0, b1, b2, b3), (m0, m1, m2, m3), (n0, n1, n2, n3) = state
    b0 = b0 + m0 + packet[0] & _MASK64
    b1 = b1 + m1 + packet[1] & _MASK64
    b2 = b2 + m2 + packet[2] & _MASK64
    b3 = b3 + m3 + packet[3] & _MASK64
    m0 ^= (b0 & _MASK32) * (a0 >> 32)
    m1 ^= (b1 & _MASK32) * (a1 >> 32)
    m2 ^= (b2 & _MASK32) * (a2 >> 32)
    m3 ^= (b3 & _MASK32) * (a3 >> 32)
    a0 = a0 + n0 & _MASK64
    a1 = a1 + n1 & _MASK64
    a2 = a2 + n2 & _MASK64
    a3 = a3 + n3 & _MASK64
    n0 ^= (a0 & _MASK32) * (b0 >> 32)
    n1 ^= (a1 & _MASK32) * (b1 >> 32)
    n2 ^= (a2 & _MASK32) * (b2 >> 32)
    n3 ^= (a3 & _MASK32) * (b3 >> 32)
    a0 = a0 + _zip_low(b0, b1) & _MASK64
    a1 = a1 + _zip_high(b0, b1) & _MASK64
    a2 = a2 + _zip_low(b2, b3) & _MASK64
    a3 = a3 + _zip_high(b2, b3) & _MASK64
    b0 = b0 + _zip_low(a0, a1) & _MASK64
    b1 = b1 + _zip_high(a0, a1) & _MASK64
    b2 = b2 + _zip_low(a2, a3) & _MASK64
    b3 = b3 + _zip_high(a2, a3) & _MASK64
    return (a0, a1, a2, a3), (b0, b1, b2, b3), (m0, m1, m2, m3), (n0, n1, n2, n3)


def _rotate_halves(lane: int, bits: int) -> int:
    low, high = lane & _MASK32, lane >> 32
    low = (low << bits | low >> 32 - bits) & _MASK32
    high = (high << bits | high >> 32 - bits) & _MASK32
    return high << 32 | low


def _last_packet(tail: bytes) -> Lanes:
    size = len(tail)
    packet = bytearray(32)
    whole = size & ~3
    packet[:whole] = tail[:whole]
    if size & 16:
        packet[28:] = tail[-4:]
    elif size & 3:
        rest = tail[whole:]
        packet[16:19] = bytes((rest[0], rest[len(rest) >> 1], rest[-1]))
    return _PACKET.unpack(packet)


def _add_tail(state: State, tail: bytes) -> State:
    v0, v1, mul0, mul1 = state
    size = len(tail)
    a0, a1, a2, a3 = ((lane + (size << 32) + size) & _MASK64 for lane in v0)
    b0, b1, b2, b3 = (_rotate_halves(lane, size) for lane in v1)
    return _update(((a0, a1, a2, a3), (b0, b1, b2, b3), mul0, mul1), _last_packet(tail))


def highway_hash64(data: Buffer) -> int:
    """Return the 64-bit HighwayHash of `data` under the key of Riegeli/records."""
    view = memoryview(data).cast("B")
    whole = len(view) & ~31
    state = _START
    for packet in _PACKET.iter_unpack(view[:whole]):
        state = _update(state, packet)
    if whole != len(view):
        state = _add_tail(state, bytes(view[whole:]))
    for _ in range(4):
        v0 = state[0]
        state = _update(state, (_swap_halves(v0[2]), _swap_halves(v0[3]), _swap_halves(v0[0]), _swap_halves(v0[1])))
    return sum(vector[0] for vector in state) & _MASK64
