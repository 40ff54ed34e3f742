"""Finds the positions of machines in a tree: by a record, by labels, or all machines right below the root.

A machine's unit is known by its path from the root, so that two rows may each have a rack with the same name.
Machines that are higher in a record's tree than other machines form units of their own on the levels between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cost_models.interface import MachineColumns
from cost_models.tree_groups.records import TreeRecord

RACK_LABEL = "sakkara.topology.rack"
NODE_LEVEL = "node"


@dataclass(frozen=True, slots=True)
class TreePositions:
    """Positions in a tree. ``levels``: names from the top; ``paths``: per machine row its units, None if outside."""

    levels: tuple[str, ...]
    paths: tuple[tuple[str, ...] | None, ...]


def place_by_record(record: TreeRecord, machines: MachineColumns) -> TreePositions:
    """Place machines in the tree that a record states. Levels are named from the bottom; those above the
    names have none.
    """
    levels = record.list_level_names()
    paths: list[tuple[str, ...] | None] = []
    for name in machines.names:
        path = record.paths.get(name)
        if path is not None and len(path) < len(levels):
            path += (name,) * (len(levels) - len(path))
        paths.append(path)
    return TreePositions(levels, tuple(paths))


def place_by_labels(keys: Sequence[str], machines: MachineColumns) -> TreePositions:
    """Place machines by the values of some labels, from the top.

    Machines that lack one of the labels are outside the tree.
    """
    paths: list[tuple[str, ...] | None] = []
    for name, labels in zip(machines.names, machines.labels, strict=True):
        units = [labels.get(key, "") for key in keys]
        paths.append((*units, name) if all(units) else None)
    return TreePositions((*level_names(keys), NODE_LEVEL), tuple(paths))


def level_names(keys: Sequence[str]) -> tuple[str, ...]:
    """Return names of levels given by labels: the part after the last slash, or the whole key where that is
    not unique.
    """
    short = [key.rsplit("/", 1)[-1] for key in keys]
    taken = [*short, NODE_LEVEL]
    return tuple(name if taken.count(name) == 1 else key for name, key in zip(short, keys, strict=True))


def place_by_default(machines: MachineColumns) -> TreePositions:
    """Place machines by the label of Sakkara's racks if every machine has it.

    Otherwise put all machines right below the root.
    """
    if machines.count and all(labels.get(RACK_LABEL) for labels in machines.labels):
        racks = place_by_labels((RACK_LABEL,), machines)
        return TreePositions(("rack", NODE_LEVEL), racks.paths)
    return TreePositions((NODE_LEVEL,), tuple((name,) for name in machines.names))
