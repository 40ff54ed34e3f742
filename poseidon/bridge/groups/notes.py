"""What is said on the ConfigMaps and pods of topology groups: only what is new, and not too often."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from poseidon.group_trees.status.group_status import gist
from poseidon.group_trees.status.written import Told, Values
from poseidon.kube.api.references import ObjectRef
from poseidon.lifecycle.actions import Action, AnnounceGroup, WriteGroupMap, WriteMemberLabels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poseidon.group_trees.spec.described_maps import DescribedMap
    from poseidon.group_trees.status.group_status import Outlook
    from poseidon.group_trees.status.members import Member

COUNTS_SECONDS = 60.0
"""How long figures in a message may be out of date."""


class TopologyNotes:
    """Turns what is wanted into writes and events. ``wall`` tells seconds since the epoch."""

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._told = Told()
        self._written: dict[str, float] = {}
        self._complained: dict[str, str] = {}
        self._actions: list[Action] = []

    def take_actions(self) -> list[Action]:
        """Return what has to be done, once."""
        actions, self._actions = self._actions, []
        return actions

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
            self._actions.append(WriteMemberLabels(write))

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
            self._actions.append(WriteGroupMap(write))
