"""How far a pod has come in the bridge, and what each event makes of that: the table of the pod lifecycle.

A pod is known while the API server shows it and it either is this scheduler's to place or takes room on a node. Every
change of phase is one event, looked up here; `pods` alone carries it out. Orthogonal to the phase, and kept beside it:
what the solver has been told (``PodRecord.told``), and why a held pod is held.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple


class Phase(Enum):
    """Phases of a pod; the value is its name for people."""

    __hash__ = object.__hash__  # as each is one object; that of Enum costs more than all else of a step

    HELD = "held"
    """Not offered to the solver: gated by its group, claims or priority class, or it cannot be dealt with."""
    PENDING = "pending"
    """Offered to the solver, which is to find a node."""
    PLACED = "placed"
    """Given a node by a round; what its binding waits for is about to be found out."""
    WAITING = "waiting for pods"
    """Its binding waits for pods that leave its node, or that it depends on."""
    BINDING_CLAIMS = "binding claims"
    """Its claims are being bound, before it is."""
    BINDING = "binding"
    """Its binding is on the way to the API server."""
    ANSWER_DUE = "bound, answer due"
    """The watch shows it on a node while the answer to its binding is still due."""
    BOUND = "bound"
    """On its node: the API server has accepted the binding, or shows it."""
    EVICTING = "being evicted"
    """On its node, and has been asked to leave it."""
    LEAVING = "leaving"
    """On its node, and being deleted."""


class Event(Enum):
    """What happens to a pod; the value is its name for people."""

    __hash__ = object.__hash__

    OFFERED = "nothing holds it back"
    HELD_BACK = "held back"
    PLACED = "placed by the solver"
    WAITS = "has to wait for pods"
    RELEASED = "pods waited for are settled"
    CLAIMS_BEGUN = "binding of claims begun"
    POSTED = "binding posted"
    GIVEN_UP = "placement given up"
    ACCEPTED = "binding accepted"
    REFUSED = "binding refused"
    SHOWN = "shown on a node"
    DELETED = "deletion shown"
    EVICTED = "asked to leave"
    STAYS = "stays after all"


_P = Phase
UNPLACED = frozenset({_P.HELD, _P.PENDING})
UNDER_WAY = frozenset({_P.PLACED, _P.WAITING, _P.BINDING_CLAIMS, _P.BINDING})
ON_NODE = frozenset({_P.BOUND, _P.EVICTING, _P.LEAVING})
_ALL = frozenset(_P)

IN_FLIGHT = UNDER_WAY | {_P.ANSWER_DUE}
"""A binding of this process is under way, or its answer due."""
GOING = frozenset({_P.EVICTING, _P.LEAVING})
"""On a node that it is about to leave."""


class _Row(NamedTuple):
    """What an event does: phases that it changes, those that it leaves as they are, those in which it is refused."""

    moves: Mapping[Phase, Phase]
    stays: frozenset[Phase] = frozenset()
    refused: Mapping[str, frozenset[Phase]] = MappingProxyType({})


def _all_to(phases: frozenset[Phase], target: Phase) -> dict[Phase, Phase]:
    return dict.fromkeys(sorted(phases, key=lambda phase: phase.name), target)


TABLE: Mapping[Event, _Row] = MappingProxyType(
    {
        Event.OFFERED: _Row({_P.HELD: _P.PENDING}, stays=_ALL - {_P.HELD}),
        Event.HELD_BACK: _Row({_P.PENDING: _P.HELD}, stays=_ALL - {_P.PENDING}),
        Event.PLACED: _Row(
            {_P.PENDING: _P.PLACED},
            refused={"must not be scheduled now": frozenset({_P.HELD}), "has a node": _ALL - UNPLACED},
        ),
        Event.WAITS: _Row({_P.PLACED: _P.WAITING}, refused={"has not just been placed": _ALL - {_P.PLACED}}),
        Event.RELEASED: _Row(
            {_P.WAITING: _P.PLACED}, refused={"does not wait for pods": _ALL - {_P.WAITING}}
        ),
        Event.CLAIMS_BEGUN: _Row(
            {_P.PLACED: _P.BINDING_CLAIMS}, refused={"has not just been placed": _ALL - {_P.PLACED}}
        ),
        Event.POSTED: _Row(
            {_P.PLACED: _P.BINDING, _P.BINDING_CLAIMS: _P.BINDING},
            refused={"is not about to be bound": _ALL - {_P.PLACED, _P.BINDING_CLAIMS}},
        ),
        Event.GIVEN_UP: _Row(
            _all_to(UNDER_WAY, _P.PENDING),
            refused={"has no placement": UNPLACED, "is on its node": _ALL - UNDER_WAY - UNPLACED},
        ),
        # An answer may be to a binding that was given up, and posted again to the same node.
        Event.ACCEPTED: _Row(
            _all_to(UNDER_WAY | {_P.ANSWER_DUE}, _P.BOUND),
            stays=ON_NODE,
            refused={"is not being bound": UNPLACED},
        ),
        Event.REFUSED: _Row(
            {_P.BINDING: _P.PENDING, _P.ANSWER_DUE: _P.BOUND},
            stays=ON_NODE | UNDER_WAY - {_P.BINDING},
            refused={"is not being bound": UNPLACED},
        ),
        # Before the answer: it may be this process's binding, or somebody else's.
        Event.SHOWN: _Row(
            {
                **_all_to(UNPLACED | UNDER_WAY - {_P.BINDING}, _P.BOUND),
                _P.BINDING: _P.ANSWER_DUE,
            },
            stays=ON_NODE | {_P.ANSWER_DUE},
        ),
        Event.DELETED: _Row(
            _all_to(ON_NODE - {_P.LEAVING} | {_P.ANSWER_DUE}, _P.LEAVING),
            stays=frozenset({_P.LEAVING}),
            refused={"is on no node": UNPLACED | UNDER_WAY},
        ),
        Event.EVICTED: _Row(
            {_P.BOUND: _P.EVICTING, _P.ANSWER_DUE: _P.EVICTING},
            stays=frozenset({_P.EVICTING, _P.LEAVING}),
            refused={"is on no node": UNPLACED, "is being bound": UNDER_WAY},
        ),
        Event.STAYS: _Row({_P.EVICTING: _P.BOUND}, stays=_ALL - {_P.EVICTING}),
    }
)
"""For every event what it does in each phase."""


class RefusedEventError(Exception):
    """An event came to a pod in a phase in which it cannot happen."""


_NEXT: Mapping[tuple[Phase, Event], Phase] = MappingProxyType(
    {
        (phase, event): row.moves.get(phase, phase)
        for event, row in TABLE.items()
        for phase in (*row.moves, *row.stays)
    }
)


def next_phase(phase: Phase, event: Event) -> Phase:
    """Return what an event makes of a phase. Raises ``RefusedEventError`` with the reason stated in the table."""
    found = _NEXT.get((phase, event))
    if found is None:
        why = next(words for words, phases in TABLE[event].refused.items() if phase in phases)
        raise RefusedEventError(f"{event.value}: the pod is {phase.value}: it {why}")
    return found
