"""Who took the place of a task that stays pending: only tasks without which it would have had it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.configuration import WeightedModel
from firmament.core.events import ClassDefined, Event, JobDefined, TasksBound, TasksSubmitted
from firmament.core.model import HostPort, Job, TaskClass
from firmament.core.results import RoundResult
from firmament.core.scheduler import Scheduler
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import GIB, machine, messages, placed, scheduler, task_class, tasks, uids
from tests.support.effort import examples
from tests.support.histories.holding import Holding
from tests.support.rules import near

_LOST = re.compile(r"(\S+) had room until (.*?)(?: and (\d+) more)? took it in the same round\.")


@dataclass(frozen=True)
class Lost:
    """What a message says: which machine, who is named, and how many others are counted."""

    machine: str
    named: tuple[str, ...]
    others: int


def lost_places(result: RoundResult) -> dict[str, Lost]:
    """What each task that stays pending was told of who took its place."""
    found = {}
    for uid, message in messages(result).items():
        if (match := _LOST.search(message)) is not None:
            found[uid] = Lost(match[1], tuple(match[2].split(", ")), int(match[3] or 0))
    return found


def fits_without(
    events: list[Event], result: RoundResult, uid: str, machine_name: str, gone: tuple[str, ...]
) -> bool:
    """Whether a machine takes a task with all others where the round has put them, but for those that are gone."""
    where = placed(result)
    known: list[Event] = []
    for event in events:
        if not isinstance(event, TasksSubmitted):
            known.append(event)
            continue
        for each in event.uids:
            if each == uid:
                known.append(replace(event, uids=(each,), names=(), created=()))
            elif each in where and each not in gone:
                known.append(TasksBound(where[each], event.task_class, (each,), priority=event.priority))
    verdicts = {each.machine: each for each in scheduler(known).explain(uid).machines}
    return verdicts[machine_name].feasible


def flat(*events: Event | list[Event]) -> list[Event]:
    return [each for event in events for each in (event if isinstance(event, list) else [event])]


def test_a_bystander_is_not_named():
    events = flat(
        machine("m", cpu=4000),
        tasks(1, "small", content=task_class(100), priority=9),
        tasks(2, "large", content=task_class(3500), priority=9),
        tasks(3, "waits", content=task_class(2000)),
    )
    assert lost_places(scheduler(events).run_round()) == {"waits": Lost("m", ("large",), 0)}


def test_of_several_that_are_enough_the_least_important_is_named():
    events = flat(
        machine("m", cpu=4000),
        tasks(1, "first", content=task_class(1500), priority=9),
        tasks(2, "second", content=task_class(2000), priority=5),
        tasks(3, "waits", content=task_class(1000)),
    )
    assert lost_places(scheduler(events).run_round()) == {"waits": Lost("m", ("second",), 0)}


def test_the_machine_on_which_the_fewest_took_the_place_is_named():
    events = flat(
        machine("many", cpu=1000, extended={"a": 1}),
        machine("one", cpu=1000, extended={"b": 1}),
        tasks(1, "s0", "s1", "s2", "s3", content=TaskClass((("cpu", 250),), node_selector=()), priority=9),
        tasks(2, "big", content=TaskClass((("cpu", 1000), ("b", 1))), priority=9),
        tasks(3, "waits", content=task_class(1000)),
    )
    assert lost_places(scheduler(events).run_round()) == {"waits": Lost("one", ("big",), 0)}


def test_a_port_is_lost_to_who_listens_there():
    port = (HostPort(80, "TCP", "0.0.0.0"),)
    events = flat(
        machine("m"),
        tasks(1, "bystander", content=task_class(100), priority=9),
        tasks(2, "listens", content=task_class(100, ports=port), priority=9),
        tasks(3, "waits", content=task_class(200, ports=port)),
    )
    assert lost_places(scheduler(events).run_round()) == {"waits": Lost("m", ("listens",), 0)}


def test_nobody_has_taken_a_place_that_is_still_there():
    """A gang of three that finds two places: others have come to the machine, and it would take one more member."""
    events = flat(
        machine("m", cpu=1100),
        tasks(1, "other", content=task_class(100), priority=9),
        [
            JobDefined(Job("g", min_members=3)),
            ClassDefined(2, task_class(500)),
            TasksSubmitted(2, ("g0", "g1", "g2"), job="g"),
        ],
    )
    assert lost_places(scheduler(events).run_round()) == {}


def test_a_machine_to_which_more_came_is_named_if_fewer_of_them_took_the_place():
    def on(which: str, cpu: int) -> TaskClass:
        return TaskClass((("cpu", cpu), (which, 1)))

    events = flat(
        machine("few", cpu=1000, extended={"a": 9}),
        machine("many", cpu=3000, extended={"b": 9}),
        tasks(1, "a-0", "a-1", content=on("a", 500), priority=9),
        tasks(2, "b-0", "b-1", "b-2", content=on("b", 1000), priority=9),
        tasks(3, "waits", content=task_class(1000)),
    )
    assert lost_places(scheduler(events).run_round()) == {"waits": Lost("many", ("b-2",), 0)}


def running_out(cpu: int, waits: int, *came: tuple[str, int, int, int]) -> dict[str, Lost]:
    """What is told where tasks come to one machine: name, number, size and priority of each class."""
    classes = [
        tasks(number, *uids(name, count), content=task_class(size), priority=priority)
        for number, (name, count, size, priority) in enumerate(came, 10)
    ]
    events = flat(machine("m", cpu=cpu), *classes, tasks(3, "waits", content=task_class(waits)))
    return lost_places(scheduler(events).run_round())


def test_of_equal_tasks_those_that_have_waited_least_are_named():
    assert running_out(2000, 1000, ("t", 4, 500, 9)) == {"waits": Lost("m", ("t-2", "t-3"), 0)}


def test_two_are_named_and_the_others_counted():
    assert running_out(3000, 3000, ("t", 3, 1000, 9)) == {"waits": Lost("m", ("t-0", "t-1"), 1)}
    assert running_out(4000, 4000, ("t", 4, 1000, 9)) == {"waits": Lost("m", ("t-0", "t-1"), 2)}


def test_of_pairs_that_are_enough_the_one_without_the_most_important_task_is_named():
    came = (("a", 1, 500, 1), ("b", 2, 1000, 2), ("c", 1, 1500, 3))
    assert running_out(4000, 2000, *came) == {"waits": Lost("m", ("b-0", "b-1"), 0)}


def test_a_task_is_not_counted_twice():
    came = (("a", 1, 1000, 1), ("b", 1, 1500, 2), ("c", 1, 1500, 3))
    assert running_out(4000, 2000, *came) == {"waits": Lost("m", ("a-0", "b-0"), 0)}


def test_of_many_the_smallest_and_then_the_most_important_are_left_out():
    came = (("a", 3, 1000, 9), ("b", 2, 500, 9))
    assert running_out(4000, 3000, *came) == {"waits": Lost("m", ("a-0", "a-1"), 1)}
    came = (("c", 2, 1000, 9), ("d", 2, 1000, 5))
    assert running_out(4000, 3000, *came) == {"waits": Lost("m", ("d-0", "d-1"), 1)}


def test_of_machines_with_as_many_the_one_that_less_important_tasks_took_is_named():
    def on(which: str) -> TaskClass:
        return TaskClass((("cpu", 500), (which, 1)))

    events = flat(
        machine("first", cpu=1000, extended={"a": 2}),
        machine("second", cpu=1000, extended={"b": 2}),
        tasks(1, "low", content=on("a"), priority=1),
        tasks(2, "high", content=on("a"), priority=9),
        tasks(3, "b-0", "b-1", content=on("b"), priority=5),
        tasks(4, "waits", content=task_class(1000)),
    )
    assert lost_places(scheduler(events).run_round()) == {"waits": Lost("second", ("b-0", "b-1"), 0)}


def test_a_machine_to_which_nobody_came_is_named_only_if_there_is_no_other():
    """Who came to the last machine of the zone closes all of it."""
    zone: list[Event] = [
        machine(f"m{at}", cpu=100, labels={"zone": "z", "last": f"{at == 6}"}) for at in range(7)
    ]
    select_excluded_tasks = task_class(10, anti_affinity=near("first"))
    events = flat(
        zone,
        tasks(
            1,
            "first",
            content=task_class(10, labels=(("app", "first"),), node_selector=(("last", "True"),)),
            priority=9,
        ),
        tasks(2, "waits", content=select_excluded_tasks),
    )
    assert lost_places(scheduler(events).run_round()) == {"waits": Lost("m6", ("first",), 0)}


def test_tasks_of_other_namespaces_are_counted_but_not_named():
    def told(*names: str) -> str:
        large: list[Event] = [
            ClassDefined(1, task_class(1000)),
            TasksSubmitted(1, uids("t", len(names)), names=names, priority=9),
        ]
        waiting: list[Event] = [
            ClassDefined(2, task_class(1000 * len(names))),
            TasksSubmitted(2, ("w",), names=("ns/waits",)),
        ]
        result = scheduler([machine("m", cpu=1000 * len(names)), *large, *waiting]).run_round()
        return messages(result)["w"]

    assert told("ns/a").endswith(" m had room until ns/a took it in the same round.")
    assert told("other/a").endswith(" m had room until other pods of the same round were placed.")
    assert told("other/a", "ns/b").endswith(" m had room until ns/b and 1 more took it in the same round.")


@st.composite
def contended(draw: st.DrawFn) -> list[Event]:
    """Few machines, and more tasks of several kinds than they hold."""
    sizes = st.sampled_from([100, 400, 700, 1000, 1500])
    machines = [
        machine(
            f"m{index}",
            cpu=draw(st.sampled_from([1000, 2000, 3000])),
            memory=4 * GIB,
            pods=draw(pods),
            labels={"kubernetes.io/hostname": f"m{index}"},
        )
        for index, pods in enumerate([st.sampled_from([3, 110])] * draw(st.integers(1, 3)))
    ]
    events: list[Event] = [*machines]
    for number in range(draw(st.integers(2, 6))):
        content = task_class(
            draw(sizes),
            draw(st.sampled_from([0, GIB, 2 * GIB])),
            ports=(HostPort(80, "TCP", "0.0.0.0"),) if draw(st.integers(0, 4)) == 0 else (),
            labels=(("app", draw(st.sampled_from("ab"))),),
            anti_affinity=near("a", "kubernetes.io/hostname") if draw(st.integers(0, 4)) == 0 else (),
        )
        names = [f"t{number}-{index}" for index in range(draw(st.integers(1, 5)))]
        events += tasks(number, *names, content=content, priority=draw(st.integers(0, 3)))
    return events


@given(contended())
@settings(max_examples=examples(100), deadline=None)
def test_each_who_is_named_was_needed_and_all_of_them_are_enough(events: list[Event]):
    core: Scheduler = scheduler(events)
    result = core.run_round()
    where = placed(result)
    for lost, uid in {lost: uid for uid, lost in lost_places(result).items()}.items():
        assert {where[each] for each in lost.named} == {lost.machine}
        assert not fits_without(events, result, uid, lost.machine, ())
        if lost.others:
            continue
        assert fits_without(events, result, uid, lost.machine, lost.named)
        for each in lost.named:
            rest = tuple(other for other in lost.named if other != each)
            assert not fits_without(events, result, uid, lost.machine, rest)
        if len(lost.named) > 1:
            on_it = [each for each, name in where.items() if name == lost.machine]
            assert not any(fits_without(events, result, uid, lost.machine, (each,)) for each in on_it)


class TestSeats:
    """A cost model's ledger counts seats of machines; it gives nothing back, so others are booked anew."""

    SEATED = (("seated", ""),)

    def told(self, seats: int, *events: Event | list[Event]) -> dict[str, Lost]:
        with_seats = machine("m", labels={"seats": str(seats)})
        overlay = WeightedModel(Holding({}))
        return lost_places(scheduler(flat(with_seats, *events), overlays=[overlay]).run_round())

    def test_a_place_is_lost_to_who_took_the_last_seat(self):
        told = self.told(
            1,
            tasks(1, "bystander", content=task_class(100), priority=9),
            tasks(2, "sits", content=task_class(200, labels=self.SEATED), priority=9),
            tasks(3, "waits", content=task_class(300, labels=self.SEATED)),
        )
        assert told == {"waits": Lost("m", ("sits",), 0)}

    def test_of_several_who_sit_the_least_important_is_named(self):
        told = self.told(
            2,
            tasks(1, "first", content=task_class(100, labels=self.SEATED), priority=9),
            tasks(2, "second", content=task_class(200, labels=self.SEATED), priority=5),
            tasks(3, "waits", content=task_class(300, labels=self.SEATED)),
        )
        assert told == {"waits": Lost("m", ("second",), 0)}

    def test_who_sits_is_not_named_to_a_task_that_needs_no_seat(self):
        told = self.told(
            3,
            tasks(1, "sits", content=task_class(100, labels=self.SEATED), priority=9),
            tasks(2, "large", content=task_class(3800), priority=9),
            tasks(3, "waits", content=task_class(2000)),
        )
        assert told == {"waits": Lost("m", ("large",), 0)}

    def test_both_are_named_where_one_took_the_seat_and_one_the_room(self):
        told = self.told(
            1,
            tasks(1, "sits", content=task_class(100, labels=self.SEATED), priority=9),
            tasks(2, "large", content=task_class(3800), priority=8),
            tasks(3, "waits", content=task_class(2000, labels=self.SEATED)),
        )
        assert told == {"waits": Lost("m", ("large", "sits"), 0)}

    def test_without_a_seat_from_the_start_no_place_is_lost(self):
        told = self.told(
            0,
            tasks(1, "other", content=task_class(100), priority=9),
            tasks(2, "waits", content=task_class(300, labels=self.SEATED)),
        )
        assert told == {}


