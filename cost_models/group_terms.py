"""The interface of cost models for tree groups: rules by which the tasks of a job are distributed over a tree.

A model that knows such rules promises ``groups``, and has a method ``topology_terms`` in addition to ``assess``. The
model charges nothing for these rules: how many tasks go to which machine is decided before the network assigns tasks
to the places. A group is a job of which all tasks must be placed together; its rules are named after the job's id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, TypeGuard

from cost_models.interface import CostModel, MachineColumns

GROUP_RECORD, TREE_RECORD = "TopologyGroup", "TopologyTree"
NOT_IN_TREE = "node(s) are not in the cluster topology"

Affinity: TypeAlias = Literal["pack", "spread"]
Choice: TypeAlias = Literal["best-fit", "roomiest", "cheapest"]


@dataclass(frozen=True, slots=True)
class LevelRule:
    """Says how the tasks of a group in one unit of the tree (such as a rack) are divided over the units right below.

    ``kind``: "pack" wants few units, each as full as can be; "spread" wants even counts. ``hard``: pack puts the
    whole share on one unit, spread puts exactly one task on every unit that it uses; the other fields then have no
    effect. Unless ``hard``, each of the other fields is strict, whatever the kind: ``partitions``: exactly so many
    units are used (0: any number); a used unit holds ``least`` to ``most`` tasks (0: no such bound) and a multiple of
    ``factor``.
    """

    kind: Affinity = "pack"
    hard: bool = False
    partitions: int = 0
    least: int = 0
    most: int = 0
    factor: int = 1


@dataclass(frozen=True, slots=True)
class GroupRules:
    """A group's rules by level of the tree; a level without an entry has a soft pack. ``name``: the group's, for
    people.
    """

    name: str
    levels: Mapping[str, LevelRule] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopologyTerms:
    """The tree of a round and the rules of all groups; read-only.

    ``levels``: names from the top, without the root; the last one is the level of the machines. ``paths``: for each
    machine row, the names of its units, one per level, with its own name last; None for machines that are not in the
    tree. ``groups``: rules by the id of the job; ``choice``: which of equally good units a group takes;
    ``resources``: the resources by which the rooms of units are compared, empty for all; ``notes``: bad input.
    """

    levels: tuple[str, ...]
    paths: Sequence[tuple[str, ...] | None]
    groups: Mapping[str, GroupRules]
    choice: Choice = "best-fit"
    resources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class TopologyModel(CostModel, Protocol):
    """A cost model that states rules for groups; its ``assess`` charges nothing for these rules."""

    def topology_terms(self, machines: MachineColumns) -> TopologyTerms:
        """Return the tree of these machines, and the rules of all groups with records."""
        ...


def plans_groups(model: CostModel) -> TypeGuard[TopologyModel]:
    """Return whether a model states rules for groups over a tree."""
    return model.promises.groups
