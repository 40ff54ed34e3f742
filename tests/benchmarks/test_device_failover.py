"""What the measurement of devices under kills looks for: devices that are given twice, lost, or missing."""

from __future__ import annotations

from random import Random

import pytest

from benchmarks.device_failover.claims import ClaimHistory
from benchmarks.device_failover.measure import find_disorder
from benchmarks.device_failover.workload import PLAIN, PLAIN_PER_NODE, Draws


def claim(name, *devices, users=(), gone=False):
    results = [{"driver": PLAIN, "pool": "n1", "device": each} for each in devices]
    status = {"allocation": {"devices": {"results": results}}} if results else {}
    return {
        "metadata": {"name": name},
        "status": {**status, "reservedFor": [{"uid": each} for each in users]},
    }


def pod(uid, node="n1"):
    return {"metadata": {"name": uid, "uid": uid}, "spec": {"nodeName": node} if node else {}}


@pytest.fixture
def history():
    return ClaimHistory()


def test_a_device_is_given_twice_if_its_first_claim_still_has_it(history):
    history.note(claim("a", "gpu-0"))
    history.note(claim("b", "gpu-0"))
    assert history.faults == [f"{PLAIN}/n1/gpu-0: a has it, and b gets it"]


@pytest.mark.parametrize("gone", [False, True])
def test_a_device_may_go_to_another_claim_once_it_is_free(history, gone):
    history.note(claim("a", "gpu-0", "gpu-1"))
    history.note(claim("a", *(["gpu-0", "gpu-1"] if gone else ["gpu-1"])), gone=gone)
    history.note(claim("b", "gpu-0"))
    assert history.faults == []
    assert history.given == 2


def test_pods_with_their_devices_are_in_order():
    assert find_disorder([pod("p"), pod("q")], [claim("a", "gpu-0", users=["p", "q"]), claim("b")]) == []


@pytest.mark.parametrize(
    ("claims", "wrong"),
    [
        ([], "p has no devices"),
        ([claim("a", "gpu-0", users=["p"]), claim("b", "gpu-1")], "b has devices for nobody"),
        ([claim("a", "gpu-0", users=["p", "gone"])], "a has devices of ['n1'] for a pod on None"),
        ([claim("a", users=["p"])], "a has devices of [] for a pod on n1"),
    ],
)
def test_what_is_lost_is_named(claims, wrong):
    assert find_disorder([pod("p")], claims) == [wrong]


def test_pods_never_want_more_than_any_order_of_placement_leaves_room_for():
    draws = Draws(3, Random(1))
    made = [draws.draw() for _ in range(100)]
    assert [] in made
    assert draws.count_wanted(PLAIN) == draws.room[PLAIN] < (PLAIN_PER_NODE - 1) * 3
    assert len(draws.fill()) == PLAIN_PER_NODE * 3 - draws.room[PLAIN]
    draws.forget("p0")
    assert draws.count_wanted(PLAIN) < PLAIN_PER_NODE * 3
