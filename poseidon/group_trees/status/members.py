"""Describes the pods of a group, and chooses the pods that are its members."""

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
    """A pod of a group. ``node``: name of the pod's node, "" for none; ``leaving``: whether the pod is being deleted.

    ``labels`` are those that this scheduler has written on the pod.
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
        """The rank in the pod's label, None for none."""
        return read_number(self.labels.get(RANK_LABEL, ""))

    @property
    def failed(self) -> bool:
        """Whether the pod failed, so that another pod may replace it."""
        return self.phase == "Failed"

    @property
    def done(self) -> bool:
        """Whether the pod has ended."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def placed(self) -> bool:
        """Whether the pod has a node and is not leaving it, or has succeeded."""
        return not self.failed and bool(self.node) and not self.leaving


_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)


def read_number(text: str) -> int | None:
    """Return the whole number in a label that this scheduler writes, None for any other text."""
    return int(text) if _NUMBER.fullmatch(text) else None


def member_of(uid: str, pod: Pod) -> Member:
    """Return the ``Member`` for a pod."""
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
    """Return the uids of the pods that are members of a group, at most ``size``.

    Pods that have a node come first, then former members (``former``), then older pods. A pod with a node stays a
    member until it is deleted, so its replacement waits until then. Failed pods, and pods that are deleted before
    they had a node, are no members.
    """
    able = [
        (uid, each) for uid, each in members.items() if not each.failed and (each.node or not each.leaving)
    ]
    if len(able) > size:
        able.sort(
            key=lambda one: (
                not one[1].node,
                one[0] not in former,
                one[1].created,
                natural(one[1].name),
            )
        )
    return frozenset(uid for uid, _ in able[:size])
