"""The sums of what pods use, against a recount."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from poseidon.lifecycle.bind_check import Requested
from tests.support.effort import examples

UIDS = st.sampled_from("abcde")
NODES = st.sampled_from(["n1", "n2"])
REQUESTS = st.dictionaries(st.sampled_from(["cpu", "memory", "pods"]), st.integers(1, 2**53), max_size=3)
STEPS: st.SearchStrategy[Any] = st.one_of(
    st.tuples(st.just("put"), UIDS, st.one_of(NODES, st.just("")), REQUESTS),
    st.tuples(st.just("drop"), UIDS, st.just(""), st.just({})),
)


@settings(max_examples=examples(300))
@given(st.lists(STEPS, max_size=40))
def test_any_order_of_changes_leaves_what_a_recount_finds(steps):
    requested, stores = Requested(), {}
    for what, uid, node, requests in steps:
        if what == "put":
            requested.put(uid, node, tuple(requests.items()))
            stores[uid] = (node, requests)
        else:
            requested.drop(uid)
            stores.pop(uid, None)
        for name in ("n1", "n2"):
            recount: Counter[str] = Counter()
            for where, amounts in stores.values():
                if where == name:
                    recount.update(amounts)
            assert requested.get_requested(name) == recount


def test_nothing_stays_behind_when_all_pods_are_gone():
    requested = Requested()
    requested.put("a", "n1", (("cpu", 1),))
    requested.put("a", "n2", (("cpu", 1),))
    requested.drop("a")
    requested.drop("a")
    assert (requested.get_requested("n1"), requested.get_requested("n2")) == ({}, {})
