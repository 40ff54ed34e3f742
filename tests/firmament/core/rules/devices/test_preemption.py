"""Tasks that lack devices evict less important ones that have some: as few as needed, and those that help."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.events import ClassDefined, Event, RecordRemoved, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.model import TaskClaim
from firmament.core.record_kinds import DEVICE_CLAIM_RECORD
from firmament.core.results import DeltaKind, RoundResult
from firmament.core.scheduler import Scheduler
from tests.firmament.core.rules.devices.test_rounds import with_claims
from tests.support.core import machine, messages, placed, scheduler
from tests.support.devices import (
    DRIVER,
    claim_record,
    claim_spec,
    class_record,
    device,
    exactly,
    list_devices,
    own_claim,
    slice_record,
)
from tests.support.effort import examples


def cluster(*machines: str, devices: int = 2, **fields: Any) -> Scheduler:
    made = scheduler()
    made.apply([*(machine(name, cpu=4000) for name in machines), class_record("gpu")])
    made.apply([slice_record(name, [device(f"d{n}", **fields) for n in range(devices)]) for name in machines])
    return made


def holder(uid: str, on: str, *devices: str, priority: int = 0, claim: str = "") -> list[Event]:
    """A task on a machine with devices there, by a claim of its own unless it shares one."""
    name = claim or f"ns/{uid}"
    results = [{"driver": DRIVER, "pool": on, "device": each, "request": "r"} for each in devices]
    spec = claim_spec(exactly("gpu", len(devices)))
    number = 100 + sum(map(ord, uid))
    return [
        claim_record(name, spec, {"devices": {"results": results}}, uid),
        ClassDefined(number, with_claims(TaskClaim("c", name))),
        TasksBound(on, number, (uid,), priority=priority),
    ]


def waiting(*uids: str, count: int = 1, priority: int = 10, number: int = 1) -> list[Event]:
    return [
        ClassDefined(number, with_claims(own_claim(exactly("gpu", count)))),
        TasksSubmitted(number, uids, priority=priority),
    ]


def evicted(result: RoundResult) -> set[str]:
    return {delta.uid for delta in result.deltas if delta.kind is DeltaKind.PREEMPT}


def test_a_task_gets_the_devices_of_a_less_important_one_once_it_is_gone():
    core = cluster("a")
    core.apply([*holder("low", "a", "d0"), *holder("mid", "a", "d1", priority=5), *waiting("top")])
    result = core.run_round()
    assert evicted(result) == {"low"}
    (delta,) = [each for each in result.deltas if each.kind is DeltaKind.PLACE]
    assert (delta.uid, delta.depends_on) == ("top", ("low",))
    assert list_devices(delta.allocations[0].allocation) == [("a", "d0")]
    core.apply([TaskRemoved("low"), RecordRemoved(DEVICE_CLAIM_RECORD, "ns/low")])
    assert not core.run_round().deltas


def test_tasks_without_devices_and_those_as_important_stay():
    core = cluster("a", devices=1)
    core.apply([ClassDefined(7, with_claims()), TasksBound("a", 7, ("plain",), priority=-5)])
    core.apply([*holder("peer", "a", "d0", priority=10), *waiting("top")])
    result = core.run_round()
    assert not evicted(result) | placed(result).keys()
    core.apply(waiting("king", priority=11, number=2))
    assert evicted(core.run_round()) == {"peer"}


def test_only_as_many_go_as_are_needed_and_the_least_important():
    core = cluster("a", devices=4)
    for n, priority in enumerate((3, 1, 2, 0)):
        core.apply(holder(f"v{n}", "a", f"d{n}", priority=priority))
    core.apply(waiting("top", count=2))
    assert evicted(core.run_round()) == {"v1", "v3"}


def test_several_come_to_one_machine_in_one_round():
    core = cluster("a", devices=4)
    for n in range(4):
        core.apply(holder(f"v{n}", "a", f"d{n}"))
    core.apply(waiting("t0", "t1", "t2"))
    result = core.run_round()
    assert len(evicted(result)) == 3
    allocated = [
        each
        for delta in result.deltas
        if delta.kind is DeltaKind.PLACE
        for each in list_devices(delta.allocations[0].allocation)
    ]
    assert len(set(allocated)) == len(allocated) == 3


def test_devices_that_do_not_match_free_nobody():
    core = cluster("a", devices=1)
    core.apply([class_record("big", f'device.attributes["{DRIVER}"].big')])
    core.apply([slice_record("a", [device("d0", attributes={"big": False})])])
    core.apply(holder("low", "a", "d0"))
    core.apply(
        [ClassDefined(1, with_claims(own_claim(exactly("big")))), TasksSubmitted(1, ("t",), priority=10)]
    )
    result = core.run_round()
    assert not result.deltas
    assert messages(result)["t"].startswith("0/1 nodes are available: 1 cannot allocate all claims.")


def test_a_claim_that_a_more_important_task_uses_too_frees_nothing():
    core = cluster("a", devices=1)
    core.apply(holder("low", "a", "d0", claim="ns/both"))
    results = {"devices": {"results": [{"driver": DRIVER, "pool": "a", "device": "d0", "request": "r"}]}}
    core.apply([claim_record("ns/both", claim_spec(exactly("gpu")), results, "low", "vip")])
    shared = with_claims(TaskClaim("c", "ns/both"))
    core.apply([ClassDefined(9, shared), TasksBound("a", 9, ("vip",), priority=50)])
    core.apply(waiting("top"))
    assert not core.run_round().deltas


def test_partitions_give_back_their_counters():
    counters = {"sharedCounters": [{"name": "s", "counters": {"m": {"value": "4"}}}]}

    def part(name: str, takes: int) -> dict[str, Any]:
        uses = [{"counterSet": "s", "counters": {"m": {"value": str(takes)}}}]
        return device(name, attributes={"size": takes}, consumesCounters=uses)

    core = cluster("a", devices=0)
    core.apply([class_record("whole", f'device.attributes["{DRIVER}"].size == 4')])
    core.apply([slice_record("a", [part("w", 4), part("h0", 2), part("h1", 2)], slices=2)])
    more = slice_record("a", (), slices=2, **counters)
    core.apply([type(more)(more.kind, "more", more.payload)])
    core.apply([*holder("x", "a", "h0"), *holder("y", "a", "h1", priority=20)])
    core.apply(
        [ClassDefined(1, with_claims(own_claim(exactly("whole")))), TasksSubmitted(1, ("t",), priority=10)]
    )
    assert not evicted(core.run_round())
    core.apply(
        [ClassDefined(2, with_claims(own_claim(exactly("whole")))), TasksSubmitted(2, ("u",), priority=30)]
    )
    assert evicted(core.run_round()) == {"x", "y"}


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 4)), max_size=4),
    st.integers(1, 4),
    st.integers(0, 5),
)
@settings(max_examples=examples(60), deadline=None)
def test_victims_are_a_smallest_worst_set_that_helps(
    holders: list[tuple[int, int]], wanted: int, priority: int
):
    """Against all subsets, on one machine of four devices."""
    core, first, there = cluster("a", devices=4), 0, []
    for number, (count, importance) in enumerate(holders):
        if first + count > 4:
            break
        names = [f"d{n}" for n in range(first, first + count)]
        core.apply(holder(f"v{number}", "a", *names, priority=importance))
        there.append((f"v{number}", count, importance))
        first += count
    core.apply(waiting("t", count=wanted, priority=priority))
    result = core.run_round()
    able = [
        chosen
        for size in range(len(there) + 1)
        for chosen in combinations(there, size)
        if all(each[2] < priority for each in chosen)
        and 4 - first + sum(each[1] for each in chosen) >= wanted
    ]
    assert ("t" in placed(result)) == bool(able)
    if able:
        gone = evicted(result)
        best = min(max((each[2] for each in chosen), default=-1) for chosen in able)
        assert max((each[2] for each in there if each[0] in gone), default=-1) == best
        assert _is_needed([each for each in there if each[0] in gone], 4 - first, wanted)


def _is_needed(gone: Sequence[tuple[str, int, int]], free: int, wanted: int) -> bool:
    """Return whether nobody of those who go could stay."""
    total = free + sum(each[1] for each in gone)
    return all(total - each[1] < wanted for each in gone)


def test_the_devices_of_a_preemptor_are_nobody_elses_meanwhile():
    core = cluster("a", devices=1)
    core.apply([*holder("low", "a", "d0"), *waiting("top")])
    assert evicted(core.run_round()) == {"low"}
    core.apply([TaskRemoved("low"), RecordRemoved(DEVICE_CLAIM_RECORD, "ns/low")])
    core.apply(waiting("late", priority=10, number=2))
    assert "late" not in placed(core.run_round())
