"""Finds groups whose pods name several schedulers, so that no scheduler can place the whole group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

from poseidon.kube.parsing.defects import shorten

K = TypeVar("K", bound=Hashable)

_REMEDY = "give all of them one spec.schedulerName"
_MOST_NAMED = 3


class Named(NamedTuple):
    """A pod without node (``namespace/name``), with the name of its scheduler."""

    pod: str
    scheduler: str


class WaitingMembers:
    """The waiting pods of a group that this process places, counted by the scheduler names that they state."""

    def __init__(self) -> None:
        self._pods: dict[str, Named] = {}
        self.counts: Counter[str] = Counter()
        """Number of pods by scheduler, kept because counting for each pod would take long in a large group."""

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[Named]:
        return iter(self._pods.values())

    def put(self, uid: str, named: Named) -> None:
        """Add or update a pod."""
        self.remove(uid)
        self._pods[uid] = named
        self.counts[named.scheduler] += 1

    def remove(self, uid: str) -> None:
        """Remove a pod; unknown pods are ignored."""
        named = self._pods.pop(uid, None)
        if named is not None:
            self.counts[named.scheduler] -= 1
            if not self.counts[named.scheduler]:
                del self.counts[named.scheduler]


class ForeignMembers(Generic[K]):
    """The waiting pods of other schedulers by the key of their group."""

    def __init__(self) -> None:
        self._of_group: dict[K, dict[str, Named]] = {}
        self.group_of: dict[str, K] = {}
        """The key of each pod's group, by its uid."""

    def put(self, uid: str, key: K, named: Named) -> bool:
        """Add or update a pod; return whether it is new or has changed."""
        if self._of_group.get(key, {}).get(uid) == named:
            return False
        self.remove(uid)
        self._of_group.setdefault(key, {})[uid] = named
        self.group_of[uid] = key
        return True

    def remove(self, uid: str) -> K | None:
        """Remove a pod; return the key of its group, None if the pod is unknown."""
        key = self.group_of.pop(uid, None)
        if key is None:
            return None
        del self._of_group[key][uid]
        if not self._of_group[key]:
            del self._of_group[key]
        return key

    def iter_members(self, key: K) -> Iterable[Named]:
        """Return the waiting pods of a group."""
        return self._of_group.get(key, {}).values()


def foreign_words(needed: int, own: int, foreign: Iterable[Named]) -> str:
    """Return why this scheduler has too few of a group's ``needed`` pods, or ""."""
    if needed <= 1 or own >= needed:
        return ""
    others = sorted(foreign)
    if not others:
        return ""
    return (
        f"waits for members: {own} of {needed} are for this scheduler, and {_format_pods(others)} "
        f"{'is' if len(others) == 1 else 'are'} for another; {_REMEDY}"
    )


def split_words(needed: int, placed: int, waiting: WaitingMembers) -> str:
    """Return why no scheduler alone can place a group of which ``placed`` pods have nodes, or ""."""
    counts = waiting.counts
    if needed <= 1 or len(counts) < 2 or placed + max(counts.values()) >= needed:
        return ""
    first: dict[str, Named] = {}
    for each in waiting:
        first[each.scheduler] = min(each, first.get(each.scheduler, each))
    shown = [first[name] for name in sorted(first)]
    return (
        f"its pods are for several schedulers ({_format_pods(shown)}), none of which can place "
        f"{needed} of them together; {_REMEDY}"
    )


def _format_pods(pods: list[Named]) -> str:
    shown = ", ".join(f"{each.pod} ({shorten(each.scheduler)})" for each in pods[:_MOST_NAMED])
    return shown if len(pods) <= _MOST_NAMED else f"{shown} and {len(pods) - _MOST_NAMED} more"
