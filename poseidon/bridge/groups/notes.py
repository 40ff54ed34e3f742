"""What is said of topology groups: to the solver as records, and on their ConfigMaps and pods only what is new."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from poseidon.custom_records import CustomRecords
from poseidon.group_trees.spec.keys import GROUP_RECORD, TREE_NAME, TREE_RECORD
from poseidon.group_trees.status.group_status import gist
from poseidon.group_trees.status.written import Told, Values
from poseidon.kube.api.references import ObjectRef
from poseidon.lifecycle.actions import Action, AnnounceGroup

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poseidon.group_trees.spec.described_maps import DescribedMap
    from poseidon.group_trees.spec.groups import GroupSpec
    from poseidon.group_trees.spec.tree import TreeSpec
    from poseidon.group_trees.status.group_status import Outlook
    from poseidon.group_trees.status.members import Member

COUNTS_SECONDS = 60.0
"""How long figures in a message may be out of date."""


class TopologyNotes:
    """Turns what is wanted into writes and events, among ``actions``. ``wall`` tells seconds since the epoch."""

    def __init__(self, actions: list[Action], wall: Callable[[], float]) -> None:
        self._actions = actions
        self._wall = wall
        self._told = Told()
        self._written: dict[str, float] = {}
        self._complained: dict[str, str] = {}

    def said_on(self, described: DescribedMap[Any]) -> Mapping[str, str]:
        """Return what a ConfigMap says, as far as is known here."""
        return self._told.of_map(described)

    def describe(self, described: DescribedMap[Any], outlook: Outlook) -> bool:
        """Write what is new of a group. Returns whether something is left to be written later.

        Of a message of which only figures are new that is done about once a minute.
        """
        known, data, now = self._told.of_map(described), outlook.data, self._wall()
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
        """Write what is new on a pod."""
        write = self._told.news_of_pod(member, labels)
        if write is not None:
            self._actions.append(write)

    def note(self, described: DescribedMap[Any], text: str, reason: str, *, warns: bool) -> None:
        """Say something on a ConfigMap that is about no group; ``warns``: people should know."""
        self.complain(described, text if warns else "", reason)
        self._write(described, {"message": text or None})

    def complain(self, described: DescribedMap[Any], text: str, reason: str) -> None:
        """Tell people of a fault ("": there is none), each once as long as it lasts, also across restarts."""
        said = self._complained.get(described.uid)
        if said is None:
            said = self._told.of_map(described).get("message", "")
        self._complained[described.uid] = text
        if text and text != said:
            metadata = described.found.metadata
            namespace = metadata.namespace or "default"
            about = ObjectRef("v1", "ConfigMap", described.uid, namespace, metadata.name)
            self._actions.append(AnnounceGroup(about, reason, text))

    def forget(self, uid: str) -> None:
        """An object exists no longer."""
        self._told.forget(uid)
        self._written.pop(uid, None)
        self._complained.pop(uid, None)

    def _write(self, described: DescribedMap[Any], data: Values) -> None:
        write = self._told.news_of_map(described, data)
        if write is not None:
            self._actions.append(write)


class TopologyRecords:
    """Tells ``records`` of the tree and of groups; nothing unless ``wanted``, that is some model reads it."""

    def __init__(self, records: CustomRecords, *, wanted: bool) -> None:
        self.wanted = wanted
        self._records = records
        self._tree: TreeSpec | None = None
        self._groups: dict[str, GroupSpec] = {}

    def tree(self, spec: TreeSpec | None) -> None:
        """This tree is in force now; None: that of the machines' labels, or none."""
        if self.wanted and spec is not self._tree:
            self._tree = spec
            self._records.tell(TREE_RECORD, TREE_NAME, spec.payload() if spec is not None else None)

    def group(self, job: str, namespace: str, spec: GroupSpec | None) -> None:
        """The group with this job has these rules now; None: it is no topology group, or has no pods."""
        if not self.wanted or spec is self._groups.get(job):
            return
        if spec is None:
            del self._groups[job]
        else:
            self._groups[job] = spec
        self._records.tell(GROUP_RECORD, job, spec.payload(namespace) if spec is not None else None)

    def jobs(self) -> list[str]:
        """Return the jobs of the groups with records."""
        return [*self._groups]
