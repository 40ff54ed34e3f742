"""The records about topology groups that the solver is told: the tree in force, and the rules of each group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.custom_records import CustomRecords
from poseidon.group_trees.spec.keys import GROUP_RECORD, TREE_NAME, TREE_RECORD

if TYPE_CHECKING:
    from poseidon.group_trees.spec.groups import GroupSpec
    from poseidon.group_trees.spec.tree import TreeSpec
    from protos.firmament.v1 import scheduler_pb2 as pb


class TopologyRecords:
    """Records by what they are about; nothing is told unless ``wanted``, that is some model reads them."""

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted
        self._records = CustomRecords()
        self._tree: TreeSpec | None = None
        self._groups: dict[str, GroupSpec] = {}

    def tree(self, spec: TreeSpec | None) -> None:
        """This tree is in force now; None: that of the machines' labels, or none."""
        if self._wanted and spec is not self._tree:
            self._tree = spec
            self._records.tell(TREE_RECORD, TREE_NAME, spec.payload() if spec is not None else None)

    def group(self, job: str, namespace: str, spec: GroupSpec | None) -> None:
        """The group with this job has these rules now; None: it is no topology group, or has no pods."""
        if not self._wanted or spec is self._groups.get(job):
            return
        if spec is None:
            del self._groups[job]
        else:
            self._groups[job] = spec
        self._records.tell(GROUP_RECORD, job, spec.payload(namespace) if spec is not None else None)

    def jobs(self) -> list[str]:
        """Return the jobs of the groups with records."""
        return [*self._groups]

    def forget_told(self) -> None:
        """Begin a stream: its solver knows no record."""
        self._records.forget_told()

    def take(self) -> list[pb.Event]:
        """Return what the solver has to be told, once."""
        return self._records.take()
