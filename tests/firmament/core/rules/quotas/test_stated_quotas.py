"""What records of quotas and flavors state, read field by field."""

from __future__ import annotations

import json
from typing import Any

import pytest

from firmament.core.model import MAX_QUANTITY, Taint
from firmament.core.rules.quotas.records import (
    MOST_DEEP,
    MOST_NAMES,
    STRATEGIES,
    FlavorGroup,
    QuotaPreemption,
    StatedFlavor,
    StatedQuota,
    read_flavors,
    read_quotas,
)


def read(**stated: Any) -> StatedQuota:
    return read_quotas({"q": json.dumps(stated).encode()})["q"]


def fault(**stated: Any) -> str:
    found = read(**stated)
    assert found == StatedQuota("q", found.parent, fault=found.fault)
    return found.fault


NEITHER = f"q cannot be read: preemption.strategies are not one or both of {', '.join(STRATEGIES)}"


class TestQuotas:
    def test_nothing_stated(self):
        assert read() == StatedQuota("q")
        found = StatedQuota("q")
        assert (found.weight, found.fair, found.strict, found.sparing, found.uncovered) == (
            1.0,
            False,
            False,
            False,
            False,
        )
        assert (found.evicts_first, found.evicts_before_borrowing, found.same_flavor) == (False, False, False)
        assert found.preemption == QuotaPreemption("Never", "Never", "Never", None, STRATEGIES, True)

    def test_groups_and_amounts(self):
        found = read(
            flavors=[{"resources": ["cpu", "memory"], "flavors": ["b", "a"]}, {"resources": ["gpu"], "flavors": ["c"]}],
            nominal={"b": {"cpu": 3, "memory": 0}}, borrowing={"a": {"cpu": 1}}, lending={"a": {"cpu": 2}},
            limit={"c": {"gpu": 4}}, guarantee={"c": {"gpu": 2**60}},
        )  # fmt: skip
        assert found.groups == (FlavorGroup(("cpu", "memory"), ("b", "a")), FlavorGroup(("gpu",), ("c",)))
        assert found.nominal == {("b", "cpu"): 3, ("b", "memory"): 0}
        assert (found.borrowing, found.lending) == ({("a", "cpu"): 1}, {("a", "cpu"): 2})
        assert (found.limit, found.guarantee) == ({("c", "gpu"): 4}, {("c", "gpu"): MAX_QUANTITY})
        assert read(nominal=None, flavors=[]) == StatedQuota("q")

    @pytest.mark.parametrize(
        ("stated", "field", "value"),
        [
            ({"weight": 0}, "weight", 0.0),
            ({"weight": 2.5}, "weight", 2.5),
            ({"fair": True}, "fair", True),
            ({"fair": 1}, "fair", False),
            ({"order": "StrictFIFO"}, "strict", True),
            ({"order": "BestEffortFIFO"}, "strict", False),
            ({"whenCanBorrow": "TryNextFlavor"}, "sparing", True),
            ({"whenCanBorrow": "MayStopSearch"}, "sparing", False),
            ({"whenCanPreempt": "MayStopSearch"}, "evicts_first", True),
            ({"whenCanPreempt": "TryNextFlavor"}, "evicts_first", False),
            ({"preference": "PreemptionOverBorrowing"}, "evicts_before_borrowing", True),
            ({"preference": "BorrowingOverPreemption"}, "evicts_before_borrowing", False),
            ({"podSetFlavors": "Same"}, "same_flavor", True),
            ({"podSetFlavors": "Any"}, "same_flavor", False),
            ({"reclaimable": False}, "reclaimable", False),
            ({"reclaimable": True}, "reclaimable", True),
            ({"uncovered": "allow"}, "uncovered", True),
            ({"uncovered": "refuse"}, "uncovered", False),
            ({"active": True}, "fault", ""),
        ],
    )
    def test_settings(self, stated: dict[str, Any], field: str, value: object):
        assert getattr(read(**stated), field) == value

    def test_preemption(self):
        given = {
            "within": "LowerOrNewerEqualPriority", "reclaim": "Any", "strategies": ["LessThanInitialShare"],
            "borrow": {"policy": "LowerPriority", "threshold": 7}, "beyondQuota": False,
        }  # fmt: skip
        assert read(preemption=given).preemption == QuotaPreemption(
            "LowerOrNewerEqualPriority", "Any", "LowerPriority", 7, ("LessThanInitialShare",), False
        )
        assert read(preemption=None).preemption == QuotaPreemption()
        assert read(preemption={"borrow": None, "strategies": None}).preemption == QuotaPreemption()

    @pytest.mark.parametrize(
        ("threshold", "kept"),
        [(None, None), (-5, -5), (2**31, 2**31), (2**40, 2**31), (-(2**31), -(2**31)), (-(2**40), -(2**31))],
    )
    def test_thresholds_are_priorities(self, threshold: int | None, kept: int | None):
        assert read(preemption={"borrow": {"threshold": threshold}}).preemption.threshold == kept

    @pytest.mark.parametrize(
        ("stated", "words"),
        [
            ({"active": False}, "q is inactive"),
            ({"active": None}, "q is inactive"),
            ({"active": False, "message": "closed"}, "closed"),
            ({"active": False, "message": 3}, "q cannot be read: message is no text"),
            ({"parent": 3}, "q cannot be read: parent is no text"),
            ({"flavors": {}}, "q cannot be read: a list is missing"),
            ({"flavors": [3]}, "q cannot be read: an object is missing"),
            ({"flavors": [{"resources": [3], "flavors": []}]}, "q cannot be read: a name is no text"),
            (
                {
                    "flavors": [
                        {"resources": ["cpu"], "flavors": ["a"]},
                        {"resources": ["cpu"], "flavors": ["b"]},
                    ]
                },
                "q cannot be read: flavors: two groups share resources",
            ),
            (
                {
                    "flavors": [
                        {"resources": ["cpu"], "flavors": ["a"]},
                        {"resources": ["gpu"], "flavors": ["a"]},
                    ]
                },
                "q cannot be read: flavors: two groups share flavors",
            ),
            ({"weight": -0.1}, "q cannot be read: weight is no number of 0 or more"),
            ({"weight": True}, "q cannot be read: weight is no number of 0 or more"),
            ({"weight": float("inf")}, "q cannot be read: weight is no number of 0 or more"),
            ({"order": "LIFO"}, "q cannot be read: order is none of BestEffortFIFO, StrictFIFO"),
            (
                {"nominal": {"a": {"cpu": True}}},
                "q cannot be read: nominal.a.cpu is no whole number of 0 or more",
            ),
            (
                {"lending": {"a": {"cpu": -1}}},
                "q cannot be read: lending.a.cpu is no whole number of 0 or more",
            ),
            (
                {"preemption": {"borrow": {"threshold": True}}},
                "q cannot be read: preemption.borrow.threshold must be a whole number (a priority)",
            ),
            (
                {"preemption": {"strategies": ["LessThanInitialShare"] * 2}},
                NEITHER,
            ),
        ],
    )
    def test_what_is_wrong_is_named(self, stated: dict[str, Any], words: str):
        assert fault(**stated) == words

    @pytest.mark.parametrize(("count", "refused"), [(MOST_NAMES, False), (MOST_NAMES + 1, True)])
    @pytest.mark.parametrize("what", ["resources", "flavors"])
    def test_there_are_not_too_many_names(self, what: str, count: int, refused: bool):
        group = {"resources": ["cpu"], "flavors": ["a"], what: [f"n{number}" for number in range(count)]}
        assert bool(read(flavors=[group]).fault) is refused
        assert MOST_NAMES == 256

    @pytest.mark.parametrize("payload", [b"{", b"[]", b"null", b"\xff"])
    def test_a_payload_that_is_no_object_has_a_fault(self, payload: bytes):
        assert read_quotas({"q": payload})["q"].fault.startswith("q cannot be read: ")


