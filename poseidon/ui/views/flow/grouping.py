"""Groups waiting classes by the reason why they wait, and machines by a label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protos.firmament.v1 import scheduler_pb2 as pb

NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Grouped:
    """``constraints`` and ``groups`` are labels, in order; the others say which is whose, by class and by machine.

    Classes of which no task waits have no constraint, None.
    """

    constraints: tuple[str, ...]
    constraint_of: tuple[int | None, ...]
    groups: tuple[str, ...]
    group_of: tuple[int, ...]


def group_flow(flow: pb.RoundFlow, label_of: Callable[[str], str]) -> Grouped:
    """Return how a flow is drawn. ``label_of``: the group of a machine by its name, "" for none."""
    reasons = [constraint_of(cls) for cls in flow.classes]
    constraints = sorted({each for each in reasons if each})
    labels = [label_of(name) for name in flow.machines]
    groups = sorted(set(labels))
    place_of_constraint = {name: number for number, name in enumerate(constraints)}
    place_of_group = {name: number for number, name in enumerate(groups)}
    return Grouped(
        tuple(constraints),
        tuple(place_of_constraint[each] if each else None for each in reasons),
        tuple(groups),
        tuple(place_of_group[each] for each in labels),
    )


def constraint_of(cls: pb.FlowClass) -> str:
    """Return what keeps those of a class that wait from a place, "" where none waits."""
    if cls.tasks <= cls.placed:
        return ""
    return next((each.reason for each in list_rejections(cls)), NOT_KNOWN)


def list_rejections(cls: pb.FlowClass) -> list[pb.ReasonCount]:
    """Return machines by the reason that kept waiting tasks off them, the most important first.

    Solvers of older releases tell only of the beginning of the round; of that, what most machines said comes first.
    """
    if cls.tasks <= cls.placed:
        return []
    return list(cls.kept_back) or sorted(cls.refusals, key=lambda each: (-each.machines, each.reason))
