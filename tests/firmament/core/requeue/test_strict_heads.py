"""Across rounds, nobody of a StrictFIFO queue gets a place before the first of the queue that waits."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from firmament.core.configuration import RoundOptions
from firmament.core.events import ClassDefined, Event, JobDefined, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.model import Job, JobGroup, TaskClass
from firmament.core.scheduler import Scheduler
from tests.firmament.core.queue.test_profile_turns import FILL, of_profiles, run_all
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import Clock, machine, messages, placed, scheduler, task_class, uids
from tests.support.effort import examples


def _class(cpu: int, queue: str = "team", kind: str = ""):
    return task_class(cpu, queue=queue, node_selector=(("kind", kind),) if kind else ())


def _submit(number: int, name: str, content: TaskClass, priority: int = 0) -> list[Event]:
    """A task; the higher the ``number``, the later it was created."""
    return [
        ClassDefined(number, content),
        TasksSubmitted(number, (name,), priority=priority, created=(100.0 * number,)),
    ]


def _gang(number: int, name: str, size: int, cpu: int, queue: str = "team", priority: int = 0) -> list[Event]:
    return [
        JobDefined(Job(name, size=size, min_members=size)),
        ClassDefined(number, _class(cpu, queue)),
        TasksSubmitted(number, uids(name, size), name, priority, created=(100.0 * number,) * size),
    ]


def _scene(order: str = "StrictFIFO", quota_cpu: int = 9000) -> Scheduler:
    return scheduler(
        machine("red", cpu=3000, labels={"kind": "red"}),
        machine("blue", cpu=3000, labels={"kind": "blue"}),
        flavor("any"),
        quota("team", {"any": {"cpu": quota_cpu}}, order=order),
        quota("other", {"any": {"cpu": 9000}}, order=order),
    )


def test_a_task_that_comes_later_waits_behind_the_first_that_fits_nowhere():
    core = _scene()
    core.apply(_submit(1, "large", _class(4000)))
    assert placed(core.run_round()) == {}
    core.apply([*_submit(2, "small", _class(1000)), *_submit(3, "other", _class(1000, "other"))])
    assert set(placed(core.run_round())) == {"other"}
    core.apply([TaskRemoved("large")])
    assert set(placed(core.run_round())) == {"small"}


def test_in_other_queues_later_tasks_do_not_wait():
    core = _scene("BestEffortFIFO")
    core.apply(_submit(1, "large", _class(4000)))
    core.run_round()
    core.apply(_submit(2, "small", _class(1000)))
    assert set(placed(core.run_round())) == {"small"}


def test_a_more_important_task_does_not_wait_behind_the_first():
    core = _scene()
    core.apply(_submit(1, "large", _class(4000)))
    core.run_round()
    core.apply(_submit(2, "urgent", _class(1000), priority=1))
    assert set(placed(core.run_round())) == {"urgent"}


def test_a_task_that_a_change_would_help_waits_behind_the_first():
    core = _scene()
    core.apply(_submit(1, "full", _class(3000, kind="blue")))
    assert set(placed(core.run_round())) == {"full"}
    core.apply(_submit(2, "large", _class(4000), priority=1))
    core.apply(_submit(3, "second", _class(3000, kind="blue")))
    assert placed(core.run_round()) == {}
    core.apply([TaskRemoved("full")])
    assert placed(core.run_round()) == {}, "the second could have the machine that is free now"


def test_a_gang_that_waits_is_not_passed_and_one_that_lacks_members_is():
    core = _scene()
    core.apply(_gang(1, "gang", 3, 2500))
    assert placed(core.run_round()) == {}
    core.apply([*_submit(2, "small", _class(1000), -1), *_gang(3, "late", 2, 100)])
    assert placed(core.run_round()) == {}
    incomplete = _scene()
    incomplete.apply(_gang(1, "gang", 3, 500))
    incomplete.apply([TaskRemoved("gang-2")])
    assert placed(incomplete.run_round()) == {}
    incomplete.apply(_submit(2, "small", _class(1000)))
    assert set(placed(incomplete.run_round())) == {"small"}


def test_a_task_that_its_queue_never_admits_holds_up_nobody():
    core = _scene()
    core.apply(_submit(1, "never", task_class(100, 1, queue="team")))  # the queue has no memory
    assert placed(core.run_round()) == {}
    core.apply(_submit(2, "small", _class(1000)))
    assert set(placed(core.run_round())) == {"small"}


def test_tasks_behind_a_head_are_tried_once_it_has_its_place():
    """What freed the head's machine says nothing of the machine that the other task could have all along."""
    core = _scene()
    core.apply(_submit(1, "full", _class(3000, kind="blue")))
    core.run_round()
    core.apply(_submit(2, "head", _class(3000, kind="blue"), priority=1))
    core.apply(_submit(3, "behind", _class(3000, kind="red")))
    assert placed(core.run_round()) == {}
    core.apply([TaskRemoved("full")])
    came = set(placed(core.run_round()))
    assert "head" in came
    while core.next_round_in() == 0:
        came |= set(placed(core.run_round()))
    assert came == {"head", "behind"}


