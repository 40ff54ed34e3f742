"""Encodes round results straight to the bytes that protobuf would make of them.

A round may place 100,000 tasks. An object per delta, and its serialisation, take several times as long as laying the
bytes of the plain ones (placements that depend on nothing, which nearly all are) next to each other in a table; the
rest is left to protobuf.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, repeat
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool, Int64
from firmament.core.results import Delta, DeltaKind, Placements, RoundResult, Unscheduled
from protos.firmament.v1 import scheduler_pb2 as pb

Cells = tuple[NDArray[np.uint8], Bool]
"""A piece of bytes in each row, and which cells belong to it: uint8[N, W] and bool[N, W]."""


@dataclass(frozen=True, slots=True)
class EncodedRound:
    """A round's result as it travels: ``body`` is a serialised ``RoundResult`` with so many ``deltas``."""

    body: bytes
    deltas: int

    def message(self) -> bytes:
        """The serialised ``ServerMessage`` that carries it."""
        return b"".join((_tag(_ROUND), _varint(len(self.body)), self.body))


def encode_round(result: RoundResult) -> EncodedRound:
    """Encode a round's result."""
    rest = pb.RoundResult(
        unscheduled=[_unscheduled(group) for group in result.unscheduled],
        stats=pb.RoundStats(**asdict(result.stats)),
    )
    for gang in result.gangs:
        rest.gangs.add(
            job=gang.job,
            state=pb.GangState.State.Value(gang.phase.value),
            message=gang.message,
            members=gang.members,
            running=gang.running,
            needed=gang.needed,
        )
    # Fields stand in order of their numbers, as protobuf writes them: round, deltas, and all others after these.
    parts = [pb.RoundResult(round=result.round).SerializeToString()]
    parts += _encode_deltas(result.deltas)
    parts.append(rest.SerializeToString())
    return EncodedRound(b"".join(parts), len(result.deltas))


def round_to_proto(result: RoundResult) -> pb.RoundResult:
    """Return a round's result as a message."""
    return pb.RoundResult.FromString(encode_round(result).body)


def _unscheduled(group: Unscheduled) -> pb.UnscheduledTasks:
    return pb.UnscheduledTasks(
        tasks=group.uids,
        message=group.message,
        reasons=[pb.ReasonCount(reason=reason, machines=machines) for reason, machines in group.reasons],
    )


# --- deltas ---------------------------------------------------------------------------------------------------------


def _encode_deltas(deltas: Sequence[Delta]) -> Iterator[bytes]:
    """Field ``deltas`` of a result, in parts. Nothing but plain ones, the usual case, takes no call for each."""
    if not deltas:
        return
    if isinstance(deltas, Placements) and not deltas.leans:
        yield _encode_plain(deltas.uids, deltas.machines)
        return
    kinds, uids, machines, *others = zip(*deltas, strict=True)
    if kinds.count(DeltaKind.PLACE) == len(kinds) and not any(map(any, others)):
        yield _encode_plain(uids, machines)
        return
    for plain, run in groupby(deltas, _is_plain):
        each = list(run)
        yield (
            _encode_plain([delta.uid for delta in each], [delta.machine for delta in each])
            if plain
            else _encode_any(each)
        )


def _is_plain(delta: Delta) -> bool:
    """Whether a delta is a placement and nothing else."""
    return delta == Delta(DeltaKind.PLACE, delta.uid, delta.machine)


def _encode_any(deltas: Iterable[Delta]) -> bytes:
    """Field ``deltas`` of a result, by protobuf."""
    message = pb.RoundResult()
    for delta in deltas:
        message.deltas.add(
            kind=pb.Delta.Kind.Value(delta.kind.value),
            task=delta.uid,
            machine=delta.machine,
            from_machine=delta.from_machine,
            depends_on=delta.depends_on,
            beyond_budget=delta.beyond_budget,
            withdrawn=delta.withdrawn,
        )
    return message.SerializeToString()


