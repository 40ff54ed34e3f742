"""Rounds with applications: whole applications land together, and limits hold for everything that is placed."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cost_models.registry import load_model
from firmament.core.configuration import WeightedModel
from firmament.core.events import ClassDefined, Event, JobDefined, TasksSubmitted
from firmament.core.model import Job
from firmament.core.results import RoundResult
from firmament.core.scheduler import Scheduler
from tests.cost_models.network_aware.scenes import (
    app_group,
    machines,
    pair_labels,
    records,
    running,
    topology,
    waiting,
)
from tests.support.core import messages, placed, scheduler, task_class
from tests.support.effort import examples

FOUR_ZONES = [("r1", "z1"), ("r1", "z2"), ("r2", "z3"), ("r2", "z4")]
REGION = {"r1": {"r2": 20}, "r2": {"r1": 20}}
ZONE = {"z1": {"z2": 5}, "z2": {"z1": 5}, "z3": {"z4": 10}, "z4": {"z3": 10}}
TOPOLOGY = topology(REGION, ZONE)


def opened(*events: Event | list[Event], weight: int = 5, **args: bool) -> Scheduler:
    """A scheduler with the overlay, to which ``events`` have been applied."""
    return scheduler(*events, overlays=[WeightedModel(load_model("network_overhead", args), weight)])


def chain(*names: str, limit: int = 10_000, amount: int = 0) -> list[tuple[str, str, int, int]]:
    """Each depends on the next."""
    return [(source, target, limit, amount) for source, target in itertools.pairwise(names)]


def test_an_application_lands_together() -> None:
    app = app_group(["a", "b", "c"], chain("a", "b", "c"))
    made = opened(
        machines(FOUR_ZONES),
        records(TOPOLOGY, app),
        *(waiting(n, name, 2) for n, name in enumerate("abc", 1)),
    )
    result = made.run_round()
    assert len(set(placed(result).values())) == 1
    assert result.stats.pair_cost == 0.0


def test_without_the_overlay_it_does_not() -> None:
    made = scheduler(machines(FOUR_ZONES), *(waiting(n, name, 2) for n, name in enumerate("abc", 1)))
    result = made.run_round()
    assert len(set(placed(result).values())) == 4
    assert result.stats.pair_cost is None


def test_observing_steers_nothing() -> None:
    app = app_group(["a", "b", "c"], chain("a", "b", "c"))
    events = [
        machines(FOUR_ZONES),
        records(TOPOLOGY, app),
        *(waiting(n, name, 2) for n, name in enumerate("abc", 1)),
    ]
    watched, plain = opened(*events, observeOnly=True).run_round(), scheduler(*events).run_round()
    assert placed(watched) == placed(plain)
    assert watched.stats.pair_cost is not None
    assert watched.stats.pair_cost > 0
    assert watched.stats.cost == plain.stats.cost


@pytest.mark.parametrize(("both", "where"), [(True, "n2"), (False, "n0")])
def test_dependents_that_are_placed_count_in_both_directions(both: bool, where: str) -> None:
    """The pod that is depended on goes to its dependent, even if it is the first of the order's end."""
    app = app_group(["a", "b"], chain("a", "b"))
    made = opened(
        machines(FOUR_ZONES),
        records(TOPOLOGY, app),
        running(1, "a", ["n2"]),
        waiting(2, "b", 1),
        bothDirections=both,
    )
    assert placed(made.run_round()) == {"b-0": where}


def test_the_majority_vote_keeps_a_pod_waiting() -> None:
    app = app_group(["a", "b"], chain("a", "b", limit=4))
    made = opened(
        machines(FOUR_ZONES, cpu=600), records(TOPOLOGY, app), running(1, "b", ["n0"]), waiting(2, "a", 1)
    )
    result = made.run_round()
    assert placed(result) == {}
    assert (
        "3 node(s) did not meet the network requirements of most workload dependencies"
        in messages(result)["a-0"]
    )


