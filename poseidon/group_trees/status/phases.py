"""How far a group has come, in the words that are written for people."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from protos.firmament.v1 import scheduler_pb2 as pb


class State(StrEnum):
    """States of groups and their members."""

    WAITING = "Waiting"  # members are missing, or what describes the group
    READY = "Ready"  # all members are there, and are tried
    ASSIGNED = "Assigned"  # all have a place
    PERMITTED = "Permitted"  # some are bound to theirs, the others will be
    BOUND = "Bound"
    PREEMPTING = "Preempting"  # all have a place that others have to leave first
    PREEMPTED = "Preempted"  # members make room for more important pods
    FAILED = "Failed"  # given up: not whole in time; it is tried again


PASSING = frozenset({State.WAITING, State.READY, State.ASSIGNED, State.PERMITTED})
"""States that are usually followed by another one at once. They are written about a second late, if they last."""

_SOLVER_DECIDES: dict[int, State] = {
    pb.GangState.FAILED: State.FAILED,
    pb.GangState.PREEMPTED: State.PREEMPTED,
}


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known of a group. ``members``: pods that have a part in it, ``placed``: those of them with a node.

    ``phase`` and ``message`` are what the solver said last of it, ``problem`` is why it is not offered to the solver.
    """

    size: int
    members: int
    placed: int
    phase: int = pb.GangState.STATE_UNSPECIFIED
    message: str = ""
    problem: str = ""


def state_of(now: Situation) -> tuple[State, str]:
    """Return a group's state, and what it waits for ("": nothing)."""
    if now.phase in _SOLVER_DECIDES:
        return _SOLVER_DECIDES[now.phase], now.message
    if now.placed >= now.size:
        return State.BOUND, now.problem
    if now.problem or now.members < now.size:
        return State.WAITING, now.problem or f"{now.members} of {now.size} pods exist"
    if now.phase == pb.GangState.PREEMPTING:
        return State.PREEMPTING, now.message
    if now.phase == pb.GangState.PLACED:
        return State.PERMITTED if now.placed else State.ASSIGNED, ""
    return State.READY, now.message
