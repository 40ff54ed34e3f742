"""The pods of a group: which of them count, and which are beyond its size."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from poseidon.group_trees.spec.keys import RANK_LABEL, RETRIES_LABEL, STATUS_LABEL
from poseidon.group_trees.status.placement import natural
from poseidon.kube.api.metadata import PodRef
from poseidon.kube.api.pods import Pod

_LABELS = (RANK_LABEL, STATUS_LABEL, RETRIES_LABEL)


@dataclass(frozen=True, slots=True)
class Member:
    """A pod of a group. ``node`` "": it has none yet. ``leaving``: it is being deleted.

    ``labels`` are those of its labels that this scheduler writes.
    """

    ref: PodRef
    created: str
    node: str
    phase: str
    leaving: bool
    labels: Mapping[str, str]

    @property
    def name(self) -> str:
        """The pod's name within its namespace."""
        return self.ref.name

    @property
    def rank(self) -> int | None:
        """The rank that the pod has been given, None for none."""
        return read_number(self.labels.get(RANK_LABEL, ""))

    @property
    def failed(self) -> bool:
        """Whether it ended without success, so that another pod may take its part."""
        return self.phase == "Failed"

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def placed(self) -> bool:
        """Whether it has a node and is to stay there, or has succeeded."""
        return not self.failed and bool(self.node) and not self.leaving


_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)


def read_number(text: str) -> int | None:
    """Return a whole number as this scheduler writes one into a label, None for any other text."""
    return int(text) if _NUMBER.fullmatch(text) else None


def member_of(uid: str, pod: Pod) -> Member:
    """Return what matters of a pod."""
    metadata = pod.metadata
    return Member(
        ref=PodRef(uid, metadata.namespace or "default", metadata.name),
        created=metadata.creation_timestamp or "",
        node=pod.spec.node_name,
        phase=pod.status.phase,
        leaving=metadata.deletion_timestamp is not None,
        labels={key: metadata.labels[key] for key in _LABELS if key in metadata.labels},
    )


def choose_members(members: Mapping[str, Member], size: int, former: Collection[str]) -> frozenset[str]:
    """Return the uids of the members that make up a group of ``size``; the others are beyond it.

    Pods that have a node come first, then those that were among them before (``former``), then the older ones. One
    that is being deleted keeps its part until it is gone if it has a node, so that its replacement waits for that.
    Failed pods, and those that are deleted before they had a node, have no part.
    """
    able = [
        (uid, each) for uid, each in members.items() if not each.failed and (each.node or not each.leaving)
    ]
    if len(able) > size:
        able.sort(
            key=lambda one: (not one[1].node, one[0] not in former, one[1].created, natural(one[1].name))
        )
    return frozenset(uid for uid, _ in able[:size])
