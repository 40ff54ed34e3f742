"""Records of custom resources: one for each name, from the preferred version; and names that belong to a uid."""

from __future__ import annotations

import logging
from typing import Any

from poseidon.custom_records import CustomRecords, CustomResource, NameIndex, Reading
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.nodes import PriorityClass
from poseidon.kube.api.resource import Change, Resource
from poseidon.kube.parsing.defects import Defect


def read(found: PriorityClass) -> Reading:
    name = found.metadata.name
    defects = (Defect("value", "is odd"),) if found.value % 2 else ()
    return Reading("" if name == "nameless" else name, str(found.value).encode(), defects)


KIND: CustomResource[PriorityClass] = CustomResource(
    "Rank",
    (
        Resource("ranks", "/apis/a/v2/ranks", PriorityClass),
        Resource("ranks", "/apis/a/v1/ranks", PriorityClass),
    ),
    read,
)


def put(uid: str, name: str, value: int) -> Change[PriorityClass]:
    return Change(uid, convert_object({"metadata": {"name": name}, "value": value}, PriorityClass))


def gone(uid: str) -> Change[PriorityClass]:
    return Change(uid, None)


class Scene:
    def __init__(self) -> None:
        self.records = CustomRecords()
        self.first, self.second = (self.records.get_handler(KIND, version) for version in (0, 1))

    def told(self) -> list[Any]:
        """What the solver is told: name and payload, None if a record is gone."""
        found: list[Any] = []
        for event in self.records.take_events():
            removed = event.HasField("record_removed")
            key = event.record_removed if removed else event.record.key
            assert key.kind == "Rank"
            found.append((key.name, None if removed else event.record.payload.decode()))
        return found


def test_objects_become_records_once_and_their_end_is_told():
    scene = Scene()
    scene.first([put("u1", "a", 2), put("u2", "b", 4)])
    assert [scene.records.changed, scene.told()] == [True, [("a", "2"), ("b", "4")]]
    assert [scene.records.changed, scene.told()] == [False, []]
    assert len(scene.records) == 2
    scene.first([put("u1", "a", 2), gone("u2"), put("u3", "c", 6)])
    assert scene.told() == [("b", None), ("c", "6")]
    assert len(scene.records) == 2


def test_objects_without_a_name_become_no_record():
    scene = Scene()
    scene.first([put("u1", "nameless", 2)])
    assert scene.told() == []
    assert len(scene.records) == 0


def test_of_several_versions_the_preferred_one_counts_whatever_comes_first():
    scene = Scene()
    scene.second([put("u1", "a", 20)])
    assert scene.told() == [("a", "20")]
    scene.first([put("u1", "a", 2)])
    assert scene.told() == [("a", "2")]
    scene.second([put("u1", "a", 40)])
    assert scene.told() == []
    scene.first([gone("u1")])
    assert scene.told() == [("a", "40")]
    scene.second([gone("u1")])
    assert scene.told() == [("a", None)]


def test_a_late_end_of_a_namesake_removes_nothing():
    scene = Scene()
    scene.first([put("old", "a", 2)])
    scene.first([put("new", "a", 4), gone("old")])
    assert scene.told() == [("a", "4")]
    scene.first([gone("unknown")])
    assert scene.told() == []


def test_an_object_that_gives_another_name_leaves_the_former_record():
    scene = Scene()
    scene.first([put("u", "a", 2)])
    scene.told()
    scene.first([put("u", "b", 2)])
    assert scene.told() == [("a", None), ("b", "2")]


def test_a_new_stream_is_told_everything_again():
    scene = Scene()
    scene.first([put("u1", "a", 2), put("u2", "b", 4)])
    scene.told()
    scene.first([gone("u1")])
    scene.records.forget_sent()
    assert scene.told() == [("b", "4")]


def test_defects_are_logged_once_as_long_as_they_last_and_listed(caplog):
    scene = Scene()
    with caplog.at_level(logging.WARNING):
        scene.first([put("u", "a", 1), put("u", "a", 3)])
        scene.first([put("u", "a", 2)])
        assert scene.records.complaints("Rank") == {"a": ()}
        scene.first([put("u", "a", 5)])
    said = [each.message for each in caplog.records]
    assert said == ['object has a defect kind=Rank name=a defect="value: is odd"'] * 2
    assert scene.records.complaints("Rank") == {"a": ("value: is odd",)}
    assert scene.records.complaints("Other") == {}
    scene.first([gone("u")])
    assert scene.records.complaints("Rank") == {}


def test_records_that_are_made_elsewhere_are_told_and_removed():
    scene = Scene()
    scene.records.set_record("Rank", "x", b"1")
    assert scene.told() == [("x", "1")]
    scene.records.set_record("Rank", "x", None)
    scene.records.set_record("Rank", "never there", None)
    assert scene.told() == [("x", None)]


def test_names_belong_to_the_latest_object():
    names = NameIndex()
    names.put("old", "a")
    names.put("new", "a")
    assert names.remove("old") == ""
    assert names.remove("unknown") == ""
    assert names.remove("new") == "a"
    assert names.remove("new") == ""