def test_behind_a_head_that_fits_nowhere_rounds_do_not_go_on_and_on():
    core = _scene()
    core.apply([*_submit(1, "large", _class(4000)), *_submit(2, "small", _class(1000))])
    assert placed(core.run_round()) == {}
    assert core.next_round_in() is None
    core.apply(_submit(3, "late", _class(1000)))
    assert placed(core.run_round()) == {}
    assert core.next_round_in() is None


def test_a_gang_and_a_task_of_equal_priority_keep_their_order_within_a_round():
    core = _scene()
    core.apply([*_gang(1, "gang", 3, 2500), *_submit(2, "small", _class(1000))])
    came = dict[str, str]()
    for _ in range(4):
        came |= placed(core.run_round())
    assert came == {}
    assert core.next_round_in() is None
    core.apply([TaskRemoved(uid) for uid in uids("gang", 3)])
    assert set(placed(core.run_round())) == {"small"}


def test_what_a_withdrawn_place_leaves_free_goes_to_other_queues():
    """The small task takes the only place that is left before the first of its queue is found to have none."""
    core = scheduler(
        machine("red", cpu=3000),
        flavor("any"),
        quota("team", {"any": {"cpu": 9000}}, order="StrictFIFO"),
        quota("other", {"any": {"cpu": 9000}}),
        clock=Clock(),
    )
    core.apply(
        [
            *_gang(1, "gang", 2, 2000),
            *_submit(2, "small", _class(3000)),
            *_submit(3, "last", _class(3000, "other"), -1),
        ]
    )
    came = set(placed(core.run_round()))
    while core.next_round_in() == 0:
        came |= set(placed(core.run_round()))
    assert came == {"last"}


def test_pods_say_who_waits_before_them():
    core = _scene()
    core.apply(_submit(1, "large", _class(4000)))
    core.run_round()
    core.apply(_submit(2, "small", _class(1000)))
    assert (
        messages(core.run_round())["small"] == "quota: team admits in strict order, and large waits before it"
    )
    assert "small" not in messages(core.run_round()), "it is said once"


def test_the_first_of_a_queue_is_not_passed_by_one_of_another_profile():
    core = of_profiles(
        machine("red", cpu=3000),
        flavor("any"),
        quota("team", {"any": {"cpu": 9000}}, order="StrictFIFO"),
        _submit(1, "large", task_class(4000, queue="team", profile=FILL)),
        _submit(2, "small", task_class(1000, queue="team")),
        _submit(3, "other", task_class(1000, profile=FILL), -1),
    )
    assert {uid for each in run_all(core) for uid in placed(each)} == {"other"}
    core.apply([TaskRemoved("large")])
    assert {uid for each in run_all(core) for uid in placed(each)} == {"small"}


def test_a_task_that_waits_for_its_victims_does_not_hold_up_others():
    core = scheduler(
        *(machine(name, cpu=3000) for name in ("red", "blue")),
        flavor("any"),
        quota("team", {"any": {"cpu": 9000}}, order="StrictFIFO"),
        ClassDefined(8, task_class(3000)),
        TasksBound("red", 8, ("kept",), priority=9),
        TasksBound("blue", 8, ("victim",)),
        _submit(1, "head", _class(3000), 5),
    )
    core.run_round()
    core.apply([TaskRemoved("kept"), *_submit(2, "next", _class(3000), 5)])
    assert {uid: at for each in run_all(core) for uid, at in placed(each).items()} == {"next": "red"}


def test_a_task_behind_a_head_that_evicts_others_is_tried_once_more():
    core = scheduler(
        machine("big", cpu=5000),
        machine("small", cpu=2000),
        flavor("any"),
        quota("team", {"any": {"cpu": 9000}}, order="StrictFIFO"),
        ClassDefined(8, task_class(3000)),
        TasksBound("big", 8, ("victim",)),
        _submit(2, "late", _class(1000), 1),
        _submit(1, "head", _class(4000), 2),
    )
    core.run_round()
    assert {uid: at for each in run_all(core) for uid, at in placed(each).items()} == {"late": "small"}


def test_a_task_behind_a_head_that_is_removed_while_its_round_is_solved_is_tried_once_more():
    core = _scene()
    core.apply([*_submit(1, "large", _class(4000)), *_submit(2, "small", _class(1000))])
    opened = core.open_round()
    placement = opened.solve()
    core.apply([TaskRemoved("large")])
    came = set(placed(core.close_round(opened, placement)))
    assert came | {uid for each in run_all(core) for uid in placed(each)} == {"small"}


def test_a_gang_in_two_strict_queues_is_in_the_order_of_neither():
    core = _scene()
    core.apply(_submit(1, "large", _class(4000, "other")))
    core.run_round()
    core.apply(
        [
            JobDefined(Job("both", size=2, min_members=2)),
            ClassDefined(2, _class(500)),
            ClassDefined(3, _class(500, "other")),
            TasksSubmitted(2, ("a",), "both", created=(200.0,)),
            TasksSubmitted(3, ("b",), "both", created=(200.0,)),
        ]
    )
    assert {uid for each in run_all(core) for uid in placed(each)} == {"a", "b"}


