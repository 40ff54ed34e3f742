"""Namespaces as records of their labels, with the label of their name that each has."""

from __future__ import annotations

import json

from poseidon.custom_records import CustomRecords
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.namespaces import Namespace
from poseidon.kube.api.resource import Change
from poseidon.namespaces import Namespaces, labels_of, payload


def namespace(uid: str, name: str, **labels: str) -> Change[Namespace]:
    metadata = {"name": name, "labels": labels, "uid": uid}
    return Change(uid, convert_object({"metadata": metadata}, Namespace))


def told(records: CustomRecords) -> list[tuple[str, dict | None]]:
    found: list[tuple[str, dict | None]] = []
    for event in records.take_events():
        if event.HasField("record_removed"):
            assert event.record_removed.kind == "Namespace"
            found.append((event.record_removed.name, None))
        else:
            assert event.record.key.kind == "Namespace"
            found.append((event.record.key.name, json.loads(event.record.payload)["labels"]))
    return found


def test_the_label_of_the_name_cannot_be_forged():
    name = "kubernetes.io/metadata.name"
    assert labels_of("a", {name: "b", "x": "y"}) == {name: "a", "x": "y"}


def test_equal_labels_make_equal_records():
    assert payload("a", {"x": "1", "a": "2"}) == payload("a", {"a": "2", "x": "1"})


def test_namespaces_come_change_and_go():
    records = CustomRecords()
    namespaces = Namespaces(records)
    namespaces.take_changes([namespace("u1", "shop", team="a")])
    assert told(records) == [("shop", {"team": "a", "kubernetes.io/metadata.name": "shop"})]
    namespaces.take_changes([namespace("u1", "shop", team="b")])
    assert told(records) == [("shop", {"team": "b", "kubernetes.io/metadata.name": "shop"})]
    namespaces.take_changes([Change("u1", None)])
    assert told(records) == [("shop", None)]


def test_a_late_end_of_a_namesake_and_unknown_ends_change_nothing():
    records = CustomRecords()
    namespaces = Namespaces(records)
    namespaces.take_changes(
        [namespace("old", "shop"), namespace("new", "shop", team="b"), Change("old", None)]
    )
    namespaces.take_changes([Change("unknown", None)])
    assert told(records) == [("shop", {"team": "b", "kubernetes.io/metadata.name": "shop"})]


def test_an_object_without_a_name_is_no_namespace():
    records = CustomRecords()
    Namespaces(records).take_changes([namespace("u", "")])
    assert told(records) == []
