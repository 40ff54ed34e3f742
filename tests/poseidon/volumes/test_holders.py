"""To which pod of a machine the attachment of a volume is charged, whatever the order of events."""

from __future__ import annotations

from itertools import permutations

import pytest

from poseidon.volumes.claims import Holders


@pytest.mark.parametrize("order", [*permutations("abc")])
def test_the_lowest_uid_holds_a_claim(order):
    holders = Holders()
    for uid in order:
        changed = {*holders.add("c", "n", uid)}
        placed = order[: order.index(uid) + 1]
        if uid == min(placed):
            assert changed == {uid, *sorted(placed)[1:2]}
        else:
            assert changed == set()
    assert not [*holders.add("c", "n", "a")]
    assert {*holders.remove("c", "n", "a")} == {"a", "b"}
    assert {*holders.remove("c", "n", "b")} == {"b", "c"}
    assert {*holders.remove("c", "n", "c")} == {"c"}


def test_a_pod_that_does_not_hold_it_leaves_without_consequence():
    holders = Holders()
    for uid in "abc":
        holders.add("c", "n", uid)
    assert not [*holders.remove("c", "n", "b")]
    assert not [*holders.remove("c", "n", "b")]
    assert {*holders.remove("c", "n", "a")} == {"a", "c"}


def test_claims_are_listed_by_machine_while_pods_use_them():
    holders = Holders()
    holders.add("c", "n", "a")
    holders.add("d", "n", "a")
    holders.add("c", "m", "b")
    assert ([*holders.list_claims("n")], [*holders.list_claims("m")]) == (["c", "d"], ["c"])
    holders.remove("c", "n", "a")
    assert [*holders.list_claims("n")] == ["d"]
    holders.remove("d", "n", "a")
    holders.remove("c", "m", "b")
    assert [*holders.list_claims("n")] == [*holders.list_claims("m")] == []
    assert [*holders.remove("x", "y", "z")] == []


def test_a_claim_is_shared_where_several_pods_use_it():
    holders = Holders()
    shared = []
    for uid in "ab":
        holders.add("c", "n", uid)
        shared.append((holders.is_shared("c", "n"), holders.is_shared("c", "m")))
    holders.remove("c", "n", "a")
    assert not holders.is_shared("c", "n")
    assert shared == [(False, False), (True, False)]
