"""The pods for which others leave nodes, as records for the solver: a new one has to know whose that room is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poseidon.custom_records import CustomRecords
    from poseidon.lifecycle.records import PodRecord

NOMINATION_RECORD = "NominatedTask"
"""Records of this kind have a pod's uid for a name, and the name of its node for a payload."""


class Nominations:
    """Tells ``records`` of the pods that were nominated for a node, until they are bound, or have no place after all.

    One that gets its place elsewhere in the end is still one for which others had to leave.
    """

    def __init__(self, records: CustomRecords) -> None:
        self._records = records
        self._told: set[str] = set()

    def put(self, record: PodRecord) -> None:
        """A pod is nominated for a node now."""
        self._told.add(record.task.uid)
        self._records.tell(NOMINATION_RECORD, record.task.uid, record.nominated.encode())

    def end(self, uid: str) -> None:
        """A pod is bound, or gone, or has no place: no room is kept for it."""
        if uid in self._told:
            self._told.discard(uid)
            self._records.tell(NOMINATION_RECORD, uid, None)
