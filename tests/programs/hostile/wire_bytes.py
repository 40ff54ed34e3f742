"""Breaks serialised messages as no encoder would: by bits, lengths, numbers of fields and types on the wire."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
HUGE = (
    b"\xff" * 9 + b"\x01",
    b"\xff" * 9 + b"\x7f",
    b"\xff" * 10,
    b"\x80" * 9 + b"\x00",
    b"\xff\xff\xff\xff\x0f",
)


class Field(NamedTuple):
    """One field as it travels: its number, its type on the wire, and what follows, lengths left out."""

    number: int
    kind: int
    body: bytes


def broken(random: Random, raw: bytes) -> bytes:
    """Break a message somewhere, in up to four places."""
    for _ in range(random.choice((1, 1, 2, 4))):
        raw = random.choice((_by_bits, _by_fields, _by_fields, _by_fields))(random, raw)
    return raw


def _by_bits(random: Random, raw: bytes) -> bytes:
    at = random.randrange(len(raw) + 1)
    return random.choice(
        (
            lambda: raw[:at],
            lambda: raw[:at] + bytes([random.randrange(256)]) + raw[at + 1 :],
            lambda: (
                raw[:at] + bytes(each ^ 1 << random.randrange(8) for each in raw[at : at + 1]) + raw[at + 1 :]
            ),
            lambda: raw[:at] + random.randbytes(random.choice((1, 3, 20))) + raw[at:],
            lambda: raw[:at] + raw[at + random.choice((1, 3, 20)) :],
            lambda: raw + raw[at:],
            lambda: raw[:at] + random.choice(HUGE) + raw[at:],
        )
    )()


def _by_fields(random: Random, raw: bytes, depth: int = 0) -> bytes:
    """Change one field, of the message itself or of one within it."""
    fields = parsed(raw)
    if not fields:
        return raw
    at = random.randrange(len(fields))
    field = fields[at]
    if field.kind == LENGTH and depth < 12 and random.random() < 0.85 and parsed(field.body):
        inner = _by_fields(random, field.body, depth + 1)
        return b"".join(map(written, (*fields[:at], field._replace(body=inner), *fields[at + 1 :])))
    others = fields[:at] + fields[at + 1 :]
    change = random.randrange(8)
    if change == 0:
        fields = others
    elif change == 1:
        fields = [*fields, field]
    elif change == 2:
        random.shuffle(fields)
    elif change == 3:
        fields = [*others, field._replace(number=random.choice((1, 2, 3, 15, 16, 2**29 - 1)))]
    elif change == 4:
        fields = [*others, Field(field.number, VARINT, random.choice(HUGE))]
    elif change == 5:
        fields = [*others, Field(field.number, random.choice((FIXED64, FIXED32)), random.randbytes(8))]
    elif change == 6:
        body = random.choice((b"", field.body * 2, random.randbytes(5), b"\xed\xa0\x80", field.body * 50))
        fields = [*others, Field(field.number, LENGTH, body)]
    else:
        fields = [*others, Field(field.number, random.choice((3, 4, 6, 7)), field.body)]
    return b"".join(map(written, fields))


def parsed(raw: bytes) -> list[Field]:
    """The fields of a message; empty if it is none."""
    fields = []
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            end = _varint(raw, at)[1]
        elif kind == LENGTH:
            length, at = _varint(raw, at)
            end = at + length
        elif kind in (FIXED64, FIXED32):
            end = at + (8 if kind == FIXED64 else 4)
        else:
            return []
        if not number or end > len(raw):
            return []
        fields.append(Field(number, kind, raw[at:end]))
        at = end
    return fields


def written(field: Field) -> bytes:
    """A field as it travels."""
    tag = varint(field.number << 3 | field.kind)
    return tag + (varint(len(field.body)) if field.kind == LENGTH else b"") + field.body


def varint(value: int) -> bytes:
    """A number as it travels."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*found, value))


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    """A number, and where it ends; beyond the end if it does not."""
    value = shift = 0
    while at < len(raw):
        value |= (raw[at] & 0x7F) << shift
        at += 1
        if not raw[at - 1] & 0x80:
            return value, at
        shift += 7
    return 0, len(raw) + 1
