"""Encodes round results directly as the bytes that protobuf would write, and answers to questions as messages.

A round may place 100,000 tasks. Creating and serialising an object for each delta takes several times as long as
writing plain deltas by hand. Plain deltas are placements that depend on nothing, and nearly all deltas are plain.
Protobuf writes the other deltas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from itertools import groupby, repeat
from typing import Final

from firmament.core.commit.placements import PlacementDeltas
from firmament.core.reasons import lacks_only_room
from firmament.core.results import (
    Delta,
    DeltaKind,
    Explanation,
    MachineState,
    MachineVerdict,
    RoundResult,
    RoundStats,
    TaskState,
    Unscheduled,
)
from firmament.core.round_flow.assembly import FlowClass, RoundFlow, RoundSummary
from protos.firmament.v1 import scheduler_pb2 as pb

_STATS: Final = tuple(field.name for field in fields(RoundStats))


@dataclass(frozen=True, slots=True)
class EncodedRound:
    """A serialised result of a round.

    ``body``: the serialised ``RoundResult``. ``deltas``: number of the round's deltas. ``put_off``: number of tasks
    that wait for a later round.
    """

    body: bytes
    deltas: int
    put_off: int = 0

    def set_trace(self, parent: str) -> EncodedRound:
        """Return this round with ``parent`` as its trace (W3C ``traceparent``)."""
        return EncodedRound(
            self.body + pb.RoundResult(trace=parent).SerializeToString(), self.deltas, self.put_off
        )

    def acknowledge(self, sequence: int) -> EncodedRound:
        """Return this round with the number of the last applied batch; unchanged for 0."""
        if not sequence:
            return self
        acknowledgement = pb.RoundResult(acknowledged=sequence).SerializeToString()
        return EncodedRound(self.body + acknowledgement, self.deltas, self.put_off)

    def message(self) -> bytes:
        """Return the serialised ``ServerMessage`` with this round."""
        return b"".join((_tag(_ROUND), _varint(len(self.body)), self.body))


def encode_round(result: RoundResult) -> EncodedRound:
    """Encode a round's result."""
    rest = pb.RoundResult(
        unscheduled=[_encode_unscheduled(group) for group in result.unscheduled],
        stats=_encode_stats(result.stats),
    )
    for gang in result.gangs:
        fields = asdict(gang)
        rest.gangs.add(state=pb.GangState.State.Value(fields.pop("phase").value), **fields)
    for queue in result.queues:
        uses = [pb.QuotaUse(**use._asdict()) for use in queue.uses]
        rest.queues.add(
            name=queue.name,
            uses=uses,
            waiting=queue.waiting,
            admitted=queue.admitted,
            message=queue.message,
        )
    if result.decided is not None:
        rest.decided.CopyFrom(pb.DecidedOn(**result.decided._asdict()))
    # Protobuf writes fields in order of their numbers: first the round, then deltas, then all others.
    parts = [pb.RoundResult(round=result.round).SerializeToString()]
    parts += _encode_deltas(result.deltas)
    parts.append(rest.SerializeToString())
    return EncodedRound(b"".join(parts), len(result.deltas), result.put_off)


def _encode_stats(stats: RoundStats) -> pb.RoundStats:
    # ``asdict`` would copy the values, which takes as long as a round of one task.
    return pb.RoundStats(**{name: getattr(stats, name) for name in _STATS})


def round_to_proto(result: RoundResult) -> pb.RoundResult:
    """Return a round's result as a message."""
    return pb.RoundResult.FromString(encode_round(result).body)


def _encode_unscheduled(group: Unscheduled) -> pb.UnscheduledTasks:
    return pb.UnscheduledTasks(
        tasks=group.uids,
        message=group.message,
        reasons=_reasons(group.reasons),
    )


def _reasons(reasons: Iterable[tuple[str, int]]) -> list[pb.ReasonCount]:
    return [pb.ReasonCount(reason=reason, machines=machines) for reason, machines in reasons]


# --- deltas ---------------------------------------------------------------------------------------------------------


def _encode_deltas(deltas: Sequence[Delta]) -> Iterator[bytes]:
    """Yield parts of the field ``deltas``; if all deltas are plain, as usual, no function is called for each delta."""
    if not deltas:
        return
    if isinstance(deltas, PlacementDeltas) and not deltas.depends_on and not deltas.allocations:
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
    """Return whether a delta is a placement that sets no other field."""
    return delta == Delta(DeltaKind.PLACE, delta.uid, delta.machine)


def _encode_any(deltas: Iterable[Delta]) -> bytes:
    """Return the bytes of these deltas in the field ``deltas``, written by protobuf."""
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
            allocations=[pb.ClaimAllocation(**each._asdict()) for each in delta.allocations],
        )
    return message.SerializeToString()


def _encode_plain(uids: Sequence[str], machines: Sequence[str]) -> bytes:
    """Encode placements without dependencies or devices as the field ``deltas``; ``uids`` must not be empty."""
    packs = (slice(first, first + _PACK) for first in range(0, len(uids), _PACK))
    return b"".join(_encode_pack(uids[pack], machines[pack]) for pack in packs)


