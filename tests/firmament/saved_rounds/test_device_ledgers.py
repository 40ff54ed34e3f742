"""Rounds with claims of devices, saved and run again."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from cost_models.api.arrays import MalformedArraysError
from firmament.core.configuration import CoreConfiguration
from firmament.core.events import Event
from firmament.core.flow.problem import Assignments
from firmament.core.model import TaskClaim
from firmament.core.placement.outcome import no_timer
from firmament.core.rules.devices.ledger import DeviceLedger
from firmament.core.rules.devices.saving import restore_ledger
from firmament.saved_rounds.replaying import replay
from firmament.saved_rounds.saved_arrays import decode_arrays, encode_arrays
from firmament.saved_rounds.saving import decode_round, encode_round
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.firmament.saved_rounds.rounds import VERSIONS, record
from tests.support.core import machine, task_class, tasks, uids
from tests.support.devices import (
    DRIVER,
    claim_record,
    claim_spec,
    class_record,
    device,
    exactly,
    own_claim,
    slice_record,
)

KIND = 'device.attributes["gpu.example.com"].kind == "{}"'
SECRET = [{"opaque": {"driver": DRIVER, "parameters": {"key": "secret"}}}]
CONFIGURATION = CoreConfiguration()


def events(seed: int) -> list[Event]:
    """Machines with whole, shared and divided devices, some of them in use; and tasks that claim such."""
    draw = Random(seed)
    made: list[Event] = [class_record("gpu", config=SECRET), class_record("y", KIND.format("Y"))]
    for index in range(6):
        name = f"m{index}"
        made.append(machine(name, cpu=2000, labels={"rack": "ab"[index % 2]}))
        devices = [some_device(draw, number) for number in range(draw.randint(1, 4))]
        counters = [{"name": "c", "counters": {"slots": {"value": str(draw.randint(1, 4))}}}]
        made.append(slice_record(name, devices, sharedCounters=counters))
        if draw.random() < 0.5:
            of_first = has(name, devices[0])
            made.append(claim_record(f"ns/of-{name}", claim_spec(exactly("gpu")), of_first, f"u-{name}"))
    selector = {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "In", "values": ["a"]}]}]
    }
    made.append(slice_record("rack", [device("s0"), device("s1")], nodeSelector=selector))
    made.append(claim_record("ns/shared", claim_spec(exactly("y"))))
    on = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["m1"]}]}
    there = {**has("m1", device("gone")), "nodeSelector": {"nodeSelectorTerms": [on]}}
    made.append(claim_record("ns/there", claim_spec(exactly("gpu")), there, "elsewhere"))
    part: dict[str, Any] = {"capacity": {"requests": {"memory": "1500m"}}}
    claims: list[tuple[TaskClaim, ...]] = [
        (own_claim(exactly("gpu"), config=SECRET),),
        (own_claim(exactly("gpu", 2), constraints=[{"matchAttribute": f"{DRIVER}/numa"}]),),
        (
            own_claim(exactly("y", 1), name="a"),
            own_claim(exactly("gpu", 1, KIND.format("X"), **part), name="b"),
        ),
        (TaskClaim("c", claim="ns/shared"),),
        (TaskClaim("c", claim="ns/there"),),
        (own_claim(exactly("unknown")),),
        (),
    ]
    for number, each in enumerate(claims, start=1):
        made += tasks(
            number, *uids(f"t{number}-", draw.randint(1, 4)), content=replace(task_class(300), claims=each)
        )
    return made


def some_device(draw: Random, number: int) -> dict[str, Any]:
    attributes = {"kind": draw.choice("XY"), "numa": draw.randint(0, 1), "serial": f"s{draw.random()}"}
    more: dict[str, Any] = {"capacity": {"memory": {"value": str(draw.randint(1, 4))}}}
    if draw.random() < 0.3:
        more["allowMultipleAllocations"] = True
    elif draw.random() < 0.4:
        more["consumesCounters"] = [{"counterSet": "c", "counters": {"slots": {"value": "2"}}}]
    return device(f"d{number}", attributes=attributes, **more)


def has(pool: str, given: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {"request": "r", "driver": DRIVER, "pool": pool, "device": given["name"]}
    if given.get("allowMultipleAllocations"):
        result |= {"shareID": "share", "consumedCapacity": {"memory": "500m"}}
    return {"devices": {"results": [result]}}


@pytest.mark.parametrize("seed", range(8))
def test_a_saved_round_with_claims_comes_out_the_same(seed):
    files = encode_round(record(CONFIGURATION, events(seed)), VERSIONS)
    done = replay(decode_round(files), OrToolsSolver(), no_timer)
    assert (done.same, done.moved) == (True, 0)
    assert done.placed == done.then.placed > 0


def test_devices_decide_what_comes_out():
    saved = [decode_round(encode_round(record(CONFIGURATION, events(seed)), VERSIONS)) for seed in range(4)]
    without = [replace(each, problem=replace(each.problem, ledgers=())) for each in saved]
    assert not any(replay(each, OrToolsSolver(), no_timer).same for each in without)


@pytest.mark.parametrize("seed", range(8))
def test_a_ledger_answers_as_it_did(seed):
    problem = record(CONFIGURATION, events(seed)).snapshot.problem
    content = encode_arrays(problem, Assignments.empty())
    again, _ = decode_arrays(content)
    (mine,), (theirs,) = problem.ledgers, again.ledgers
    shape, at = (
        grid.ravel() for grid in np.indices((len(problem.requests), problem.machines), dtype=np.int64)
    )
    draw = Random(seed)
    mine, theirs = mine.copy(), theirs.copy()
    for _ in range(12):
        np.testing.assert_array_equal(mine.room_at(shape, at), theirs.room_at(shape, at))
        one = np.array([draw.randrange(len(shape))])
        ones = np.ones(1, dtype=np.int64)
        np.testing.assert_array_equal(
            mine.book(shape[one], at[one], ones), theirs.book(shape[one], at[one], ones)
        )
    assert isinstance(mine, DeviceLedger)
    assert isinstance(theirs, DeviceLedger)
    for each in range(len(problem.requests)):
        assert mine.find_fault(each) == theirs.find_fault(each)
        for (words, here), (same, there) in zip(
            mine.list_faults(each), theirs.list_faults(each), strict=True
        ):
            assert words == same
            np.testing.assert_array_equal(here, there)


def a_ledger() -> DeviceLedger:
    (ledger,) = record(CONFIGURATION, events(0)).snapshot.problem.ledgers
    assert isinstance(ledger, DeviceLedger)
    return ledger


def test_configurations_of_devices_are_not_saved():
    ledger = a_ledger()
    text = ledger.save()["content"].tobytes().decode()
    assert "d0" in text
    assert "secret" not in text


def test_what_is_no_ledger_is_refused():
    ledger = a_ledger()
    content = json.loads(ledger.save()["content"].tobytes())
    sizes = len(content["shapes"]), len(content["at"])

    def restore(*of: int, **changes: Any) -> None:
        text = json.dumps({**content, **changes}).encode()
        restore_ledger({"content": np.frombuffer(text, dtype=np.uint8)}, *(of or sizes))

    restore()
    places = [[["a"]]] * sizes[1]
    changed: list[dict[str, Any]] = [
        {"uses": []},
        {"shapes": [1] * sizes[0]},
        {"slices": {"m0": "{"}},
        {"places": places},
    ]
    for changes in changed:
        with pytest.raises(MalformedArraysError, match="content is no ledger of devices"):
            restore(**changes)
    with pytest.raises(MalformedArraysError, match="content is the ledger of another round"):
        restore(1, 1)
    with pytest.raises(KeyError, match="content"):
        restore_ledger({}, *sizes)