def test_a_pending_pod_is_placed_once_its_dependency_has_moved() -> None:
    app = app_group(["a", "b"], chain("a", "b", limit=4))
    made = opened(
        machines(FOUR_ZONES, cpu=600), records(TOPOLOGY, app), running(1, "b", ["n0"]), waiting(2, "a", 1)
    )
    assert placed(made.run_round()) == {}
    made.apply(records(TOPOLOGY, app_group(["a", "b"], chain("a", "b", limit=5))))
    assert placed(made.run_round()) == {"a-0": "n1"}


def test_explain_is_upstreams() -> None:
    app = app_group(["a", "b"], chain("a", "b", limit=4))
    made = opened(machines(FOUR_ZONES), records(TOPOLOGY, app), running(1, "b", ["n0"]), waiting(2, "a", 1))
    said = {
        each.machine: next(model for model in each.models if model.model == "network_overhead")
        for each in made.explain("a-0").machines
    }
    assert [said[f"n{row}"].raw for row in range(4)] == [0, 5, 20, 20]
    assert [said[f"n{row}"].feasible for row in range(4)] == [True, False, False, False]
    assert said["n0"].score == 0
    assert [said[f"n{row}"].cost for row in range(4)] == [0, 25, 100, 100]
    assert said["n1"].details == ("b: 1 placed, cost 5, 0 satisfied and 1 violated by maxNetworkCost 4",)


@dataclass(frozen=True)
class Scene:
    """``dependencies`` between workloads a to d; pods ``waiting`` and ``running`` (with their machine)."""

    dependencies: list[tuple[str, str, int, int]]
    waiting: dict[str, int]
    running: dict[str, list[str]]
    capacity: int


NAMES = "abcd"
WHERE = [*FOUR_ZONES, ("r1", "z1"), ("r2", "z4")]


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    names = st.sampled_from(NAMES)
    pairs = draw(
        st.lists(st.tuples(names, names, st.sampled_from([0, 5, 10, 20]), st.integers(1, 3)), max_size=5)
    )
    nodes = st.sampled_from([f"n{row}" for row in range(len(WHERE))])
    return Scene(
        pairs,
        draw(st.dictionaries(names, st.integers(1, 4), min_size=1)),
        draw(st.dictionaries(names, st.lists(nodes, max_size=2))),
        draw(st.integers(0, 12)),
    )


def play(scene: Scene, **args: bool) -> tuple[Scheduler, RoundResult]:
    """One round of a scene on six machines of which each takes three pods."""
    capacity = {
        level: {here: dict.fromkeys(row, scene.capacity) for here, row in pairs.items()}
        for level, pairs in (("region", REGION), ("zone", ZONE))
    }
    events = [
        machines(WHERE, cpu=1500),
        records(topology(REGION, ZONE, capacity), app_group(NAMES, scene.dependencies)),
    ]
    for number, name in enumerate(NAMES, 1):
        events.append(running(number, name, scene.running.get(name, [])))
        if scene.waiting.get(name):
            events.append(waiting(number, name, scene.waiting[name]))
    made = opened(*events, **args)
    return made, made.run_round()


def standing(scene: Scene, result: RoundResult) -> list[tuple[str, str, bool]]:
    """Workload and machine of every pod after a round, and whether it was placed in it."""
    now = [(uid.split("-")[0], where, True) for uid, where in placed(result).items()]
    return now + [(name, where, False) for name, on in scene.running.items() for where in on]


def cost(here: str, there: str) -> int:
    """Between two machines, 1 in a zone."""
    (region, zone), (other_region, other_zone) = WHERE[int(here[1:])], WHERE[int(there[1:])]
    if region != other_region:
        return REGION[region][other_region]
    return 1 if zone == other_zone else ZONE[zone][other_zone]


BRIEF = settings(max_examples=examples(40))


@BRIEF
@given(scenes(), st.booleans())
def test_strict_limits_are_never_exceeded(scene: Scene, both: bool) -> None:
    _, result = play(scene, strictMaxNetworkCost=True, bothDirections=both)
    pods = standing(scene, result)
    for source, target, limit, _ in scene.dependencies:
        for ours, theirs in itertools.permutations(pods, 2):
            if (ours[0], theirs[0]) == (source, target) and (ours[2] or theirs[2]):
                assert cost(ours[1], theirs[1]) <= max(limit, 1)


