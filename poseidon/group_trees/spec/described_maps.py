"""Keeps ConfigMaps that describe groups or the tree: which ConfigMap is used for each, and its last faultless data."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from poseidon.group_trees.spec.json_text import Reading
from poseidon.group_trees.spec.keys import LAST_GOOD
from poseidon.kube.api.other_projects.app_network import ConfigMap
from poseidon.kube.parsing.defects import list_defects
from poseidon.kube.parsing.strict_json import JsonError, compact, loads

_LARGEST_ANNOTATION = 100_000
_MOST_SHOWN = 5

S = TypeVar("S")
K = TypeVar("K", bound=Hashable)


@dataclass(slots=True)
class DescribedMap(Generic[S]):
    """A ConfigMap that describes a group or the tree.

    ``given``: the ConfigMap's present data; ``reading``: what was read from these data. ``good``: the ConfigMap's
    last data without faults; ``spec``: what was read from the good data. Both are None if there were no such data.
    """

    found: ConfigMap
    given: Mapping[str, str]
    reading: Reading[S]
    spec: S | None = None
    good: Mapping[str, str] | None = None

    @property
    def uid(self) -> str:
        """The ConfigMap's uid, which differs from the uids of other ConfigMaps with the same name."""
        return self.found.metadata.uid

    @property
    def problem(self) -> str:
        """The faults of the present data, as text for people, "" for none."""
        defects = self.reading.defects
        if not defects:
            return ""
        text = list_defects(defects, _MOST_SHOWN)
        return text if self.spec is None else f"{text}; what it said before stays in force"

    def annotation(self) -> str | None:
        """Return the text of the annotation that keeps the last faultless data; None for no annotation."""
        if not self.reading.defects or self.good is None:
            return None
        text = compact(self.good).decode()
        return text if len(text) <= _LARGEST_ANNOTATION else None


class DescribedMaps(Generic[K, S]):
    """ConfigMaps by the group or tree (their *subject*) that they describe.

    If several ConfigMaps describe one subject, the oldest is used.

    ``subject`` returns the subject of a ConfigMap, None if it describes neither group nor tree. ``read`` reads the
    ConfigMap's data; only ``keys`` are read, and changes of other keys are ignored. ``named`` returns the name of a
    subject for people.
    """

    def __init__(
        self,
        keys: tuple[str, ...],
        read: Callable[[Mapping[str, str]], Reading[S]],
        subject: Callable[[ConfigMap], K | None],
        named: Callable[[K], str],
    ) -> None:
        self._keys = keys
        self._read = read
        self._subject = subject
        self._named = named
        self._maps: dict[str, tuple[K, DescribedMap[S]]] = {}
        self._by_subject: dict[K, dict[str, DescribedMap[S]]] = {}

    def __iter__(self) -> Iterator[K]:
        return iter(self._by_subject)

    def get(self, subject: K) -> DescribedMap[S] | None:
        """Return the ConfigMap that is used for a group or tree (``subject``), None if no ConfigMap is."""
        maps = self._by_subject.get(subject)
        return min(maps.values(), key=_age) if maps else None

    def list_ignored(self, subject: K) -> list[tuple[DescribedMap[S], str]]:
        """Return the unused ConfigMaps for a group or tree, each with a message for people."""
        maps = sorted(self._by_subject.get(subject, {}).values(), key=_age)
        text = "ConfigMap {} describes {} already, and this one is ignored; delete one of them"
        return [(each, text.format(maps[0].found.metadata.name, self._named(subject))) for each in maps[1:]]

    def put(self, found: ConfigMap) -> set[K]:
        """Add or update a ConfigMap; return the groups or trees whose ConfigMap may have changed."""
        uid, subject = found.metadata.uid, self._subject(found)
        if subject is None:
            return self.remove(uid)
        former_subject, former = self._maps.get(uid, (subject, None))
        touched: set[K] = set()
        if former is not None and former_subject != subject:
            touched |= self.remove(uid)
            former = None
        given = {key: found.data[key] for key in self._keys if key in found.data}
        if former is not None and former.given == given:
            former.found = found
            return touched
        described = DescribedMap(found, given, self._read(given))
        if former is not None:
            described.spec, described.good = former.spec, former.good
        else:
            self._recall(described)
        if not described.reading.defects:
            described.spec, described.good = described.reading.spec, given
        self._maps[uid] = subject, described
        self._by_subject.setdefault(subject, {})[uid] = described
        return touched | {subject}

    def remove(self, uid: str) -> set[K]:
        """Remove a ConfigMap; return the set of the group or tree that it described, which may be empty."""
        subject, described = self._maps.pop(uid, (None, None))
        if described is None or subject is None:
            return set()
        del self._by_subject[subject][uid]
        if not self._by_subject[subject]:
            del self._by_subject[subject]
        return {subject}

    def _recall(self, described: DescribedMap[S]) -> None:
        """Restore the last faultless data from the annotation that an earlier process has written."""
        text = described.found.metadata.annotations.get(LAST_GOOD, "")
        try:
            left = loads(text) if text else None
        except JsonError:
            return
        if isinstance(left, dict) and all(isinstance(each, str) for each in left.values()):
            reading = self._read(left)
            if not reading.defects:
                described.spec, described.good = reading.spec, left


def _age(described: DescribedMap[S]) -> tuple[str, str, str]:
    metadata = described.found.metadata
    return metadata.creation_timestamp or "", metadata.name, metadata.uid
