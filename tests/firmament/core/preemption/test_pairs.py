"""Tasks of applications that have others evicted: limits hold for the places that they get."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from firmament.core.events import ClassDefined, Event, TasksBound, TasksSubmitted
from firmament.core.results import DeltaKind, RoundResult
from tests.cost_models.network_aware.scenes import (
    app_group,
    machines,
    pair_labels,
    records,
    running,
    topology,
)
from tests.firmament.core.placement.test_application_rounds import (
    BRIEF,
    NAMES,
    REGION,
    TOPOLOGY,
    WHERE,
    ZONE,
    Scene,
    chain,
    cost,
    link_loads,
    opened,
    scenes,
)
from tests.support.core import task_class

IMPORTANT = 10


def fillers(size: int, taken: dict[str, int], cpu: int = 500) -> list[Event]:
    """Unimportant tasks that leave no room on machines of ``size`` milli-cores of which so much is ``taken``."""
    events: list[Event] = [ClassDefined(90, task_class(cpu))]
    for row in range(len(WHERE)):
        name = f"n{row}"
        uids = tuple(f"filler-{name}-{index}" for index in range((size - taken.get(name, 0)) // cpu))
        events += [TasksBound(name, 90, uids, priority=-1)] if uids else []
    return events


def submitted(number: int, workload: str, count: int) -> list[Event]:
    uids = tuple(f"{workload}-{index}" for index in range(count))
    content = task_class(500, labels=pair_labels(workload))
    return [ClassDefined(number, content), TasksSubmitted(number, uids, priority=IMPORTANT)]


def where_placed(result: RoundResult) -> dict[str, str]:
    return {delta.uid: delta.machine for delta in result.deltas if delta.kind is DeltaKind.PLACE}


def test_an_application_takes_places_within_its_limits() -> None:
    app = app_group(["a", "b"], chain("a", "b", limit=4))
    events = [machines(WHERE, cpu=1500), records(TOPOLOGY, app), running(1, "b", ["n3"])]
    made = opened(*events, fillers(1500, {"n3": 500}), submitted(2, "a", 1), strictMaxNetworkCost=True)
    result = made.run_round()
    assert where_placed(result).keys() == {"a-0"}
    assert where_placed(result)["a-0"] in {"n3", "n5"}
    assert sum(delta.kind is DeltaKind.PREEMPT for delta in result.deltas) == 1


def test_a_limit_that_events_have_broken_during_the_round_evicts_nobody() -> None:
    app = app_group(["a", "b"], chain("a", "b", limit=4))
    made = opened(
        machines(WHERE, cpu=1500),
        records(TOPOLOGY, app),
        fillers(1500, {"n0": 500, "n4": 0}),
        [TasksBound("n0", 90, ("more",), priority=-1)],
        submitted(2, "a", 1),
        strictMaxNetworkCost=True,
    )
    opening = made.open_round()
    placement = opening.solve()
    [decided] = placement.evictions
    far = next(name for name in ("n0", "n3") if cost(name, f"n{decided.machine}") > 4)
    made.apply(running(3, "b", [far]))
    assert made.close_round(opening, placement).deltas == ()


@BRIEF
@given(scenes(), st.booleans(), st.booleans())
def test_limits_and_links_hold_for_places_that_others_leave(scene: Scene, both: bool, strict: bool) -> None:
    capacity = {
        level: {here: dict.fromkeys(row, scene.capacity) for here, row in pairs.items()}
        for level, pairs in (("region", REGION), ("zone", ZONE))
    }
    events = [
        machines(WHERE, cpu=1500),
        records(topology(REGION, ZONE, capacity), app_group(NAMES, scene.dependencies)),
    ]
    taken: dict[str, int] = {}
    for number, name in enumerate(NAMES, 1):
        events.append(running(number, name, scene.running.get(name, [])))
        for at in scene.running.get(name, []):
            taken[at] = taken.get(at, 0) + 500
        if scene.waiting.get(name):
            events.append(submitted(number, name, scene.waiting[name]))
    args = {"strictMaxNetworkCost": strict, "enforceBandwidth": not strict, "bothDirections": both}
    result = opened(*events, fillers(1500, taken), **args).run_round()
    pods = [(uid.split("-")[0], at, True) for uid, at in where_placed(result).items()]
    before = [(name, at, False) for name, on in scene.running.items() for at in on]
    pods += before
    if strict:
        for source, target, limit, _ in scene.dependencies:
            for ours, theirs in itertools.permutations(pods, 2):
                if (ours[0], theirs[0]) == (source, target) and (ours[2] or theirs[2]):
                    assert cost(ours[1], theirs[1]) <= max(limit, 1)
    else:
        loads = link_loads(scene, before)
        for link, load in link_loads(scene, pods).items():
            assert load <= max(scene.capacity, loads.get(link, 0))
