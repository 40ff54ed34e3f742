"""Remembers the texts that objects already have, so that only changes are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from poseidon.group_trees.spec.described_maps import DescribedMap
from poseidon.group_trees.spec.keys import LAST_GOOD
from poseidon.group_trees.status.members import Member
from poseidon.kube.write.patch_writer import ConfigMapWrite, LabelWrite

Values = Mapping[str, str | None]
"""Texts by key; None means that the key must be removed."""


class WrittenTexts:
    """Labels, annotations and ConfigMap data as last written, or as first seen if never written; by uid and key.

    If other programs later write values into these keys, the values stay until this program writes a different value.
    """

    def __init__(self) -> None:
        self._texts: dict[str, dict[str, str]] = {}

    def read_data(self, described: DescribedMap[Any]) -> Mapping[str, str]:
        """Return the data of a ConfigMap as last written or first seen, by key."""
        return self._read_known(described.uid, described.found.data)

    def find_map_change(self, described: DescribedMap[Any], wanted: Values) -> ConfigMapWrite | None:
        """Return the write that gives a ConfigMap its wanted data, and count it as made.

        None if nothing must be written.
        """
        known = self._read_known(described.uid, described.found.data)
        data = _diff_data(known, wanted)
        metadata = described.found.metadata
        noted = self._read_known(f"{described.uid} annotations", metadata.annotations)
        annotations = _diff_data(noted, {LAST_GOOD: described.annotation()})
        if not data and not annotations:
            return None
        return ConfigMapWrite(
            described.uid, metadata.namespace or "default", metadata.name, data, annotations
        )

    def find_label_change(self, member: Member, wanted: Values) -> LabelWrite | None:
        """Return the write that gives a pod its wanted labels, and count it as made.

        None if nothing must be written.
        """
        labels = _diff_data(self._read_known(member.ref.uid, member.labels), wanted)
        return LabelWrite(member.ref, labels) if labels else None

    def forget(self, uid: str) -> None:
        """Remove an object that does not exist any more."""
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
