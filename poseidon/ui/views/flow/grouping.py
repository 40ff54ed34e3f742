"""Classes by what constrains them, machines by a label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protos.firmament.v1 import scheduler_pb2 as pb

ANY_MACHINE = "any machine"
_LEAST_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Grouped:
    """``constraints`` and ``groups`` are labels, in order; the others say which is whose, by class and by machine."""

    constraints: tuple[str, ...]
    constraint_of: tuple[int, ...]
    groups: tuple[str, ...]
    group_of: tuple[int, ...]


def grouped(flow: pb.RoundFlow, label_of: Callable[[str], str]) -> Grouped:
    """Return how a flow is drawn. ``label_of``: the group of a machine by its name, "" for none."""
    reasons = [constraint_of(cls, len(flow.machines)) for cls in flow.classes]
    constraints = sorted(set(reasons), key=lambda each: (each != ANY_MACHINE, each))
    labels = [label_of(name) for name in flow.machines]
    groups = sorted(set(labels))
    place_of_constraint = {name: number for number, name in enumerate(constraints)}
    place_of_group = {name: number for number, name in enumerate(groups)}
    return Grouped(
        tuple(constraints),
        tuple(place_of_constraint[each] for each in reasons),
        tuple(groups),
        tuple(place_of_group[each] for each in labels),
    )


def constraint_of(cls: pb.FlowClass, machines: int) -> str:
    """Return the reason that keeps a class off most machines, where it keeps it off a tenth of them at least."""
    worst = max(cls.refusals, key=lambda each: (each.machines, each.reason), default=None)
    if worst is None or worst.machines < max(_LEAST_SHARE * machines, 1):
        return ANY_MACHINE
    return str(worst.reason)
