"""Keeps the actions of a standby bridge for a while, in case the leader fails before it has carried them out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from poseidon.kube.write.device_claim_writer import DeviceClaimWrite
from poseidon.kube.write.patch_writer import (
    ConfigMapWrite,
    GroupConditionWrite,
    GroupStatusWrite,
    QueueStatusWrite,
    merge_writes,
)
from poseidon.kube.write.suspension_writer import SuspensionWrite
from poseidon.kube.write.volume_claim_writer import GiveVolume, SelectNode
from poseidon.lifecycle.actions import (
    Action,
    AnnounceGroup,
    AnnouncePreempted,
    AnnounceRefused,
    AnnounceScheduled,
    AnnounceUnschedulable,
    WithdrawEviction,
)

KEPT_SECONDS = 600.0
"""Seconds for which an action is kept: enough for a leader to act, and for its successor to take over."""

_Key: TypeAlias = tuple[type, str]


class HeldActions:
    """A standby's latest action of each kind for each object, kept until the standby leads. ``clock`` is monotonic.

    Writes to claims of devices, and writes that resume objects, are not kept, because a standby places no pods. Events
    are not kept either: a standby cannot see whether the leader has written one, and a second one would be worse than
    none.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._held: dict[_Key, tuple[float, Action]] = {}  # oldest first

    def __len__(self) -> int:
        return len(self._held)

    def add(self, actions: Iterable[Action]) -> None:
        """Keep actions, and drop those that are older than ``KEPT_SECONDS``."""
        now = self._clock()
        for action in actions:
            key = _key(action)
            if key is not None:
                _, former = self._held.pop(key, (now, action))
                self._held[key] = now, merge_writes(action, former)
        for key in [*self._iter_before(now - KEPT_SECONDS)]:
            del self._held[key]

    def take_actions(self, is_pending: Callable[[str], bool]) -> list[Action]:
        """Return each action that is still needed, once, oldest first.

        ``is_pending`` returns whether the pod with a uid waits.
        """
        held, self._held = self._held, {}
        return [
            action
            for _, action in held.values()
            if not isinstance(action, AnnounceUnschedulable) or is_pending(action.pod.uid)
        ]

    def _iter_before(self, time: float) -> Iterator[_Key]:
        for key, (since, _) in self._held.items():
            if since > time:
                return
            yield key


def _key(action: Action) -> _Key | None:
    match action:
        case (
            AnnounceScheduled()
            | AnnouncePreempted()
            | AnnounceGroup()
            | AnnounceRefused()
            | DeviceClaimWrite()
            | SuspensionWrite()
        ):
            return None
        case SelectNode() | GiveVolume():
            return SelectNode, f"{action.namespace}/{action.claim}"
        case (
            WithdrawEviction()
            | GroupStatusWrite()
            | GroupConditionWrite()
            | ConfigMapWrite()
            | QueueStatusWrite()
        ):
            return type(action), action.uid
        case _:
            return type(action), action.pod.uid
