"""Which placements wait for others of their round, or of rounds before."""

from __future__ import annotations

from dataclasses import replace

from firmament.core.commit.placements import binding_dependencies
from firmament.core.constraints.ruleset import Attraction, ClassRules, Exclusion, RuleSet
from firmament.core.events import BindingReport, TasksSubmitted
from firmament.core.flow.problem import PlacementProblem
from firmament.core.reasons import Reason
from tests.support.core import machine, placed, problem, scheduler, task_class, tasks
from tests.support.rules import counter, ints, near, spreading

ZONE = [0, 0, 1, 2, -1]
LEADER, FOLLOWER, OTHER = range(3)


def with_rules(rules: RuleSet) -> PlacementProblem:
    """Three classes on five machines."""
    return replace(problem(tasks=[9] * 3, requests=[[1]] * 3, free=[[9]] * 5), rules=rules)


def followed(
    start: list[int] | None = None,
    settled: list[int] | None = None,
    unsettled: dict[tuple[int, int], str] | None = None,
) -> PlacementProblem:
    """Followers want to be where leaders are."""
    of = {
        LEADER: ClassRules(adds=(0,)),
        FOLLOWER: ClassRules(attraction=Attraction((0,), own=False, reason=Reason.NOT_NEAR)),
    }
    return with_rules(RuleSet([counter(ZONE, start, settled)], of, unsettled or {}))


def depends_on(given: PlacementProblem, *placements: tuple[int, int]) -> dict[int, tuple[str, ...]]:
    """Leaders of placements (class, machine), whose uids are t0, t1, ..."""
    cls, at = (ints(*(each[part] for each in placements)) for part in (0, 1))
    return binding_dependencies(given.rules, cls, at, [f"t{index}" for index in range(len(placements))])


def test_no_attraction():
    keeping_apart = ClassRules(
        adds=(0,), exclusions=(Exclusion(0, Reason.TOO_NEAR),), spreadings=(spreading(0, ZONE),)
    )
    assert depends_on(with_rules(RuleSet([counter(ZONE)], {0: keeping_apart})), (0, 0), (0, 2)) == {}
    assert depends_on(followed()) == {}


def test_a_follower_leans_on_the_first_in_its_domain():
    found = depends_on(
        followed(), (LEADER, 2), (LEADER, 0), (OTHER, 1), (LEADER, 1), (FOLLOWER, 1), (FOLLOWER, 2)
    )
    assert found == {4: ("t1",), 5: ("t0",)}


def test_one_settled_task_in_the_domain_is_enough():
    given = followed(start=[2, 1, 0], settled=[1, 0, 0], unsettled={(0, 1): "earlier"})
    found = depends_on(given, (LEADER, 0), (FOLLOWER, 0), (FOLLOWER, 2))
    assert found == {2: ("earlier",)}


def test_who_was_assumed_before_comes_before_those_of_the_round():
    given = followed(start=[0, 1, 0], settled=[0, 0, 0], unsettled={(0, 1): "earlier"})
    assert depends_on(given, (LEADER, 2), (FOLLOWER, 2)) == {1: ("earlier",)}


def test_a_group_leans_on_its_first():
    own = ClassRules(adds=(0,), attraction=Attraction((0,), own=True, reason=Reason.NOT_NEAR))
    given = with_rules(RuleSet([counter(ZONE)], {0: own}))
    assert depends_on(given, (0, 0), (0, 1), (0, 0)) == {1: ("t0",), 2: ("t0",)}


def test_several_terms_lean_on_the_leaders_of_each_once():
    of = {
        0: ClassRules(adds=(0,)),
        1: ClassRules(adds=(1, 2)),
        2: ClassRules(attraction=Attraction((0, 1, 2), own=False, reason=Reason.NOT_NEAR)),
    }
    counters = [counter(ZONE), counter([0, 1, 2, 3, 4]), counter([0] * 5)]
    given = with_rules(RuleSet(counters, of))
    assert depends_on(given, (0, 1), (1, 0), (2, 0)) == {2: ("t0", "t1")}


# --- as deltas -------------------------------------------------------------------------------------------------------


def test_followers_of_a_later_round_lean_on_a_leader_that_is_not_bound_yet():
    core = scheduler(
        machine("m", labels={"zone": "a"}),
        machine("n", labels={"zone": "b"}),
        tasks(1, "lead", content=task_class(labels=(("app", "lead"),), machine="m")),
    )
    assert placed(core.run_round()) == {"lead": "m"}
    core.apply(tasks(2, "one", content=task_class(affinity=near("lead"))))
    (delta,) = core.run_round().deltas
    assert (delta.machine, delta.depends_on) == ("m", ("lead",))
    core.report([BindingReport("lead", "m", bound=True)])
    core.apply([TasksSubmitted(2, ("two",))])
    (delta,) = core.run_round().deltas
    assert (delta.machine, delta.depends_on) == ("m", ())


def test_a_group_comes_out_with_its_first_in_front():
    own = task_class(labels=(("app", "web"),), affinity=near("web"))
    core = scheduler(
        *(machine(f"m{index}", labels={"zone": "ab"[index % 2]}) for index in range(4)),
        tasks(1, *(f"t{index}" for index in range(5)), content=own),
    )
    first, *others = core.run_round().deltas
    assert first.depends_on == ()
    assert [each.depends_on for each in others] == [(first.uid,)] * 4
    assert len({int(each.machine[1]) % 2 for each in (first, *others)}) == 1
