"""Topology groups: the tasks of a job are distributed over a tree of machines by a rule for each level.

Source: KEP-4986 (Sakkara) of kubernetes-sigs/scheduler-plugins. The model reads trees and rules from records
(`records`) and labels (`trees`), and hands them to the scheduler, which decides how many tasks of a group go to which
machine before it assigns tasks to those places. The model charges nothing: among equally good ways to share a group
out, the charges of all other models decide.

Arguments:

* ``topologyConfigMapNameSpace`` ("default"): the namespace in which the driver looks for the tree's ConfigMap;
* ``nodeLabels``: labels of machines that give the tree, from the top, if no record states a tree. Without
  ``nodeLabels``, the label ``sakkara.topology.rack`` gives the tree if every machine has it; else all machines are
  right below the root;
* ``domainChoice`` says which of the units that serve a group equally well it gets: "best-fit" (the default): those
  with the least room, so that small groups do not break up empty units; "roomiest": those with the most room;
  "cheapest": those that cost least.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cost_models.api.parsed_records import RecordParser
from cost_models.arguments import Arguments
from cost_models.group_terms import (
    GROUP_RECORD,
    TREE_RECORD,
    Choice,
    GroupRules,
    TopologyTerms,
)
from cost_models.interface import Assessment, BaseModel, MachineColumns, Needs, Promises, Range, ShapeBatch
from cost_models.tree_groups.records import TREE_NAME, TreeRecord, parse_group, parse_tree
from cost_models.tree_groups.trees import (
    NODE_LEVEL,
    level_names,
    place_by_default,
    place_by_labels,
    place_by_record,
)

MODEL_NAME = "topology"
CHOICES: tuple[Choice, ...] = ("best-fit", "roomiest", "cheapest")


class Topology(BaseModel):
    """States how groups are distributed over machines; the docstring of the module explains the arguments."""

    name = MODEL_NAME
    kind = "overlay"
    range = Range(best=0.0, worst=100.0)
    needs = Needs(records=(TREE_RECORD, GROUP_RECORD))
    promises = Promises(groups=True)

    def __init__(self, **args: Any) -> None:
        given = Arguments(MODEL_NAME, args)
        given.text("topologyConfigMapNameSpace", "default")  # Only the driver reads this argument.
        self._labels = given.texts("nodeLabels", ()) if "nodeLabels" in args else ()
        self._choice = given.choice("domainChoice", CHOICES)
        given.finish()
        self._trees, self._groups = RecordParser(parse_tree), RecordParser(parse_group)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return 0, as rules for groups are no costs; notes report faults of the records."""
        record, groups, notes = self._read(machines.records)
        if groups:
            notes += _unknown(groups, self._levels(record, machines))
        return Assessment(raw=np.zeros((shapes.count, 1)), notes=notes)

    def topology_terms(self, machines: MachineColumns) -> TopologyTerms:
        """Return the tree of these machines and the rules of all groups.

        A tree that makes no sense counts as none, a group's rules that make none as a soft pack; ``notes`` tell.
        """
        record, groups, notes = self._read(machines.records)
        if record is not None:
            tree = place_by_record(record, machines)
        else:
            tree = place_by_labels(self._labels, machines) if self._labels else place_by_default(machines)
        notes += _unknown(groups, tree.levels)
        resources = () if record is None else record.resources
        return TopologyTerms(tree.levels, tree.paths, groups, self._choice, resources, notes)

    def _read(
        self, records: Mapping[str, Mapping[str, bytes]]
    ) -> tuple[TreeRecord | None, dict[str, GroupRules], tuple[str, ...]]:
        """Return the tree, None if no record of a tree can be read.

        Rules by the id of the job, in that order, with a soft pack for rules that cannot be read; and what cannot be
        read, a line each.
        """
        trees = self._trees.read(records.get(TREE_RECORD, {}))
        groups = self._groups.read(records.get(GROUP_RECORD, {}))
        faults = [(TREE_RECORD, *each, "it is ignored") for each in sorted(trees.faults.items())]
        faults += [(GROUP_RECORD, *each, "its rules are ignored") for each in sorted(groups.faults.items())]
        unreadable = {name: GroupRules(name) for name in groups.faults}
        notes = tuple(f"{kind} {name}: {fault}; {effect}" for kind, name, fault, effect in faults)
        return trees.good.get(TREE_NAME), dict(sorted({**unreadable, **groups.good}.items())), notes

    def _levels(self, tree: TreeRecord | None, machines: MachineColumns) -> tuple[str, ...]:
        if tree is not None:
            return tree.list_level_names()
        return (*level_names(self._labels), NODE_LEVEL) if self._labels else place_by_default(machines).levels


def _unknown(groups: Mapping[str, GroupRules], levels: Sequence[str]) -> tuple[str, ...]:
    """Return remarks on rules for levels that the tree does not have."""
    known = ", ".join(level for level in levels if level)
    return tuple(
        f"{GROUP_RECORD} {group.name or name}: constraints: there is no level {level}; "
        f"it is ignored (levels: {known})"
        for name, group in groups.items()
        for level in group.levels
        if level not in levels
    )
