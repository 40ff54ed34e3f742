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
    """Groups of a flow's classes by the reason why they wait (``constraints``), and of its machines by a label.

    A class without waiting tasks has no group, so its index is None.
    """

    constraints: tuple[str, ...]
    constraint_of: tuple[int | None, ...]
    groups: tuple[str, ...]
    group_of: tuple[int, ...]


def group_flow(flow: pb.RoundFlow, label_of: Callable[[str], str]) -> Grouped:
    """Return the groups of a flow's classes and machines. ``label_of`` returns the group of a machine, "" for none."""
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
    """Return the main reason why tasks of a class wait, or "" if none waits."""
    if cls.tasks <= cls.placed:
        return ""
    return next((each.reason for each in list_rejections(cls)), NOT_KNOWN)


def list_rejections(cls: pb.FlowClass) -> list[pb.ReasonCount]:
    """Return why machines refused waiting tasks, with the numbers of machines, the most important reason first.

    Older solvers report only the refusals at the beginning of the round; of them, the most frequent comes first.
    """
    if cls.tasks <= cls.placed:
        return []
    return list(cls.kept_back) or sorted(cls.refusals, key=lambda each: (-each.machines, each.reason))
