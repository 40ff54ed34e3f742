"""Computes fingerprints of the pods on a node, as exporters of NodeResourceTopology do.

Source: k8stopologyawareschedwg/podfingerprint, version 1: ``pfp0`` ``v001`` and, in hexadecimal, xxHash64 over the
sorted hashes of the pods, each as 8 bytes, little endian. A pod's hash is xxHash64 of its name, seeded with the
xxHash64 of its namespace. The order of pods does not matter.

xxHash64 is Yann Collet's, from its specification (github.com/Cyan4973/xxHash, doc/xxhash_spec.md). Names are short, so
plain Python is fast enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

PREFIX = "pfp0v001"

_MASK = 2**64 - 1
_PRIME_1 = 0x9E3779B185EBCA87
_PRIME_2 = 0xC2B2AE3D27D4EB4F
_PRIME_3 = 0x165667B19E3779F9
_PRIME_4 = 0x85EBCA77C2B2AE63
_PRIME_5 = 0x27D4EB2F165667C5


def of_hashes(hashes: Iterable[int]) -> str:
    """Return the fingerprint of pods, given the hashes of the pods."""
    return f"{PREFIX}{xxhash64(b''.join(each.to_bytes(8, 'little') for each in sorted(hashes))):016x}"


@lru_cache(maxsize=65_536)
def pod_hash(namespace: str, name: str) -> int:
    """Return the hash of one pod."""
    return xxhash64(name.encode(), xxhash64(namespace.encode()))


def xxhash64(data: bytes, seed: int = 0) -> int:
    """Return the 64-bit xxHash of ``data``."""
    length, at = len(data), 0
    if length >= 32:
        lanes = [
            (seed + _PRIME_1 + _PRIME_2) & _MASK,
            (seed + _PRIME_2) & _MASK,
            seed,
            (seed - _PRIME_1) & _MASK,
        ]
        while at + 32 <= length:
            for lane in range(4):
                lanes[lane] = _round(lanes[lane], _word(data, at + 8 * lane, 8))
            at += 32
        total = sum(_rotate(lane, turn) for lane, turn in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            total = ((total ^ _round(0, lane)) * _PRIME_1 + _PRIME_4) & _MASK
    else:
        total = (seed + _PRIME_5) & _MASK
    return _mix(_mix_rest((total + length) & _MASK, data, at))


def _mix_rest(total: int, data: bytes, at: int) -> int:
    """Return the state of the hash after the last bytes, which are fewer than 32."""
    while at + 8 <= len(data):
        total ^= _round(0, _word(data, at, 8))
        total = (_rotate(total, 27) * _PRIME_1 + _PRIME_4) & _MASK
        at += 8
    if at + 4 <= len(data):
        total ^= (_word(data, at, 4) * _PRIME_1) & _MASK
        total = (_rotate(total, 23) * _PRIME_2 + _PRIME_3) & _MASK
        at += 4
    for byte in data[at:]:
        total ^= (byte * _PRIME_5) & _MASK
        total = (_rotate(total, 11) * _PRIME_1) & _MASK
    return total


def _mix(total: int) -> int:
    total = ((total ^ (total >> 33)) * _PRIME_2) & _MASK
    total = ((total ^ (total >> 29)) * _PRIME_3) & _MASK
    return total ^ (total >> 32)


def _round(lane: int, word: int) -> int:
    return (_rotate((lane + word * _PRIME_2) & _MASK, 31) * _PRIME_1) & _MASK


def _rotate(value: int, turn: int) -> int:
    return ((value << turn) | (value >> (64 - turn))) & _MASK


def _word(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")
