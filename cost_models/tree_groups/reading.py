"""Reads the records of ``topology``, each payload once as long as it stays as it is."""

from __future__ import annotations

from collections.abc import Mapping

from cost_models.api.parsed_records import ParsedRecords
from cost_models.group_terms import GROUP_RECORD, TREE_RECORD, GroupRules
from cost_models.tree_groups.records import TREE_NAME, TreeRecord, parse_group, parse_tree


class TreeReader:
    """Remembers what it has parsed. Equal records give equal answers."""

    def __init__(self) -> None:
        self._trees = ParsedRecords(parse_tree)
        self._groups = ParsedRecords(parse_group)

    def read(self, records: Mapping[str, Mapping[str, bytes]]) -> None:
        """Take note of the records as they are now."""
        self._trees.read(records.get(TREE_RECORD, {}))
        self._groups.read(records.get(GROUP_RECORD, {}))

    @property
    def tree(self) -> TreeRecord | None:
        """The tree, None if there is no record of one that can be read."""
        return self._trees.good.get(TREE_NAME)

    def groups(self) -> dict[str, GroupRules]:
        """Rules by the id of the job, in that order; those that cannot be read are a soft pack."""
        unreadable = {name: GroupRules(name) for name in self._groups.faults}
        return dict(sorted({**unreadable, **self._groups.good}.items()))

    def faults(self) -> list[str]:
        """What cannot be read, a line each."""
        faults = [(TREE_RECORD, *each, "it is ignored") for each in sorted(self._trees.faults.items())]
        faults += [
            (GROUP_RECORD, *each, "its rules are ignored") for each in sorted(self._groups.faults.items())
        ]
        return [f"{kind} {name}: {fault}; {effect}" for kind, name, fault, effect in faults]
