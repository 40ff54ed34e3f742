"""Who holds which devices, told by records of claims and by placements in the making."""

from __future__ import annotations

import json
from typing import Any

import pytest

from firmament.core.model import ClaimAllocation
from firmament.core.state.device_allocations import DeviceAllocations

POOL = ("gpu.example.com", "m")


def results(*devices: str, **fields: Any) -> dict[str, Any]:
    """An allocation of devices."""
    given = [{"driver": POOL[0], "pool": POOL[1], "device": each, "request": "r"} for each in devices]
    return {"devices": {"results": given}, **fields}


def on_machines(*names: str, key: str = "metadata.name") -> dict[str, Any]:
    """The part of an allocation that says on which machines it can be used."""
    term = {"matchFields": [{"key": key, "operator": "In", "values": list(names)}]}
    return {"nodeSelector": {"nodeSelectorTerms": [term]}}


def record(
    allocation: dict[str, Any] | None, reserved: tuple[str, ...] = (), used: tuple[str, ...] = ()
) -> bytes:
    content = {"spec": {}, "allocation": allocation, "reserved_for": reserved, "in_use_by": used}
    return json.dumps(content).encode()


def promise(book: DeviceAllocations, uid: str, *devices: str, claim: str = "") -> None:
    book.promise(uid, (ClaimAllocation("c", claim, json.dumps(results(*devices))),))


def users(book: DeviceAllocations) -> dict[str, list[set[str]]]:
    return {device: [set(uids) for _, uids in holdings] for device, holdings in book.list_held(POOL).items()}


def test_who_uses_a_device_is_whom_its_claim_names_or_the_task_itself():
    book = DeviceAllocations()
    book.keep_claim("shared", record(results("d0"), ("t", "u"), ("v",)))
    book.keep_claim("unused", record(results("d1")))
    promise(book, "w", "d2")
    assert users(book) == {"d0": [{"t", "u", "v"}], "d1": [set()], "d2": [{"w"}]}


def test_a_task_holds_no_longer_by_itself_what_its_claim_holds():
    for reserved, used in ((("t",), ()), ((), ("t",))):
        book = DeviceAllocations()
        promise(book, "t", "d0", claim="c1")
        book.keep_claim("c1", record(results("d0"), reserved, used))
        assert not book.promised
        assert users(book) == {"d0": [{"t"}]}
        book.keep_claim("c1", None)
        assert users(book) == {}


def test_a_task_goes_on_holding_what_a_claim_of_others_or_of_other_devices_holds():
    for allocation, reserved in ((results("d0"), ("u",)), (results("d1"), ("t",))):
        book = DeviceAllocations()
        promise(book, "t", "d0", claim="c1")
        book.keep_claim("c1", record(allocation, reserved))
        assert {"t"} in users(book)["d0"]
        assert "t" in book.promised


@pytest.mark.parametrize(
    ("fields", "freed"),
    [
        ({}, {""}),
        ({"nodeSelector": None}, {""}),
        ({"nodeSelector": {"nodeSelectorTerms": None}}, {""}),
        (on_machines("m"), {"m"}),
        (on_machines("m", "n"), {"m", "n"}),
        (on_machines("m", key="metadata.uid"), {""}),
        (
            {
                "nodeSelector": {
                    "nodeSelectorTerms": [{}, *on_machines("m")["nodeSelector"]["nodeSelectorTerms"]]
                }
            },
            {""},
        ),
    ],
)
def test_devices_are_free_again_on_the_machines_that_a_former_claim_names(fields, freed):
    book = DeviceAllocations()
    assert book.keep_claim("c1", record(results("d0", **fields))) == frozenset()
    assert book.keep_claim("c1", record(results("d0", **fields))) == frozenset()
    assert book.keep_claim("c1", None) == freed


def test_a_claim_that_gives_up_one_device_frees_it():
    book = DeviceAllocations()
    book.keep_claim("c1", record(results("d0", "d1", **on_machines("m"))))
    assert book.keep_claim("c1", record(results("d1", **on_machines("m")))) == {"m"}
    assert set(users(book)) == {"d1"}


def test_a_malformed_record_counts_as_a_claim_that_is_gone():
    book = DeviceAllocations()
    book.keep_claim("c1", record(results("d0", **on_machines("m"))))
    assert book.keep_claim("c1", b'{"allocation": 7}') == {"m"}
    assert not book.known_claims
    assert users(book) == {}


def test_a_claim_may_have_several_shares_of_a_device():
    shares = [
        {
            "driver": POOL[0],
            "pool": POOL[1],
            "device": "d0",
            "shareID": each,
            "consumedCapacity": {"memory": "3Gi"},
        }
        for each in "xy"
    ]
    book = DeviceAllocations()
    for name in ("c1", "c2"):
        book.keep_claim(name, record({"devices": {"results": shares}}, ("t",)))
    held = [holding.share for holding, _ in book.list_held(POOL)["d0"]]
    assert held == ["x", "y", "x", "y"]
    book.keep_claim("c1", None)
    assert [holding.share for holding, _ in book.list_held(POOL)["d0"]] == ["x", "y"]
    book.keep_claim("c2", None)
    assert users(book) == {}


def test_what_a_task_is_promised_last_is_all_that_it_holds():
    book = DeviceAllocations()
    promise(book, "t", "d0", claim="c1")
    before = book.version
    promise(book, "t", "d1")
    assert book.version > before
    assert users(book) == {"d1": [{"t"}]}
    assert book.find_allocation("c1") is None
    book.promise("t", ())
    assert users(book) == {}
    assert not book.promised


def leave_and_return(book: DeviceAllocations, *machines: str) -> list[dict[str, list[set[str]]]]:
    """What is held once task ``t`` has left machine m, and then come to each of these."""
    book.leave_behind("t", "m")
    seen = [users(book)]
    for name in machines:
        book.come_back("t", name)
        seen.append(users(book))
    return seen


def test_a_task_that_leaves_in_a_trial_gets_its_own_devices_back_where_it_was():
    book = DeviceAllocations()
    book.stayed = {}
    book.keep_claim("own", record(results("d0"), ("t",)))
    book.keep_claim("shared", record(results("d1"), ("t", "u")))
    promise(book, "t", "d2")
    shared = {"d1": [{"t", "u"}]}
    left, elsewhere, back = leave_and_return(book, "n", "m")
    assert left == elsewhere == shared
    assert back == {**shared, "d0": [{"t"}], "d2": [{"t"}]}
    assert leave_and_return(book, "m") == [shared, back], "as often as it moves"


def test_a_task_that_has_got_other_devices_meanwhile_keeps_those():
    book = DeviceAllocations()
    book.stayed = {}
    promise(book, "t", "d0")
    book.leave_behind("t", "m")
    promise(book, "t", "d1")
    book.come_back("t", "m")
    assert users(book) == {"d1": [{"t"}]}


def test_nothing_comes_back_where_no_trials_are():
    book = DeviceAllocations()
    promise(book, "t", "d0")
    assert leave_and_return(book, "m") == [{}, {}]
