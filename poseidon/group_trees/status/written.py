"""What objects say already, so that only news are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from poseidon.group_trees.spec.described_maps import DescribedMap
from poseidon.group_trees.spec.keys import LAST_GOOD
from poseidon.group_trees.status.members import Member
from poseidon.kube.write.patch_writer import LabelWrite, MapWrite

Values = Mapping[str, str | None]
"""Texts by key; None: the key is not there."""


class Told:
    """Texts by object. An object that was not met before says what it came with.

    Values that others write into these keys later stay until there is something new to write.
    """

    def __init__(self) -> None:
        self._texts: dict[str, dict[str, str]] = {}

    def of_map(self, described: DescribedMap[Any]) -> Mapping[str, str]:
        """Return what a ConfigMap says."""
        return self._read_known(described.uid, described.found.data)

    def news_of_map(self, described: DescribedMap[Any], wanted: Values) -> MapWrite | None:
        """Return what is still to be written, None if the ConfigMap says all that is wanted; from then on that counts
        as written."""
        known = self._read_known(described.uid, described.found.data)
        data = _diff_data(known, wanted)
        metadata = described.found.metadata
        noted = self._read_known(f"{described.uid} annotations", metadata.annotations)
        annotations = _diff_data(noted, {LAST_GOOD: described.annotation()})
        if not data and not annotations:
            return None
        return MapWrite(described.uid, metadata.namespace or "default", metadata.name, data, annotations)

    def news_of_pod(self, member: Member, wanted: Values) -> LabelWrite | None:
        """Return the labels that are still to be written, None if there are none; from then on they count as
        written."""
        labels = _diff_data(self._read_known(member.ref.uid, member.labels), wanted)
        return LabelWrite(member.ref, labels) if labels else None

    def forget(self, uid: str) -> None:
        """Forget an object that does not exist any more."""
        self._texts.pop(uid, None)
        self._texts.pop(f"{uid} annotations", None)

    def _read_known(self, key: str, came_with: Mapping[str, str]) -> dict[str, str]:
        known = self._texts.get(key)
        if known is None:
            known = self._texts[key] = dict(came_with)
        return known


def _diff_data(known: dict[str, str], wanted: Values) -> dict[str, str | None]:
    news = {key: value for key, value in wanted.items() if known.get(key) != value}
    for key, value in news.items():
        if value is None:
            known.pop(key, None)
        else:
            known[key] = value
    return news