def below(*parents: str) -> dict[str, bytes]:
    """The quotas q0, q1, ..., each below the one named."""
    return {f"q{n}": json.dumps({"parent": parent}).encode() for n, parent in enumerate(parents)}


class TestTrees:
    def test_quotas_come_in_the_order_of_their_names(self):
        assert [*read_quotas({"b": b"{}", "a": b"{}"})] == ["a", "b"]
        assert read_quotas(below("", "q0"))["q1"].parent == "q0"

    def test_what_stands_above_must_exist(self):
        found = read_quotas(below("", "gone", "q1"))
        assert found["q0"].fault == ""
        assert found["q1"].fault == "gone, above q1, does not exist"
        assert found["q2"].fault == "gone, above q2, does not exist"

    def test_no_quota_is_below_itself(self):
        found = read_quotas(below("q1", "q0", "q0", "q3"))
        assert {found[name].fault for name in ("q0", "q1", "q2", "q3")} == {
            "q0 is below itself", "q1 is below itself", "q2 is below itself", "q3 is below itself",
        }  # fmt: skip

    @pytest.mark.parametrize(("deep", "refused"), [(MOST_DEEP, False), (MOST_DEEP + 1, True)])
    def test_trees_are_not_too_deep(self, deep: int, refused: bool):
        found = read_quotas(below("", *(f"q{n}" for n in range(deep - 1))))
        last = found[f"q{deep - 1}"]
        assert last.fault == (f"more than {MOST_DEEP} quotas stand above each other" if refused else "")
        assert found[f"q{deep - 2}"].fault == ""

    def test_a_faulty_quota_keeps_its_own_fault(self):
        payloads = {**below("gone"), "q1": b"{"}
        assert read_quotas(payloads)["q1"].fault == "q1 cannot be read: it is no JSON"