def _encode_plain(uids: Sequence[str], machines: Sequence[str]) -> bytes:
    """Field ``deltas`` of a result, of plain placements; at least one.

    Deltas are written as rows of a table of bytes, a pack of them at once. That holds for ASCII, which uids and names
    of machines are; any others, and very long ones, are left to protobuf.
    """
    packs = (slice(first, first + _PACK) for first in range(0, len(uids), _PACK))
    return b"".join(_encode_pack(uids[pack], machines[pack]) for pack in packs)


def _encode_pack(uids: Sequence[str], machines: Sequence[str]) -> bytes:
    """The same of few enough to have a table."""
    of_uid, of_machine = (
        np.fromiter(map(len, names), dtype=np.int64, count=len(names)) for names in (uids, machines)
    )
    all_uids, all_machines = _joined(uids, of_uid), _joined(machines, of_machine)
    if not (all_uids and all_machines):
        return _encode_any(map(Delta, repeat(DeltaKind.PLACE), uids, machines))
    cells, used = zip(
        _HEAD.of(_SIZE[of_uid] + _SIZE[of_machine]),
        _TASK.of(of_uid),
        _laid_out(all_uids, of_uid),
        _MACHINE.of(of_machine),
        _laid_out(all_machines, of_machine),
        strict=True,
    )
    table: NDArray[np.uint8] = np.hstack(cells)
    return np.compress(np.hstack(used).ravel(), table.ravel()).tobytes()


def _joined(names: Sequence[str], lengths: Int64) -> str:
    """All names in one text; an empty one if they cannot be written by hand."""
    if lengths.min() == 0 or lengths.max() > _LONGEST:
        return ""
    text = "".join(names)
    return text if text.isascii() else ""


def _laid_out(text: str, lengths: Int64) -> Cells:
    """Pieces of ASCII that stand one after another in a text, one in each row."""
    used = np.arange(lengths.max()) < lengths[:, np.newaxis]
    cells = np.zeros(used.shape, dtype=np.uint8)
    cells[used] = np.frombuffer(text.encode(), dtype=np.uint8)
    return cells, used


def _varint(value: int) -> bytes:
    """A number of at least 0 as protobuf writes it: seven bits per byte, the lowest first."""
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def _tag(field: int) -> bytes:
    """What stands before a text or message in field ``field``."""
    return _varint(field << 3 | 2)


class _Prefixes:
    """Short pieces of bytes by number."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        lengths = np.array([len(piece) for piece in pieces])
        self._used = np.arange(lengths.max()) < lengths[:, np.newaxis]
        self._cells = np.zeros(self._used.shape, dtype=np.uint8)
        self._cells[self._used] = np.frombuffer(b"".join(pieces), dtype=np.uint8)

    def of(self, numbers: Int64) -> Cells:
        """The pieces of these numbers, one in each row."""
        return self._cells[numbers], self._used[numbers]


_ROUND: Final = pb.ServerMessage.ROUND_FIELD_NUMBER
_PACK: Final = 2_000
"""Deltas written at once: enough to be worth it, and so few that their table needs little fresh memory."""
_LONGEST: Final = 255
_KIND: Final = _varint(pb.Delta.KIND_FIELD_NUMBER << 3) + _varint(pb.Delta.PLACE)
_LENGTHS: Final = [_varint(length) for length in range(_LONGEST + 1)]
_TASK: Final = _Prefixes([_tag(pb.Delta.TASK_FIELD_NUMBER) + length for length in _LENGTHS])
_MACHINE: Final = _Prefixes([_tag(pb.Delta.MACHINE_FIELD_NUMBER) + length for length in _LENGTHS])
_SIZE: Final = np.array([1 + len(length) + number for number, length in enumerate(_LENGTHS)])
"""Bytes that a uid or a machine's name of some length takes; a tag is one byte."""
_HEAD: Final = _Prefixes(
    [
        _tag(pb.RoundResult.DELTAS_FIELD_NUMBER) + _varint(len(_KIND) + size) + _KIND
        for size in range(2 * int(_SIZE[_LONGEST]) + 1)
    ]
)
"""What stands before the task of a delta, by the bytes that task and machine take together."""
