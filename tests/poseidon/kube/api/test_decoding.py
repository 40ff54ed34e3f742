"""Objects from bytes: defaults, nulls, faults."""

from __future__ import annotations

import json

import msgspec
import pytest

from poseidon.kube.api.decoding import (
    MalformedObjectError,
    convert_object,
    decode_metadata,
    decode_object,
    decode_page,
    decode_watch_event,
    drop_nulls,
)
from poseidon.kube.api.metadata import Status
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pods import Pod


def test_unknown_fields_are_skipped_and_absent_ones_have_defaults():
    pod = decode_object(
        b'{"metadata":{"name":"p","managedFields":[{}]},"spec":{"hostAliases":[1]},"x":null}', Pod
    )
    assert pod.metadata.name == "p"
    assert pod.spec.containers == ()
    assert pod.spec.priority is None
    assert decode_object(b"{}", Node).status.allocatable is None


def test_nulls_count_as_absent():
    raw = b'{"metadata":{"name":"p","labels":null,"creationTimestamp":null},"spec":{"tolerations":null}}'
    pod = decode_object(raw, Pod)
    assert pod.metadata.labels == {}
    assert pod.spec.tolerations == ()


def test_a_page_sets_broken_items_aside():
    items = [{"metadata": {"name": "a"}}, {"metadata": {"name": "b", "uid": "u"}, "spec": {"nodeName": 5}}]
    raw = json.dumps({"metadata": {"resourceVersion": "7", "continue": "c"}, "items": items}).encode()
    page = decode_page(raw, Pod)
    assert [pod.metadata.name for pod in page.items] == ["a"]
    assert (page.resource_version, page.continue_token) == ("7", "c")
    (rejected,) = page.rejected
    assert (rejected.metadata.name, rejected.metadata.uid) == ("b", "u")
    assert rejected.problem == "spec.nodeName: expected a string, got an integer"


def test_an_empty_page_may_have_null_items():
    assert decode_page(b'{"metadata":{"resourceVersion":"1"},"items":null}', Pod).items == ()


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"items":5}', b"\xff"])
def test_what_is_no_list_is_refused(raw):
    with pytest.raises(MalformedObjectError):
        decode_page(raw, Pod)


def test_watch_events_are_opened_by_type():
    event = decode_watch_event(b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}')
    assert event.type == "ERROR"
    status = decode_object(event.object, Status)
    assert (status.code, status.reason) == (410, "Expired")


def test_metadata_of_a_broken_object_is_saved_as_far_as_possible():
    assert decode_metadata(b'{"metadata":{"name":"p","uid":"u","labels":5}}').uid == "u"
    assert (
        decode_metadata(b'{"metadata":{"name":"p","resourceVersion":"3"},"spec":5}').resource_version == "3"
    )
    assert decode_metadata(b"[").name == ""


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"metadata": {"name": 5}}, "metadata.name: expected a string, got an integer"),
        ({"metadata": {"labels": {"a": 1}}}, "metadata.labels[*]: expected a string, got an integer"),
        (
            {"metadata": {"labels": {1: "a"}}},
            "metadata.labels: a key of this map: expected a string, got an integer",
        ),
        ({"spec": []}, "spec: expected a map, got a list"),
        ({"spec": {"containers": [None]}}, "spec.containers[0]: expected a map, got null"),
        ({"spec": {"priority": 1.5}}, "spec.priority: expected an integer, got a number"),
        (
            {"spec": {"containers": [{"resources": {"requests": {"cpu": True}}}]}},
            "spec.containers[0].resources.requests[*]: expected a quantity, got true or false",
        ),
    ],
)
def test_faults_are_told_in_plain_words(value, message):
    with pytest.raises(MalformedObjectError) as caught:
        convert_object(value, Pod)
    assert str(caught.value) == message


def test_defaults_are_left_out_when_encoding():
    assert msgspec.json.encode(Pod()) == b"{}"


def test_a_value_without_nulls_is_not_copied_and_one_that_only_mentions_null_is_read_alike():
    plain = {"metadata": {"labels": {"a": "b"}}, "list": [{"c": 1}]}
    assert drop_nulls(plain) is plain
    assert drop_nulls({"a": "null"}) == {"a": "null"}
    assert drop_nulls({"a": {"b": None, "c": [None]}}) == {"a": {"c": [None]}}