def _encode_pack(uids: Sequence[str], machines: Sequence[str]) -> bytes:
    """Return the bytes of at most ``_PACK`` plain placements, written as Latin-1 text, one byte per character.

    Protobuf writes those packs in which uids or machine names are not ASCII, empty or very long.
    """
    by_hand = all(uids) and all(machines) and "".join(uids).isascii() and "".join(machines).isascii()
    if by_hand:
        with suppress(IndexError):  # The tables have no entry for this length.
            return "".join(
                [
                    f"{_BEFORE[len(uid)][len(machine)]}{uid}{_MACHINE[len(machine)]}{machine}"
                    for uid, machine in zip(uids, machines, strict=True)
                ]
            ).encode("latin-1")
    return _encode_any(map(Delta, repeat(DeltaKind.PLACE), uids, machines))


def _varint(value: int) -> bytes:
    """Return a number (0 or more) as protobuf writes it: seven bits per byte, the lowest first."""
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def _tag(field: int) -> bytes:
    """Return the tag of a text or message in field number ``field``."""
    return _varint(field << 3 | 2)


def _heads(field: int, lengths: Iterable[int], then: bytes = b"") -> tuple[str, ...]:
    """Return, for each length of a text or message in a field, its tag and length, followed by ``then``."""
    return tuple((_tag(field) + _varint(length) + then).decode("latin-1") for length in lengths)


_ROUND: Final = pb.ServerMessage.ROUND_FIELD_NUMBER
_PACK: Final = 2_000
"""How many deltas are encoded together: enough to save time, and few enough that their bytes take little memory."""
_LONGEST: Final = 127
"""The most characters of a uid or a machine's name for which the length takes one byte."""
_KIND: Final = _varint(pb.Delta.KIND_FIELD_NUMBER << 3) + _varint(pb.Delta.PLACE)
_TASK: Final = _heads(pb.Delta.TASK_FIELD_NUMBER, range(_LONGEST + 1))
_MACHINE: Final = _heads(pb.Delta.MACHINE_FIELD_NUMBER, range(_LONGEST + 1))
_HEAD: Final = _heads(
    pb.RoundResult.DELTAS_FIELD_NUMBER,
    # The 4 bytes are the tag and length of the uid, and the tag and length of the machine's name.
    range(len(_KIND) + 4, len(_KIND) + 4 + 2 * _LONGEST + 1),
    _KIND,
)
_BEFORE: Final = tuple(
    tuple(head + task for head in _HEAD[length : length + _LONGEST + 1]) for length, task in enumerate(_TASK)
)
"""The bytes of a delta before its task's uid, by the lengths of the uid and of the machine's name."""


# --- Encodes the core's answers to questions: explanations and state.


def explanation_to_proto(explanation: Explanation) -> pb.Explanation:
    """Encode the verdicts on one task."""
    return pb.Explanation(
        task=explanation.uid,
        name=explanation.name,
        state=explanation.state,
        machine=explanation.machine,
        machines=[_verdict_to_proto(verdict) for verdict in explanation.machines],
    )


def _verdict_to_proto(verdict: MachineVerdict) -> pb.MachineVerdict:
    return pb.MachineVerdict(
        machine=verdict.machine,
        feasible=verdict.feasible,
        reasons=verdict.reasons,
        cost=verdict.cost,
        models=[pb.ModelVerdict(**asdict(each)) for each in verdict.models],
        lacks_only_room=bool(verdict.causes) and lacks_only_room(verdict.causes),
    )


def task_state_to_proto(state: TaskState) -> pb.TaskState:
    """Encode a task's state."""
    return pb.TaskState(**{name: getattr(state, name) for name in TaskState.__slots__})


def machine_state_to_proto(state: MachineState) -> pb.MachineState:
    """Encode a machine's state."""
    return pb.MachineState(
        name=state.name,
        allocatable=_quantities(state.allocatable),
        free=_quantities(state.free),
        tasks=state.tasks,
    )


def _quantities(amounts: Mapping[str, int]) -> list[pb.Quantity]:
    return [pb.Quantity(resource=resource, amount=amount) for resource, amount in sorted(amounts.items())]


# --- Encodes reports on finished rounds: their figures and their flows.


def rounds_to_proto(rounds: Iterable[RoundSummary]) -> pb.ListRoundsResponse:
    """Encode figures of rounds."""
    return pb.ListRoundsResponse(rounds=[pb.RoundSummary(**asdict(each)) for each in rounds])


def flow_to_proto(found: tuple[RoundSummary, RoundFlow] | None) -> pb.RoundFlow:
    """Encode a round and its flow; an empty message for None."""
    if found is None:
        return pb.RoundFlow()
    summary, flow = found
    return pb.RoundFlow(
        round=summary.round,
        ended=summary.ended,
        stats=_encode_stats(summary.stats),
        machines=flow.machines,
        machine_price=flow.machine_price.tolist(),
        machine_room=flow.machine_room.tolist(),
        machine_saturated=flow.machine_saturated.tolist(),
        classes=[_flow_class(each) for each in flow.classes],
        models=flow.models,
        arc_class=flow.cls.tolist(),
        arc_machine=flow.machine.tolist(),
        arc_tasks=flow.count.tolist(),
        arc_cost=flow.cost.tolist(),
        model_cost=flow.model_cost.ravel().tolist(),
        arc_uids=flow.uids,
    )


def _flow_class(found: FlowClass) -> pb.FlowClass:
    requests = [pb.Quantity(resource=name, amount=amount) for name, amount in found.requests]
    reasons = {"refusals": _reasons(found.refusals), "kept_back": _reasons(found.kept_back)}
    return pb.FlowClass(**{**asdict(found), "requests": requests, **reasons})
