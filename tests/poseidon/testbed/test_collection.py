"""Views of a collection: ranges of keys by namespace, and the state as it was before later changes."""

from __future__ import annotations

import pytest

from poseidon.testbed.objects.collection import Collection, CollectionSpec, View
from poseidon.testbed.objects.history import Change, ChangeType, ExpiredRevisionError, History, Record

SPEC = CollectionSpec("pods", "Pod", "v1", namespaced=True)


def make_collection(limit: int = 100) -> Collection:
    return Collection(SPEC, History(limit, 0))


def change(collection: Collection, kind: ChangeType, key: str, revision: int) -> None:
    namespace, _, name = key.partition("/")
    record = Record(key, namespace, name, "u", revision, b"{}", {}, ())
    collection.apply(Change(kind, revision, record, collection.get(key)))


def content(view: View) -> dict[str, int]:
    return {key: found.revision for key in view.keys if (found := view.get(key)) is not None}


@pytest.mark.parametrize(
    ("namespace", "after", "keys"),
    [
        ("", "", ["a-b/x", "a/x", "a/y", "b/x"]),
        ("a", "", ["a/x", "a/y"]),
        ("a", "a/x", ["a/y"]),
        ("a", "a/y", []),
        ("", "a/x", ["a/y", "b/x"]),
        ("", "a/w", ["a/x", "a/y", "b/x"]),
        ("b", "a/x", ["b/x"]),
        ("c", "", []),
    ],
)
def test_ranges_of_keys(namespace, after, keys):
    view = View(1, ["a-b/x", "a/x", "a/y", "b/x"], lambda _: None)
    low, high = view.bounds(namespace, after)
    assert view.keys[low:high] == keys


def test_records_are_in_the_order_of_their_keys_whatever_order_they_came_in():
    collection = make_collection()
    for revision, key in enumerate(("b/x", "a/y", "c/x", "a/x"), start=1):
        change(collection, "ADDED", key, revision)
    change(collection, "DELETED", "b/x", 5)
    change(collection, "MODIFIED", "a/y", 6)
    change(collection, "ADDED", "d/x", 7)
    assert content(collection.view(7)) == {"a/x": 4, "a/y": 6, "c/x": 3, "d/x": 7}
    assert list(content(collection.view(7))) == ["a/x", "a/y", "c/x", "d/x"]
    assert [each.key for each in collection.records("a")] == ["a/x", "a/y"]
    assert (len(collection), len(collection.records())) == (4, 4)


def test_the_past_is_the_present_without_later_changes():
    collection = make_collection()
    states: list[dict[str, int]] = [{}]
    steps: list[tuple[ChangeType, str]] = [
        ("ADDED", "a/x"), ("ADDED", "b/x"), ("MODIFIED", "a/x"), ("DELETED", "b/x"), ("ADDED", "a/a"),
        ("MODIFIED", "a/x"), ("DELETED", "a/x"), ("ADDED", "b/x"),
    ]  # fmt: skip
    for revision, (kind, key) in enumerate(steps, start=1):
        change(collection, kind, key, revision)
        states.append(content(collection.view(revision)))
    for revision, state in enumerate(states):
        view = collection.view_at(revision)
        assert (view.revision, content(view), view.keys) == (revision, state, sorted(state))


def test_a_page_of_a_past_view_stays_as_it_is_while_objects_come():
    collection = make_collection()
    for revision, key in enumerate(("a/x", "b/x"), start=1):
        change(collection, "ADDED", key, revision)
    change(collection, "DELETED", "a/x", 3)
    view = collection.view_at(2)
    change(collection, "ADDED", "a/y", 4)
    change(collection, "MODIFIED", "b/x", 5)
    assert view.keys == ["a/x", "b/x"]


def test_what_is_no_longer_remembered_is_expired():
    collection = make_collection(limit=2)
    for revision in range(1, 5):
        change(collection, "ADDED", f"a/x{revision}", revision)
    assert len(collection.view_at(2).keys) == 2
    with pytest.raises(ExpiredRevisionError) as expired:
        collection.view_at(1)
    assert (expired.value.requested, expired.value.oldest) == (1, 2)


def test_keys_and_the_fixed_text_of_objects():
    collection = make_collection()
    assert collection.key("a", "x") == "a/x"
    assert (
        Collection(CollectionSpec("nodes", "Node", "v1", namespaced=False), History(1, 0)).key("a", "x")
        == "x"
    )
    assert collection.header == b'{"kind":"Pod","apiVersion":"v1"'
    assert not collection.closed
    woken = []
    collection.history.subscribe(lambda: woken.append(1))
    collection.close()
    assert (collection.closed, woken) == (True, [1])
