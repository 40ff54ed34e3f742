"""Reads the records of ``topology``, each payload once as long as it stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from cost_models.topology_records import (
    TREE_NAME,
    BadTopologyRecordError,
    TreeRecord,
    parse_group,
    parse_tree,
)
from cost_models.topology_terms import GROUP_RECORD, TREE_RECORD, GroupRules

T = TypeVar("T")


class _Parsed(Generic[T]):
    """What payloads say, by the record's name. ``faults``: of those that cannot be read."""

    def __init__(self, parse: Callable[[bytes], T]) -> None:
        self._parse = parse
        self._payloads: dict[str, bytes] = {}
        self.good: dict[str, T] = {}
        self.faults: dict[str, str] = {}

    def read(self, payloads: Mapping[str, bytes]) -> None:
        """Bring everything in line with ``payloads``; what has not changed is not parsed again."""
        for name in self._payloads.keys() - payloads.keys():
            self._forget(name)
        for name, payload in payloads.items():
            if self._payloads.get(name) != payload:
                self._forget(name)
                self._payloads[name] = payload
                try:
                    self.good[name] = self._parse(payload)
                except BadTopologyRecordError as error:
                    self.faults[name] = str(error)

    def _forget(self, name: str) -> None:
        for known in (self._payloads, self.good, self.faults):
            known.pop(name, None)


class TopologyReader:
    """Remembers what it has parsed. Equal records give equal answers."""

    def __init__(self) -> None:
        self._trees = _Parsed(parse_tree)
        self._groups = _Parsed(parse_group)

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
