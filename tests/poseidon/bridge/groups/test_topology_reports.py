"""What is reported of topology groups: ConfigMaps and records, each only when it says something new."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from poseidon.bridge.groups.topology_reports import (
    COUNTS_SECONDS,
    TopologyNotes,
    TopologyRecords,
)
from poseidon.custom_records import CustomRecords
from poseidon.group_trees.spec.described_maps import DescribedMap
from poseidon.group_trees.spec.json_text import Reading
from poseidon.group_trees.status.group_status import Outlook
from poseidon.kube.api.event_reasons import EventReason
from poseidon.kube.write.patch_writer import ConfigMapWrite
from poseidon.lifecycle.actions import Action, AnnounceGroup
from tests.poseidon.group_trees.objects import group_map


class Clock:
    now = 1_000_000_000.0

    def __call__(self) -> float:
        return self.now


def described(uid: str = "m", **data: str) -> DescribedMap[None]:
    return DescribedMap(group_map(uid=uid, **data), data, Reading(None))


class Notes:
    def __init__(self) -> None:
        self.actions: list[Action] = []
        self.clock = Clock()
        self.notes = TopologyNotes(self.actions, self.clock)

    def describe(
        self, found: DescribedMap[None], **data: str | None
    ) -> tuple[bool, Mapping[str, str | None]]:
        """Whether something is left for later, and what is written."""
        self.actions.clear()
        left = self.notes.write_changes(found, Outlook(dict(data)))
        writes = [each.data for each in self.actions if isinstance(each, ConfigMapWrite)]
        return left, writes[0] if writes else {}

    def events(self) -> list[tuple[EventReason, str]]:
        told = [(each.reason, each.message) for each in self.actions if isinstance(each, AnnounceGroup)]
        self.actions.clear()
        return told


def test_only_what_has_changed_is_written():
    scene, found = Notes(), described(status="Waiting", message="old")
    assert dict(scene.notes.read_notes(found))["status"] == "Waiting"
    assert scene.describe(found, status="Waiting", message="old") == (False, {})
    assert scene.describe(found, status="Bound", message=None, rank="[]") == (
        False,
        {"status": "Bound", "message": None, "rank": "[]"},
    )
    assert scene.describe(found, status="Bound", message=None, rank="[]") == (False, {})


def test_figures_are_written_once_a_minute():
    scene, found = Notes(), described(status="Waiting", message="1 of 4")
    assert scene.describe(found, status="Waiting", message="2 of 4") == (True, {})
    scene.clock.now += COUNTS_SECONDS - 1
    assert scene.describe(found, status="Waiting", message="3 of 4", rank="r") == (True, {"rank": "r"})
    scene.clock.now += 1
    assert scene.describe(found, status="Waiting", message="3 of 4") == (False, {"message": "3 of 4"})
    assert scene.describe(found, status="Waiting", message="4 of 4") == (True, {}), "the minute begins anew"
    assert scene.describe(found, status="Ready", message="4 of 4") == (
        False,
        {"status": "Ready", "message": "4 of 4"},
    )
    assert scene.describe(found, status="Ready", message="no room") == (False, {"message": "no room"})
    scene.notes.forget("m")
    assert scene.describe(found, status="Waiting", message="1 of 4") == (False, {}), "it is read anew"


def test_a_fault_is_told_once_while_it_lasts():
    scene, found = Notes(), described()
    for text in ("odd", "odd", "", "odd", "worse"):
        scene.notes.warn_once(found, text, EventReason.INVALID_SPEC)
    assert [text for _, text in scene.events()] == ["odd", "odd", "worse"]
    scene.notes.warn_once(described("other", message="odd"), "odd", EventReason.INVALID_SPEC)
    assert scene.events() == [], "an earlier process has told it"


@pytest.mark.parametrize("warns", [False, True])
def test_a_map_that_describes_no_group_says_so(warns):
    scene, found = Notes(), described()
    scene.notes.note(found, "not used", EventReason.INVALID_SPEC, warns=warns)
    [write] = [each for each in scene.actions if isinstance(each, ConfigMapWrite)]
    assert write.data == {"message": "not used"}
    assert scene.events() == ([(EventReason.INVALID_SPEC, "not used")] if warns else [])
    scene.notes.note(found, "", EventReason.INVALID_SPEC, warns=warns)
    [write] = [each for each in scene.actions if isinstance(each, ConfigMapWrite)]
    assert write.data == {"message": None}


# --- records ------------------------------------------------------------------------------------------------------


class Spec:
    """A tree or group, whose payload is a word."""

    def __init__(self, word: bytes) -> None:
        self.word = word

    def payload(self, namespace: str = "") -> bytes:
        return self.word + namespace.encode()


@pytest.mark.parametrize("wanted", [True, False])
def test_records_are_kept_if_a_model_reads_them(wanted):
    records = CustomRecords()
    kept: Any = TopologyRecords(records, wanted=wanted)

    def told() -> list[bytes]:
        return [each.record.payload for each in records.take_events()]

    tree, rules = Spec(b"tree"), Spec(b"rules")
    kept.set_tree(tree)
    kept.set_group("j", "ns", rules)
    kept.set_group("k", "ns", None)
    assert kept.list_jobs() == (["j"] if wanted else [])
    assert sorted(told()) == ([b"rulesns", b"tree"] if wanted else [])
    kept.set_tree(tree)
    kept.set_group("j", "other", rules)
    assert told() == [], "these are known"
    kept.set_tree(None)
    kept.set_group("j", "ns", None)
    assert kept.list_jobs() == []
    assert len(told()) == 2 * wanted