class TestFlavors:
    def read(self, **stated: Any) -> StatedFlavor | None:
        return read_flavors({"f": json.dumps(stated).encode()}).get("f")

    def test_labels_are_sorted_and_hard_taints_are_marks(self):
        found = self.read(
            labels={"b": "2", "a": "1"},
            taints=[
                {"key": "k", "value": "v", "effect": "NoSchedule"},
                {"key": "soft", "effect": "PreferNoSchedule"},
                {"effect": "NoExecute", "other": "x"},
            ],
        )
        assert found == StatedFlavor(
            (("a", "1"), ("b", "2")), (Taint("k", "v", "NoSchedule"), Taint("", "", "NoExecute"))
        )
        assert self.read() == StatedFlavor()

    @pytest.mark.parametrize(
        ("toleration", "excused"),
        [
            ({"key": "k", "value": "v"}, True),
            ({"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}, True),
            ({"key": "k", "operator": "Exists"}, True),
            ({"operator": "Exists"}, True),
            ({"key": "k"}, False),
            ({"key": "k", "value": "w"}, False),
            ({"key": "j", "operator": "Exists"}, False),
            ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
            ({"key": "k", "operator": "Exists", "tolerationSeconds": 3}, True),
            ({"key": "k", "operator": "Exists", "value": 3}, True),
        ],
    )
    def test_what_a_flavor_tolerates_is_no_mark(self, toleration: dict[str, Any], excused: bool):
        found = self.read(
            taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}], tolerations=[toleration]
        )
        assert found is not None
        assert (found.marks == ()) is excused

    @pytest.mark.parametrize(
        "stated",
        [
            {"labels": {"a": 1}}, {"labels": []}, {"taints": {}}, {"taints": [3]}, {"taints": [{"key": "k"}]},
            {"taints": [{"key": "k", "effect": "Never"}]}, {"tolerations": [3]}, {"tolerations": {}},
        ],
    )  # fmt: skip
    def test_one_that_cannot_be_read_is_left_out(self, stated: dict[str, Any]):
        assert self.read(**stated) is None

    def test_they_come_in_the_order_of_their_names(self):
        assert [*read_flavors({"b": b"{}", "bad": b"[", "a": b"{}"})] == ["a", "b"]
