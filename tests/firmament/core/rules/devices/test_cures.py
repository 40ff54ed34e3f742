"""Cures for tasks that lack devices: fewer of them in a claim, or more of them on the machine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from firmament.core.changes import ChangedMachine, CureKind, CureProposal
from firmament.core.model import Machine, TaskClaim, TaskClass
from firmament.core.rules.devices.cures import propose_for_devices, read_local_slices
from tests.support.devices import device, exactly, own_claim, slice_spec


def propose(*claims: TaskClaim, slices: list[dict[str, Any]] | None = None) -> dict[str, list[CureProposal]]:
    content = TaskClass(claims=claims)
    standing = ChangedMachine(content, Machine("m", {}), {}, list_slices=lambda: slices or [])
    found: dict[str, list[CureProposal]] = {}
    for each in propose_for_devices(standing):
        (step,) = each.steps
        found.setdefault(step.kind.value, []).append(each)
    return found


def fewer(*claims: TaskClaim) -> list[tuple[str, object, object]]:
    found = propose(*claims).get("fewer-devices", [])
    return [(each.steps[0].subject, each.steps[0].before, each.steps[0].after) for each in found]


class TestFewer:
    @pytest.mark.parametrize(
        ("count", "expected"),
        [
            (1, []),
            (2, [1]),
            (3, [2, 1]),
            (8, [7, 6, 5, 4, 3, 2, 1]),
            (9, [8, 6, 4, 2, 4, 2, 1]),
            (32, [31, 24, 16, 8, 4, 2, 1]),
            (33, []),
        ],
    )
    def test_smaller_counts_are_tried_the_largest_first(self, count: int, expected: list[int]):
        found = fewer(own_claim(exactly("gpu", count, name="r"), name="c"))
        assert found == [("request r of claim c", count, each) for each in expected]

    def test_each_request_of_each_claim_by_itself(self):
        one = own_claim(exactly("gpu", 1, name="a"), exactly("gpu", 2, name="b"), name="c")
        two = own_claim(exactly("gpu", 3, name="x"), name="d")
        found = propose(one, two)["fewer-devices"]
        assert [each.steps[0].subject for each in found] == [
            "request b of claim c", "request x of claim d", "request x of claim d",
        ]  # fmt: skip
        content = found[0].change.content
        assert content is not None
        assert content.claims[1] == two
        counts = [
            each["exactly"]["count"] for each in json.loads(content.claims[0].spec)["devices"]["requests"]
        ]
        assert counts == [1, 1]
        last = found[-1].change.content
        assert last is not None
        assert last.claims[0] == one
        assert json.loads(last.claims[1].spec)["devices"]["requests"][0]["exactly"]["count"] == 1

    @pytest.mark.parametrize(
        "claim",
        [
            own_claim(exactly("gpu", 0)),
            own_claim({"name": "r", "firstAvailable": [{"name": "s", "count": 4}]}),
            TaskClaim("c", claim="ns/existing"),
            TaskClaim("c", spec="{"),
            TaskClaim("c", spec='{"devices": {"requests": 3}}'),
            TaskClaim(
                "c", spec='{"devices": {"requests": [3, {"exactly": 4}, {"exactly": {"count": "2"}}]}}'
            ),
        ],
    )
    def test_what_states_no_number_has_no_smaller_one(self, claim: TaskClaim):
        assert fewer(claim) == []


GPU = device("d0", attributes={"model": "a"}, capacity={"m": {"value": "1"}})


def more(slices: list[dict[str, Any]], *claims: TaskClaim) -> list[tuple[str, object]]:
    found = propose(*claims, slices=slices).get("add-devices", [])
    assert all(each.steps[0].machine == "m" and each.steps[0].before is None for each in found)
    return [(each.steps[0].subject, each.steps[0].after) for each in found]


class TestMore:
    @pytest.mark.parametrize(
        ("counts", "numbers"),
        [
            ((1,), [1, 2]),
            ((3,), [1, 2, 3]),
            ((2, 3), [1, 2, 3, 5]),
            ((20, 30), [1, 2, 20, 30, 32]),
            ((4, 4), [1, 2, 4, 8]),
        ],
    )
    def test_numbers_are_those_of_the_claims_and_their_sum(self, counts: tuple[int, ...], numbers: list[int]):
        claims = [own_claim(exactly("gpu", count), name=f"c{n}") for n, count in enumerate(counts)]
        subject = "gpu.example.com/m/d0"
        assert more([slice_spec("m", [GPU])], *claims) == [(subject, number) for number in numbers]

    def test_who_asks_for_all_is_helped_by_some(self):
        assert [number for _, number in more([slice_spec("m", [GPU])], own_claim(exactly("gpu", 0)))] == [
            1,
            2,
        ]

    def test_they_are_in_a_pool_of_their_own_and_like_the_first(self):
        found = propose(own_claim(exactly("gpu", 1)), slices=[slice_spec("m", [{**GPU, "taints": [1]}])])
        ((name, spec),) = found["add-devices"][1].change.slices
        assert name == "m-more"
        alike = {"attributes": GPU["attributes"], "capacity": GPU["capacity"]}
        assert spec == {
            "driver": "gpu.example.com", "nodeName": "m",
            "pool": {"name": "m-more", "generation": 1, "resourceSliceCount": 1},
            "devices": [{**alike, "name": "more-0"}, {**alike, "name": "more-1"}],
        }  # fmt: skip
        assert found["add-devices"][0].change.content is not None

    def test_two_that_differ_are_enough_and_equal_ones_count_once(self):
        devices = [GPU, {**GPU, "name": "d1"}, device("d2", attributes={"model": "b"}), device("d3")]
        found = more([slice_spec("m", devices)], own_claim(exactly("gpu", 1)))
        assert [subject for subject, _ in found] == ["gpu.example.com/m/d0"] * 2 + [
            "gpu.example.com/m/d2"
        ] * 2

    def test_shared_ones_differ_from_others(self):
        devices = [GPU, {**GPU, "name": "d1", "allowMultipleAllocations": True}]
        found = propose(own_claim(exactly("gpu", 1)), slices=[slice_spec("m", devices)])["add-devices"]
        ((_, spec),) = found[-1].change.slices
        assert found[-1].steps[0].subject.endswith("/d1")
        assert spec["devices"][0]["allowMultipleAllocations"] is True

    def test_those_that_use_counters_are_not_added_and_bad_slices_passed_over(self):
        part = {**GPU, "consumesCounters": [{}]}
        bad: list[dict[str, Any]] = [{}, {"driver": "d"}, {"driver": "d", "pool": None}]
        claim = own_claim(exactly("gpu", 1))
        assert more([slice_spec("m", [part])], claim) == []
        assert len(more([*bad, slice_spec("m", [part, {**GPU, "name": "d9"}])], claim)) == 2
        assert more([slice_spec("m", [])], claim) == []

    def test_without_claims_nothing_is_proposed(self):
        assert propose(slices=[slice_spec("m", [GPU])]) == {}


def test_kinds_of_cures():
    assert {*propose(own_claim(exactly("gpu", 2)), slices=[slice_spec("m", [GPU])])} == {
        CureKind.FEWER_DEVICES.value, CureKind.ADD_DEVICES.value,
    }  # fmt: skip


def test_slices_of_single_machines_by_machine():
    a, b = slice_spec("a", [GPU]), slice_spec("b", [])
    others = [slice_spec("x", [], allNodes=True), {"nodeName": ""}, {"nodeName": 3}]
    payloads = [json.dumps(each).encode() for each in (a, *others, b, a)]
    assert read_local_slices([*payloads, b"{", b"[]"]) == {"a": (a, a), "b": (b,)}
    assert read_local_slices([]) == {}
