from __future__ import annotations

import json

import pytest

from poseidon.testbed.api_server.listing import ListOptions, list_page, render
from poseidon.testbed.api_server.operations import Operations
from poseidon.testbed.objects.errors import ApiError
from poseidon.testbed.objects.resources import NAMESPACES, PODS
from poseidon.testbed.objects.selectors import Selection, select
from tests.poseidon.testbed.conftest import fill, new_operations
from tests.support.cluster import pod


def page(operations: Operations, selection: Selection | None = None, **options):
    collection = operations.store.collection("pods")
    records, metadata = list_page(
        operations.store, collection, selection or Selection(), ListOptions(**options)
    )
    return json.loads(render(PODS, collection, records, metadata))


def names(document) -> list[str]:
    return [item["metadata"]["name"] for item in document["items"]]


def test_a_whole_list_is_in_key_order_at_the_current_revision(operations: Operations) -> None:
    for name in ("c", "a", "b"):
        operations.create(PODS, "default", pod(name))
    document = page(operations)
    assert names(document) == ["a", "b", "c"]
    assert document["kind"] == "PodList"
    assert document["metadata"] == {"resourceVersion": str(operations.store.revision)}
    # As from the real server, the items of built-in lists do not repeat their kind.
    assert "kind" not in document["items"][0]


def test_an_empty_list_has_no_items(operations: Operations) -> None:
    assert page(operations)["items"] == []


def test_pages_show_the_state_of_the_first_one(operations: Operations) -> None:
    fill(operations, 10)
    first = page(operations, limit=4)
    assert first["metadata"]["remainingItemCount"] == 6
    operations.delete(PODS, "default", "p005")
    operations.create(PODS, "default", pod("p004a"))
    operations.patch(
        PODS, "default", "p006", "application/merge-patch+json", {"metadata": {"labels": {"new": "1"}}}
    )
    second = page(operations, limit=4, continue_token=first["metadata"]["continue"])
    third = page(operations, limit=4, continue_token=second["metadata"]["continue"])
    assert names(first) + names(second) + names(third) == [f"p{i:03d}" for i in range(10)]
    assert "labels" not in second["items"][2]["metadata"]
    assert {p["metadata"]["resourceVersion"] for p in (first, second, third)} == {
        first["metadata"]["resourceVersion"]
    }
    assert "continue" not in third["metadata"]


def test_a_list_ends_without_a_token_when_the_page_is_exactly_full(operations: Operations) -> None:
    fill(operations, 4)
    assert "continue" not in page(operations, limit=4)["metadata"]


def test_selected_pages_do_not_count_what_remains(operations: Operations) -> None:
    fill(operations, 6)
    known = operations.store.collection("pods").field_names
    selection = select("", "", "metadata.name!=p001", known)
    first = page(operations, selection, limit=2)
    assert names(first) == ["p000", "p002"]
    assert "remainingItemCount" not in first["metadata"]
    rest = page(operations, selection, continue_token=first["metadata"]["continue"])
    assert names(rest) == ["p003", "p004", "p005"]


def test_namespaces_do_not_mix(operations: Operations) -> None:
    for namespace in ("team", "team-a", "team0"):
        operations.create(NAMESPACES, "", {"metadata": {"name": namespace}})
        operations.create(PODS, namespace, pod("x", namespace=namespace))
    document = page(operations, Selection("team"))
    assert [item["metadata"]["namespace"] for item in document["items"]] == ["team"]


def test_an_expired_token_is_gone_and_offers_to_go_on(operations: Operations) -> None:
    operations = new_operations(history=5)
    fill(operations, 10)
    token = page(operations, limit=3)["metadata"]["continue"]
    fill_more = [operations.create(PODS, "default", pod(f"q{i}")) for i in range(6)]
    with pytest.raises(ApiError, match="too old to display a consistent list") as caught:
        page(operations, limit=3, continue_token=token)
    assert (caught.value.code, caught.value.reason) == (410, "Expired")
    go_on = caught.value.metadata["continue"]
    assert names(page(operations, continue_token=go_on))[0] == "p003"
    assert len(names(page(operations, continue_token=go_on))) == 7 + len(fill_more)


def test_resource_version_match(operations: Operations) -> None:
    fill(operations, 3)
    then = operations.store.revision
    operations.create(PODS, "default", pod("z"))
    assert len(names(page(operations, resource_version=str(then), resource_version_match="Exact"))) == 3
    assert (
        len(names(page(operations, resource_version=str(then), resource_version_match="NotOlderThan"))) == 4
    )
    assert len(names(page(operations, resource_version=str(then)))) == 4
    assert len(names(page(operations, resource_version=str(then), limit=100))) == 3
    one = page(operations, resource_version=str(then), limit=1)
    assert (one["metadata"]["resourceVersion"], one["metadata"]["remainingItemCount"]) == (str(then), 2)
    assert len(names(page(operations, resource_version="0", limit=1))) == 4


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"resource_version": "x"}, 400),
        ({"resource_version": "999999"}, 504),
        ({"resource_version_match": "Exact"}, 422),
        ({"resource_version_match": "Sometimes", "resource_version": "1"}, 422),
        ({"resource_version_match": "Exact", "resource_version": "0"}, 422),
        ({"continue_token": "nonsense"}, 400),
        ({"continue_token": "e30"}, 400),
        ({"continue_token": "é"}, 400),
    ],
)
def test_bad_options_are_refused(operations: Operations, options, code: int) -> None:
    with pytest.raises(ApiError) as caught:
        page(operations, **options)
    assert caught.value.code == code


def test_an_exact_list_before_the_history_is_gone() -> None:
    operations = new_operations(history=2)
    fill(operations, 5)
    with pytest.raises(ApiError, match="too old resource version") as caught:
        page(operations, resource_version="2", resource_version_match="Exact")
    assert caught.value.code == 410
