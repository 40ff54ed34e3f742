"""A model's own constraint between tasks holds in all that a round does, without a line of the solver that knows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.configuration import WeightedModel
from firmament.core.events import ClassDefined, Event, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.model import TaskClass
from firmament.core.results import DeltaKind
from firmament.core.scheduler import Scheduler
from tests.firmament.core.constraints.team_isolation import RACK, REASON, TEAM, TeamIsolation
from tests.support.core import machine, messages, placed, scheduler, task_class, uids
from tests.support.effort import examples

LIMIT = 2
RACKS = {"a": ("a0", "a1"), "b": ("b0", "b1"), "": ("free",)}
RACK_OF = {name: rack for rack, names in RACKS.items() for name in names}


def core(*events: Event | list[Event]) -> Scheduler:
    return scheduler(*events, overlays=[WeightedModel(TeamIsolation(LIMIT))])


def machines(cpu: int = 4000, names: Iterable[str] = RACK_OF) -> list[Event]:
    return [machine(name, cpu=cpu, labels={RACK: RACK_OF[name]} if RACK_OF[name] else {}) for name in names]


def of_team(team: str, cpu: int = 1000) -> TaskClass:
    return task_class(cpu, labels=((TEAM, team),))


def teams_on(where: Mapping[str, str], team_of: Mapping[str, str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for uid, name in where.items():
        if RACK_OF[name] and team_of[uid]:
            found.setdefault(RACK_OF[name], set()).add(team_of[uid])
    return found


def test_flows_are_admitted_by_it_and_nothing_is_left_that_fits():
    """Three teams on racks for two: each rack takes two, and all that their machines have room for."""
    events: list[Event] = [*machines(names=[*RACKS["a"], *RACKS["b"]])]
    for number, team in enumerate("xyz", 1):
        events += [ClassDefined(number, of_team(team)), TasksSubmitted(number, uids(team, 6))]
    result = core(events).run_round()
    where = placed(result)
    assert all(len(teams) <= LIMIT for teams in teams_on(where, {uid: uid[0] for uid in where}).values())
    assert len(where) == 16
    assert len(messages(result)) == 2


def test_who_waits_is_told_and_explained_why():
    made = core(
        machines(names=RACKS["a"]),
        [ClassDefined(number, of_team(team)) for number, team in enumerate("xyz", 1)],
        TasksBound("a0", 1, ("x",)),
        TasksBound("a1", 2, ("y",)),
        TasksSubmitted(3, ("z",)),
    )
    assert messages(made.run_round())["z"].startswith(f"0/2 nodes are available: 2 {REASON}.")
    assert {verdict.reasons for verdict in made.explain("z").machines} == {(REASON,)}
    assert all(verdict.feasible for verdict in made.explain("x").machines)


def test_who_sleeps_is_woken_when_a_team_has_left_the_rack():
    made = core(
        machines(names=RACKS["a"]),
        [ClassDefined(number, of_team(team)) for number, team in enumerate("xyz", 1)],
        [TasksBound("a0", 1, ("x",)), TasksBound("a1", 2, ("y",)), TasksSubmitted(3, ("z",))],
    )
    assert not placed(made.run_round())
    made.apply([TaskRemoved("x")])
    assert set(placed(made.run_round())) == {"z"}


def test_who_sleeps_is_woken_when_a_machine_elsewhere_changes_racks():
    made = core(
        machines(names=RACKS["a"]),
        [ClassDefined(number, of_team(team)) for number, team in enumerate("xyz", 1)],
        [TasksBound("a0", 1, ("x",)), TasksBound("a1", 2, ("y",)), TasksSubmitted(3, ("z",))],
    )
    assert not placed(made.run_round())
    made.apply([machine("a1", labels={RACK: "b"}, cordoned=True)])
    assert placed(made.run_round()) == {"z": "a0"}


def test_evictions_make_way_for_a_team():
    """The two tasks of one less important team on a machine go, not the one of the other."""
    made = core(
        machines(names=["a0"]),
        [ClassDefined(number, of_team(team, 100)) for number, team in enumerate("xyz", 1)],
        [TasksBound("a0", 1, ("x0", "x1"), priority=5), TasksBound("a0", 2, ("y",), priority=1)],
        TasksSubmitted(3, ("z",), priority=9),
    )
    deltas = made.run_round().deltas
    assert {(delta.kind, delta.uid) for delta in deltas} == {(DeltaKind.PREEMPT, "y"), (DeltaKind.PLACE, "z")}


def test_what_came_while_a_round_was_solved_counts():
    made = core(
        machines(names=RACKS["a"]),
        [ClassDefined(number, of_team(team)) for number, team in enumerate("wxyz", 1)],
        [TasksSubmitted(3, ("y",)), TasksSubmitted(4, ("z",))],
    )
    opened = made.open_round()
    placement = opened.solve()
    made.apply([TasksBound("a0", 1, ("w",))])
    assert len(placed(made.close_round(opened, placement))) == 1


@given(st.integers(0, 2**32))
@settings(max_examples=examples(60))
def test_it_holds_in_random_histories(seed: int):
    """Teams with rules of Kubernetes as well, priorities and evictions, events while rounds are solved."""
    random = Random(seed)
    contents = {
        number: of_team(random.choice("vwxyz"), random.choice((500, 1000, 2000)))
        if number < 6
        else task_class(500)
        for number in range(1, 8)
    }
    made = core(machines(random.choice((2000, 4000))), [ClassDefined(*each) for each in contents.items()])
    team_of: dict[str, str] = {}
    where: dict[str, str] = {}
    for turn in range(4):
        for part in range(random.randint(1, 5)):
            number = random.choice(sorted(contents))
            names = uids(f"{turn}-{part}", random.randint(1, 3))
            team_of.update(dict.fromkeys(names, dict(contents[number].labels).get(TEAM, "")))
            made.apply([TasksSubmitted(number, names, priority=random.randint(0, 2))])
        opened = made.open_round()
        placement = opened.solve()
        for uid in [uid for uid in where if random.random() < 0.2]:
            made.apply([TaskRemoved(uid)])
            del where[uid]
        gone = set()
        for delta in made.close_round(opened, placement).deltas:
            if delta.kind is DeltaKind.PREEMPT:
                gone.add(delta.uid)
            else:
                where[delta.uid] = delta.machine
        for uid in gone:
            made.apply([TaskRemoved(uid)])
            where.pop(uid, None)
        assert all(len(teams) <= LIMIT for teams in teams_on(where, team_of).values())
        made.apply([])