class TestQuotas:
    """Machine m has room enough; queues may use so much of it."""

    def told(self, *events: Event | list[Event], cpu: int = 4000) -> dict[str, str]:
        """The last sentence of each message."""
        made = scheduler(flat(machine("m", cpu=cpu), flavor("any"), *events))
        return {
            uid: text.rpartition(" m had room ")[2]
            for uid, text in messages(made.run_round()).items()
            if " m had room " in text
        }

    def test_a_place_is_lost_to_who_used_the_quota(self):
        told = self.told(
            quota("team", {"any": {"cpu": 2000}}),
            tasks(1, "bystander", content=task_class(100), priority=9),
            tasks(2, "used", content=task_class(500, queue="team"), priority=9),
            tasks(3, "waits", content=task_class(2000, queue="team")),
        )
        assert told == {"waits": "until used took it in the same round."}

    def test_queues_below_one_root_use_each_other_s_quota(self):
        told = self.told(
            quota("all", {"any": {"cpu": 2000}}),
            quota("left", {"any": {"cpu": 0}}, parent="all"),
            quota("right", {"any": {"cpu": 0}}, parent="all"),
            tasks(1, "other", content=task_class(100), priority=9),
            tasks(2, "used", content=task_class(500, queue="left"), priority=9),
            tasks(3, "waits", content=task_class(2000, queue="right")),
        )
        assert told == {"waits": "until used took it in the same round."}

    def test_nobody_is_named_if_the_quota_was_used_on_another_machine(self):
        told = self.told(
            machine("n", cpu=500, labels={"small": "yes"}),
            quota("team", {"any": {"cpu": 2000}}),
            quota("rich", {"any": {"cpu": 9000}}),
            tasks(1, "bystander", content=task_class(100), priority=9),
            tasks(
                2,
                "used",
                content=task_class(500, queue="team", node_selector=(("small", "yes"),)),
                priority=9,
            ),
            tasks(3, "rich", content=task_class(700, queue="rich"), priority=9),
            tasks(4, "waits", content=task_class(2000, queue="team")),
        )
        assert told == {"waits": "until other pods of the same round were placed."}

    def test_who_has_quota_left_lost_room_alone(self):
        told = self.told(
            quota("team", {"any": {"cpu": 3500}}),
            tasks(1, "large", content=task_class(2500), priority=9),
            tasks(2, "used", content=task_class(500, queue="team"), priority=9),
            tasks(3, "waits", content=task_class(2000, queue="team")),
        )
        assert told == {"waits": "until large took it in the same round."}
