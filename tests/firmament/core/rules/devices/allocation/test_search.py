"""The search for devices, against one that tries everything, and on shapes that make searches explode."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.model import Machine
from firmament.core.resources import ResourceIndex
from firmament.core.rules.devices.allocation.matching import DeviceSelectors
from firmament.core.rules.devices.allocation.plain_count import count_plainly
from firmament.core.rules.devices.allocation.search import (
    MOST_PICKS,
    SearchOutcome,
    ViewUse,
    find_devices,
)
from firmament.core.rules.devices.objects.requests import ClaimSpec, read_claim, read_class
from firmament.core.rules.devices.results import find_device
from firmament.core.rules.devices.usage import usage_of
from firmament.core.rules.devices.visible_devices import DeviceInventory, View
from firmament.core.state.machines import MachineTable
from tests.firmament.core.rules.devices.allocation.exhaustive import Chosen, find_any, is_valid
from tests.support.devices import claim_spec, device, exactly, slice_spec
from tests.support.effort import examples

CLASSES = {"gpu": read_class("gpu", b"{}")}


class Bench:
    """One machine ``a``, whose pools are given as specs of slices."""

    def __init__(self, slices: Sequence[Mapping[str, Any]], *, taken: Sequence[tuple[str, str]] = ()) -> None:
        self.inventory = DeviceInventory()
        self.inventory.update({f"s{number}": json.dumps(each).encode() for number, each in enumerate(slices)})
        self.machines = MachineTable(ResourceIndex())
        self.machines.upsert(Machine("a", {}))
        self.selectors = DeviceSelectors()
        self.taken = taken

    def see(self, claims: Sequence[ClaimSpec]) -> View:
        return self.inventory.see(self.machines, self.selectors.find_relevant(claims))[0]

    def find(self, *specs: Mapping[str, Any], most: int = MOST_PICKS) -> SearchOutcome:
        claims = tuple(read_claim(spec, CLASSES) for spec in specs)
        view = self.see(claims)
        use = usage_of(
            view,
            self.inventory.pools,
            lambda _, pool: ({name for where, name in self.taken if where == pool}, {}),
        )
        return find_devices(view.kind, use, claims, self.selectors, most)

    def name(self, *specs: Mapping[str, Any]) -> list[list[tuple[str, str, str]]] | None:
        """Request, pool and device of each result, by claim; None for none."""
        found = self.find(*specs)
        if found.picks is None:
            return None
        view = self.see([read_claim(spec, CLASSES) for spec in specs])
        named = []
        for claim in found.picks:
            places = [
                (pick.option.name, *find_device(view, pick.device, self.inventory.pools)) for pick in claim
            ]
            named.append([(request, pool.name, each.name) for request, pool, each in places])
        return named


def some_slices(draw: Random) -> list[dict[str, Any]]:
    slices = []
    for pool in ("p", "q")[: draw.randint(1, 2)]:
        counted = draw.random() < 0.4
        devices = []
        for number in range(draw.randint(1, 4)):
            attributes: dict[str, Any] = {"numa": draw.randint(0, 1)} if draw.random() < 0.9 else {}
            attributes |= {"kind": draw.choice("XY")}
            more: dict[str, Any] = {"capacity": {"memory": {"value": str(draw.randint(1, 3))}}}
            if draw.random() < 0.2:
                more["allowMultipleAllocations"] = True
            if counted and draw.random() < 0.7:
                use = {"counterSet": "c", "counters": {"slots": {"value": str(draw.randint(1, 2))}}}
                more["consumesCounters"] = [use]
            if draw.random() < 0.1:
                more["taints"] = [{"key": "k", "effect": draw.choice(["NoSchedule", "None"])}]
            devices.append(device(f"d{number}", attributes=attributes, **more))
        fields: dict[str, Any] = {"nodeName": "a"}
        if counted:
            fields["sharedCounters"] = [
                {"name": "c", "counters": {"slots": {"value": str(draw.randint(1, 4))}}}
            ]
        slices.append(slice_spec(pool, devices, **fields))
    return slices


def some_option(draw: Random) -> dict[str, Any]:
    expressions = [f'device.attributes["gpu.example.com"].kind == "{draw.choice("XY")}"'] * (
        draw.random() < 0.5
    )
    fields: dict[str, Any] = {"tolerations": [{"operator": "Exists"}]} if draw.random() < 0.2 else {}
    if draw.random() < 0.2:
        fields["capacity"] = {"requests": {"memory": str(draw.randint(1, 3))}}
    count = 0 if draw.random() < 0.1 and "capacity" not in fields else draw.randint(1, 2)
    return exactly("gpu", count, *expressions, **fields)["exactly"]


def some_claim(draw: Random) -> dict[str, Any]:
    requests: list[dict[str, Any]] = []
    for number in range(draw.randint(1, 2)):
        name = f"r{number}"
        if draw.random() < 0.3:
            requests.append(
                {"name": name, "firstAvailable": [{"name": f"s{n}", **some_option(draw)} for n in (0, 1)]}
            )
        else:
            requests.append({"name": name, "exactly": some_option(draw)})
    constraints = []
    if draw.random() < 0.4:
        kind = draw.choice(["matchAttribute", "distinctAttribute"])
        named: dict[str, Any] = {} if draw.random() < 0.6 else {"requests": ["r0"]}
        constraints.append({kind: "gpu.example.com/numa", **named})
    return claim_spec(*requests, constraints=constraints)


@settings(max_examples=examples(600), deadline=None)
@given(st.integers(0, 2**32))
def test_it_finds_devices_whenever_there_are_any_and_what_it_finds_is_right(seed: int):
    draw = Random(seed)
    slices, claims = some_slices(draw), [some_claim(draw) for _ in range(draw.randint(1, 2))]
    shared = {
        (each["pool"]["name"], d["name"])
        for each in slices
        for d in each["devices"]
        if d.get("allowMultipleAllocations")
    }
    names = sorted({(each["pool"]["name"], d["name"]) for each in slices for d in each["devices"]} - shared)
    taken = set(draw.sample(names, draw.randint(0, len(names) // 3)))
    for spec in slices:  # those that are taken have taken of the counters as well
        for each in spec["devices"]:
            if (spec["pool"]["name"], each["name"]) in taken:
                each.pop("consumesCounters", None)
    found = Bench(slices, taken=sorted(taken)).name(*claims)
    assert (found is not None) == find_any(slices, claims, taken)
    if found is not None:
        check_result(slices, claims, taken, found)


def check_result(
    slices: Sequence[Any], claims: Sequence[Any], taken: set[tuple[str, str]], found: Sequence[Any]
) -> None:
    """Hold what was found against the rules, by the code of the slow search."""
    devices = {(each["pool"]["name"], d["name"]): d for each in slices for d in each["devices"]}
    counters = {
        (each["pool"]["name"], key): int(value["value"])
        for each in slices
        for counters in each.get("sharedCounters", ())
        for key, value in counters["counters"].items()
    }
    choice = {}
    for number, (claim, results) in enumerate(zip(claims, found, strict=True)):
        chosen = []
        for request in claim["devices"]["requests"]:
            own = [each for each in results if each[0].partition("/")[0] == request["name"]]
            option = request.get("exactly")
            if option is None:
                sub = own[0][0].partition("/")[2]
                option = next(each for each in request["firstAvailable"] if each["name"] == sub)
            assert len(own) == option.get("count", len(own))
            chosen.append(Chosen(request["name"], option, tuple((pool, name) for _, pool, name in own)))
        choice[number] = chosen
    assert is_valid(choice, claims, devices, counters, taken)


def unlike(count: int, **fields: Any) -> list[dict[str, Any]]:
    """Devices that differ in a serial number."""
    return [
        device(
            f"d{number:02}",
            attributes={"serial": f"s{number}", **{k: v[number % len(v)] for k, v in fields.items()}},
        )
        for number in range(count)
    ]


@pytest.mark.parametrize(
    ("slices", "claims"),
    [
        ([slice_spec("p", unlike(8), nodeName="a")], [claim_spec(exactly("gpu", 9))]),
        ([slice_spec("p", unlike(30), nodeName="a")], [claim_spec(exactly("gpu", 2)) for _ in range(16)]),
        (
            [slice_spec("p", unlike(24, numa=[0, 1, 2]), nodeName="a")],
            [claim_spec(exactly("gpu", 9), constraints=[{"matchAttribute": "gpu.example.com/numa"}])],
        ),
        (
            [slice_spec("p", unlike(24, numa=[0, 1, 2]), nodeName="a")],
            [claim_spec(exactly("gpu", 4), constraints=[{"distinctAttribute": "gpu.example.com/numa"}])],
        ),
        (
            [slice_spec("p", unlike(16, numa=[0, 1]), nodeName="a")],
            [claim_spec(exactly("gpu", 3), constraints=[{"matchAttribute": "gpu.example.com/numa"}])] * 5,
        ),
    ],
)
def test_a_search_that_must_fail_ends_soon(slices: Any, claims: Any):
    found = Bench(slices).find(*claims, most=1_000)
    assert found.picks is None
    assert found.fault == ""


def test_the_first_devices_in_order_are_taken():
    bench = Bench([slice_spec("q", unlike(2), nodeName="a"), slice_spec("p", unlike(2), nodeName="a")])
    assert bench.name(claim_spec(exactly("gpu", 3))) == [
        [("r", "p", "d00"), ("r", "p", "d01"), ("r", "q", "d00")]
    ]


def test_the_first_alternative_that_can_be_had_is_taken():
    options = [
        exactly("gpu", count, name=name)["exactly"] | {"name": name}
        for name, count in (("four", 4), ("two", 2))
    ]
    claim = claim_spec({"name": "r", "firstAvailable": options})
    assert Bench([slice_spec("p", unlike(3), nodeName="a")]).name(claim) == [
        [("r/two", "p", "d00"), ("r/two", "p", "d01")]
    ]


def test_an_alternative_for_all_devices_is_passed_over_if_counters_run_out_before_a_constraint_fails():
    use = [{"counterSet": "c", "counters": {"slots": {"value": "2"}}}]
    devices = [device(f"d{n}", attributes={"numa": n}, consumesCounters=use) for n in (0, 1)]
    counters = [{"name": "c", "counters": {"slots": {"value": "2"}}}]
    listed = [{**exactly("gpu", count)["exactly"], "name": name} for name, count in (("all", 0), ("one", 1))]
    claim = claim_spec(
        {"name": "r", "firstAvailable": listed}, constraints=[{"matchAttribute": "gpu.example.com/numa"}]
    )
    bench = Bench([slice_spec("p", devices, nodeName="a", sharedCounters=counters)])
    assert bench.name(claim) == [[("r/one", "p", "d0")]]


def test_nothing_is_taken_of_a_pool_of_which_slices_are_missing():
    bench = Bench([slice_spec("p", unlike(2), nodeName="a", slices=2)])
    assert bench.name(claim_spec(exactly("gpu"))) is None
    assert bench.find(claim_spec(exactly("gpu", 0))).fault.startswith(
        "asks for all devices, but a resource pool is"
    )


def test_an_expression_without_an_answer_says_why():
    found = Bench([slice_spec("p", unlike(2), nodeName="a")]).find(
        claim_spec(exactly("gpu", 1, 'device.attributes["gpu.example.com"].nothing == 1'))
    )
    assert found.picks is None
    assert found.fault == "CEL runtime error: no such key: nothing"


def test_who_looks_at_what_others_have_takes_nothing_from_them():
    bench = Bench([slice_spec("p", unlike(1), nodeName="a")], taken=[("p", "d00")])
    assert bench.name(claim_spec(exactly("gpu"))) is None
    assert bench.name(claim_spec(exactly("gpu", adminAccess=True))) == [[("r", "p", "d00")]]


def test_a_task_that_claims_hundreds_of_devices_is_given_up():
    slices = [slice_spec(f"p{number:02}", unlike(40), nodeName="a") for number in range(30)]
    found = Bench(slices).find(*[claim_spec(exactly("gpu", 32))] * 32)
    assert found.picks is None
    assert found.fault == "the search for devices was given up"


@settings(max_examples=examples(100))
@given(st.randoms(use_true_random=False))
def test_what_is_counted_is_what_a_search_for_all_of_them_finds(draw: Random):
    devices = [
        device(
            f"d{number}",
            allowMultipleAllocations=draw.random() < 0.8,
            attributes={"kind": draw.choice("XY")},
            capacity={"memory": {"value": str(draw.randint(1, 4))}, "slots": {"value": "3"}},
        )
        for number in range(draw.randint(1, 4))
    ]
    bench = Bench([slice_spec("a", devices)])
    chosen = ['device.attributes["gpu.example.com"].kind == "X"'] * (draw.random() < 0.3)
    amounts = {"memory": str(draw.randint(1, 2)), "slots": "1"}
    asked = exactly("gpu", draw.randint(1, 3), *chosen, capacity={"requests": amounts})
    claim = read_claim(claim_spec(asked), CLASSES)
    view = bench.see([claim])
    # Somebody has parts already.
    held = {
        f"d{number}": {"memory": draw.randint(0, 1), "slots": 1}
        for number, each in enumerate(devices)
        if each["allowMultipleAllocations"] and draw.random() < 0.4
    }
    use = usage_of(view, bench.inventory.pools, lambda *_: (set(), held))
    counted = count_plainly(view.kind, use, (claim,), bench.selectors)
    assert counted is not None
    for more in range(1, 13):
        found = find_devices(view.kind, use, (claim,) * more, bench.selectors).picks
        assert (found is not None) == (more <= counted)


def test_what_only_a_search_tells_is_not_counted():
    bench = Bench([slice_spec("a", [device("d0"), device("d1")])])
    two = claim_spec(exactly("gpu"), exactly("gpu", name="more"))
    for spec in (two, claim_spec(exactly("gpu", 0)), claim_spec(exactly("gpu", adminAccess=True))):
        claim = read_claim(spec, CLASSES)
        view = bench.see([claim])
        assert count_plainly(view.kind, ViewUse(), (claim,), bench.selectors) is None
