"""Reports changes of topology groups: to the solver as records, to people as ConfigMap data, labels and events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from poseidon.custom_records import CustomRecords
from poseidon.group_trees.spec.described_maps import DescribedMap
from poseidon.group_trees.spec.groups import GroupSpec
from poseidon.group_trees.spec.keys import GROUP_RECORD, TREE_NAME, TREE_RECORD
from poseidon.group_trees.spec.tree import TreeSpec
from poseidon.group_trees.status.group_status import Outlook, gist
from poseidon.group_trees.status.members import Member
from poseidon.group_trees.status.written import Values, WrittenTexts
from poseidon.kube.api.event_reasons import EventReason
from poseidon.kube.api.metadata import ObjectRef
from poseidon.lifecycle.actions import Action, AnnounceGroup

COUNTS_SECONDS = 60.0
"""Seconds for which the figures in a written message may be out of date."""


class TopologyNotes:
    """The reports that add writes of topology groups' states into their ConfigMaps, and events, to ``actions``.

    ``wall`` returns seconds since the epoch.
    """

    def __init__(self, actions: list[Action], wall: Callable[[], float]) -> None:
        self._actions = actions
        self._wall = wall
        self._texts = WrittenTexts()
        self._written: dict[str, float] = {}
        self._complained: dict[str, str] = {}

    def read_notes(self, described: DescribedMap[Any]) -> Mapping[str, str]:
        """Return the keys and values that this program has written into a ConfigMap, as last seen."""
        return self._texts.read_data(described)

    def write_changes(self, described: DescribedMap[Any], outlook: Outlook) -> bool:
        """Write changes of a group's state into its ConfigMap; return whether a change of the message is postponed.

        A message of which only figures have changed is written about once a minute.
        """
        known, data, now = self._texts.read_data(described), outlook.data, self._wall()
        message, former = data.get("message") or "", known.get("message", "")
        changed = message != former or data.get("status", "") != known.get("status", "")
        calm = changed and data.get("status", "") == known.get("status", "") and gist(message) == gist(former)
        left = calm and now < self._written.setdefault(described.uid, now) + COUNTS_SECONDS
        if left:
            data["message"] = former or None
        elif changed:
            self._written[described.uid] = now
        self._write(described, data)
        return left

    def label(self, member: Member, labels: Values) -> None:
        """Write the labels of a pod whose values have changed."""
        write = self._texts.find_label_change(member, labels)
        if write is not None:
            self._actions.append(write)

    def note(self, described: DescribedMap[Any], text: str, reason: EventReason, *, warns: bool) -> None:
        """Write a message into a ConfigMap that describes no usable group or tree; ``warns``: also write an event."""
        self.warn_once(described, text if warns else "", reason)
        self._write(described, {"message": text or None})

    def warn_once(self, described: DescribedMap[Any], text: str, reason: EventReason) -> None:
        """Write one event about a fault ("" for none) for as long as the fault lasts, even if this program restarts."""
        said = self._complained.get(described.uid)
        if said is None:
            said = self._texts.read_data(described).get("message", "")
        self._complained[described.uid] = text
        if text and text != said:
            metadata = described.found.metadata
            namespace = metadata.namespace or "default"
            about = ObjectRef("v1", "ConfigMap", described.uid, namespace, metadata.name)
            self._actions.append(AnnounceGroup(about, reason, text))

    def forget(self, uid: str) -> None:
        """Remove an object that does not exist any more."""
        self._texts.forget(uid)
        self._written.pop(uid, None)
        self._complained.pop(uid, None)

    def _write(self, described: DescribedMap[Any], data: Values) -> None:
        write = self._texts.find_map_change(described, data)
        if write is not None:
            self._actions.append(write)


class TopologyRecords:
    """The ``records`` of the tree and of topology groups for the solver, if a cost model reads them (``wanted``)."""

    def __init__(self, records: CustomRecords, *, wanted: bool) -> None:
        self.wanted = wanted
        self._records = records
        self._tree: TreeSpec | None = None
        self._groups: dict[str, GroupSpec] = {}

    def set_tree(self, spec: TreeSpec | None) -> None:
        """Record the topology tree of the nodes. None: no ConfigMap describes one, so labels of nodes may."""
        if self.wanted and spec is not self._tree:
            self._tree = spec
            self._records.set_record(TREE_RECORD, TREE_NAME, spec.payload() if spec is not None else None)

    def set_group(self, job: str, namespace: str, spec: GroupSpec | None) -> None:
        """Record the rules of a job's topology group. None: the job has no topology group, or its group has no pods."""
        if not self.wanted or spec is self._groups.get(job):
            return
        if spec is None:
            del self._groups[job]
        else:
            self._groups[job] = spec
        self._records.set_record(GROUP_RECORD, job, spec.payload(namespace) if spec is not None else None)

    def list_jobs(self) -> list[str]:
        """Return the jobs of the groups for which the reports have records."""
        return [*self._groups]
