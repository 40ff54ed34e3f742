"""Whatever is written in whatever order: a list and the watch events after it reproduce the final state."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poseidon.testbed.api_server.listing import ListOptions, list_page
from poseidon.testbed.api_server.operations import MERGE_PATCH, Operations
from poseidon.testbed.api_server.watching import WatchCursor
from poseidon.testbed.objects.binding import bind, decode_binding
from poseidon.testbed.objects.errors import ApiError
from poseidon.testbed.objects.history import ExpiredRevisionError, History
from poseidon.testbed.objects.resources import PODS
from poseidon.testbed.objects.selectors import Selection, select
from poseidon.testbed.objects.store import decode
from tests.poseidon.testbed.conftest import new_operations
from tests.support.cluster import pod
from tests.support.effort import examples

NAMES = st.sampled_from(["a", "b", "c", "d"])
STEPS = st.lists(
    st.tuples(st.sampled_from(["create", "label", "unlabel", "bind", "delete"]), NAMES), max_size=40
)
SELECTORS = st.sampled_from(
    [("", ""), ("on", ""), ("!on", ""), ("", "spec.nodeName="), ("on", "spec.nodeName!=")]
)


def perform(operations: Operations, step: tuple[str, str]) -> None:
    verb, name = step
    try:
        if verb == "create":
            operations.create(PODS, "default", pod(name))
        elif verb == "delete":
            operations.delete(PODS, "default", name)
        elif verb == "bind":
            bind(operations.store, "default", name, decode_binding(b'{"target":{"name":"n"}}'))
        else:
            labels = {"on": "yes" if verb == "label" else None}
            operations.patch(PODS, "default", name, MERGE_PATCH, {"metadata": {"labels": labels}})
    except ApiError as error:
        assert error.code in (404, 409)  # noqa: PT017 - refusals are part of the sequence


def listed(
    operations: Operations, selection: Selection, **options: Any
) -> tuple[dict[str, str], dict[str, Any]]:
    collection = operations.store.collection("pods")
    records, metadata = list_page(operations.store, collection, selection, ListOptions(**options))
    versions = {decode(r)["metadata"]["name"]: decode(r)["metadata"]["resourceVersion"] for r in records}
    return versions, dict(metadata)


@settings(max_examples=examples(60))
@given(STEPS, STEPS, SELECTORS)
def test_list_then_watch_reproduces_the_state(before, after, selectors) -> None:
    operations = new_operations()
    collection = operations.store.collection("pods")
    selection = select("", selectors[0], selectors[1], collection.field_names)
    for step in before:
        perform(operations, step)
    state, metadata = listed(operations, selection)
    cursor = WatchCursor(operations.store, PODS, collection, selection)
    revision = operations.store.revision
    for step in after:
        perform(operations, step)
        assert operations.store.revision in (revision, revision + 1)
        revision = operations.store.revision
    cursor.seek(int(metadata["resourceVersion"]))
    text, more = cursor.advance()
    assert not more
    last = int(metadata["resourceVersion"])
    for line in text.splitlines():
        event = json.loads(line)
        name, version = event["object"]["metadata"]["name"], event["object"]["metadata"]["resourceVersion"]
        assert int(version) > last
        last = int(version)
        assert (event["type"] == "ADDED") is (name not in state)
        if event["type"] == "DELETED":
            del state[name]
        else:
            state[name] = version
    assert state == listed(operations, selection)[0]


@settings(max_examples=examples(60))
@given(STEPS, st.lists(STEPS, max_size=4), st.integers(1, 3))
def test_pages_reproduce_the_state_of_the_first(before, between, limit) -> None:
    operations = new_operations()
    for step in before:
        perform(operations, step)
    expected, _ = listed(operations, Selection())
    found, metadata = listed(operations, Selection(), limit=limit)
    pauses = iter(between)
    while token := metadata.get("continue"):
        for step in next(pauses, []):
            perform(operations, step)
        page, metadata = listed(operations, Selection(), limit=limit, continue_token=token)
        assert not set(page) & set(found)
        found.update(page)
    assert found == expected


@settings(max_examples=examples(60))
@given(st.integers(1, 7), st.integers(0, 40))
def test_the_history_remembers_exactly_its_limit(limit: int, writes: int) -> None:
    operations = new_operations(history=limit)
    start = operations.store.revision
    for index in range(writes):
        operations.create(PODS, "default", pod(f"p{index}"))
    history = operations.store.collection("pods").history
    remembered = min(limit, writes)
    for back in range(writes + 1):
        revision = start + writes - back
        if back <= remembered:
            assert len(list(history.since(revision))) == back
        else:
            with pytest.raises(ExpiredRevisionError):
                history.since(revision)


def test_a_history_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="not positive"):
        History(0, 0)