def test_further_members_of_a_gang_that_has_enough_hold_up_nobody():
    """The gang may begin without the second group, of which one pod is missing."""
    groups = JobGroup("root", least=1), JobGroup("a", "root", 2), JobGroup("b", "root", 2)
    core = _scene()
    core.apply(
        [
            JobDefined(Job("gang", min_members=2, groups=groups)),
            ClassDefined(1, task_class(500, queue="team", group="a")),
            ClassDefined(2, task_class(500, queue="team", group="b")),
            TasksSubmitted(1, uids("a", 2), "gang", created=(100.0,) * 2),
            TasksSubmitted(2, ("b-0",), "gang", created=(100.0,)),
        ]
    )
    assert {uid for each in run_all(core) for uid in placed(each)} == set(uids("a", 2))
    core.apply(_submit(3, "small", _class(500)))
    assert {uid for each in run_all(core) for uid in placed(each)} == {"small"}


def test_no_machine_is_reserved_for_a_task_behind_a_head():
    core = _scene()
    core.apply([*_submit(1, "large", _class(4000)), *_submit(2, "small", _class(1000))])
    for number in range(3, 40):
        core.apply(_submit(number, f"p{number}", task_class(10)))
        core.run_round()
    tasks = core._cluster.tasks
    assert tasks.passed_over[tasks.row_of["small"]] == 0
    assert tasks.passed_over[tasks.row_of["large"]] > 0


# --- random histories -----------------------------------------------------------------------------------------------


@dataclass
class World:
    """Tasks and gangs in two strict queues, and a slow account of who waits before whom."""

    seed: int
    draw: random.Random = field(init=False)
    core: Scheduler = field(init=False)
    units: dict[str, tuple[str, tuple[int, int], tuple[str, ...]]] = field(default_factory=dict)
    """By name of a task or gang: its queue, its place in the order of the queue, and its uids."""
    bound: set[str] = field(default_factory=set)
    orderly: int = 0
    """How often somebody got a place before one that comes later and waits."""

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        self.core = scheduler(
            *(
                machine(f"m{n}", cpu=self.draw.randint(1, 6) * 1000, labels={"kind": kind})
                for n, kind in enumerate(("red", "blue", "red"))
            ),
            flavor("any"),
            quota("q0", {"any": {"cpu": self.draw.randint(2, 9) * 1000}}, order="StrictFIFO"),
            quota("q1", {"any": {"cpu": self.draw.randint(2, 9) * 1000}}, order="StrictFIFO"),
            clock=Clock(),
            options=RoundOptions(preemption=False),
        )

    def arrive(self, number: int) -> None:
        draw, name = self.draw, f"u{number}"
        queue, priority, cpu = draw.choice(("q0", "q1")), draw.randint(0, 1), draw.randint(1, 4) * 1000
        if draw.random() < 0.3:
            size = draw.randint(2, 3)
            self.core.apply(_gang(number, name, size, cpu, queue, priority))
            members = uids(name, size)
        else:
            content = _class(cpu, queue, draw.choice(("", "red", "blue")))
            self.core.apply(_submit(number, name, content, priority))
            members = (name,)
        self.units[name] = queue, (-priority, number), members

    def end(self) -> None:
        if self.bound:
            name = self.draw.choice(sorted(self.bound))
            self.bound.discard(name)
            _, _, members = self.units.pop(name)
            self.core.apply([TaskRemoved(uid) for uid in members])

    def run_round(self) -> None:
        came = set(placed(self.core.run_round()))
        for name, (_, _, members) in self.units.items():
            if came.intersection(members):
                assert came.issuperset(members), name
                self.bound.add(name)
        for name, (queue, place, _) in self.units.items():
            if name in self.bound:
                continue
            for other, (its_queue, its_place, its_members) in self.units.items():
                if its_queue == queue and came.intersection(its_members):
                    assert its_place < place, f"{other} passed {name}"
                    self.orderly += 1

    def check_nobody_is_left_behind(self) -> None:
        """Once rounds have come to rest, one that tries everybody places nobody else."""
        for _ in range(40):
            if self.core.next_round_in() != 0:
                break
            self.run_round()
        else:
            raise AssertionError("rounds go on and on")
        self.core.try_all_again()
        assert placed(self.core.run_round()) == {}


def test_nobody_passes_the_first_of_a_strict_queue_in_any_history():
    orderly = 0
    for seed in range(examples(300, least=60)):
        world = World(seed)
        for number in range(1, 13):
            for each in range(world.draw.randint(1, 2)):
                world.arrive(10 * number + each)
            if world.draw.random() < 0.5:
                world.end()
            world.run_round()
            if world.draw.random() < 0.3:
                world.check_nobody_is_left_behind()
        orderly += world.orderly
    assert orderly, "or nothing was tested"