@BRIEF
@given(scenes(), st.booleans())
def test_links_are_never_overfilled(scene: Scene, both: bool) -> None:
    _, result = play(scene, enforceBandwidth=True, bothDirections=both)
    before = link_loads(scene, [pod for pod in standing(scene, result) if not pod[2]])
    after = link_loads(scene, standing(scene, result))
    for link, load in after.items():
        assert load <= max(scene.capacity, before.get(link, 0))


def link_loads(scene: Scene, pods: list[tuple[str, str, bool]]) -> dict[tuple[str, str], int]:
    """Load by the ends of a link: zones of one region, or regions."""
    loads: dict[tuple[str, str], int] = {}
    for source, target, _, amount in scene.dependencies:
        for ours, theirs in itertools.permutations(pods, 2):
            if (ours[0], theirs[0]) == (source, target):
                (region, zone), (other_region, other_zone) = (
                    WHERE[int(ours[1][1:])],
                    WHERE[int(theirs[1][1:])],
                )
                ends = (zone, other_zone) if region == other_region else (region, other_region)
                if ends[0] != ends[1]:
                    loads[ends] = loads.get(ends, 0) + amount
    return loads


@BRIEF
@given(scenes())
def test_without_limits_everything_that_fits_is_placed(scene: Scene) -> None:
    free = Scene([(a, b, 100, 0) for a, b, _, _ in scene.dependencies], scene.waiting, scene.running, 0)
    _, result = play(free)
    room = {}
    for row in range(len(WHERE)):
        before = sum(on.count(f"n{row}") for on in free.running.values())
        now = sum(where == f"n{row}" for where in placed(result).values())
        room[row] = max(0, 3 - before)
        assert now <= room[row]
    assert len(placed(result)) == min(sum(free.waiting.values()), sum(room.values()))


@BRIEF
@given(scenes())
def test_improvement_never_costs(scene: Scene) -> None:
    """With and without it as many are placed; the total cost is at most what it was."""
    free = Scene([(a, b, 100, 0) for a, b, _, _ in scene.dependencies], scene.waiting, scene.running, 0)
    plain, joint = play(free, jointImprovement=False)[1], play(free)[1]
    assert len(placed(joint)) == len(placed(plain))
    assert joint.stats.cost <= plain.stats.cost + 1


def test_equal_rounds_have_equal_results() -> None:
    scene = Scene(chain(*NAMES), dict.fromkeys(NAMES, 4), {"a": ["n3"]}, 0)
    assert placed(play(scene)[1]) == placed(play(scene)[1])


def test_a_limit_that_events_have_broken_during_the_round_keeps_the_pod_waiting() -> None:
    app = app_group(["a", "b"], chain("a", "b", limit=4))
    made = opened(machines(FOUR_ZONES), records(TOPOLOGY, app), waiting(1, "a", 1), strictMaxNetworkCost=True)
    opening = made.open_round()
    placement = opening.solve()
    made.apply(running(2, "b", ["n3"]))
    assert placed(made.close_round(opening, placement)) == {}
    assert placed(made.run_round()) == {"a-0": "n3"}


def test_a_gang_keeps_hard_limits() -> None:
    """Three pods that have to share a zone, of which none takes more than two."""
    app = app_group(["a"], [("a", "a", 4, 0)])
    for need, expected in ((3, 0), (2, 2)):
        content = task_class(1500, labels=pair_labels("a"))
        made = opened(
            machines([*WHERE[:2], WHERE[4]], cpu=1500),
            records(TOPOLOGY, app),
            [JobDefined(Job("gang", min_members=need)), ClassDefined(1, content)],
            [TasksSubmitted(1, tuple(f"a-{n}" for n in range(3)), job="gang")],
            strictMaxNetworkCost=True,
        )
        where = placed(made.run_round())
        assert len(where) == expected
        assert set(where.values()) <= {"n0", "n2"}
