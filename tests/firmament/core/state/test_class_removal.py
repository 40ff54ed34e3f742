"""Classes that no number stands for and no task has are forgotten, and nobody notices."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.events import (
    BindingReport,
    ClassDefined,
    ClassRemoved,
    Event,
    InvalidEventError,
    MachineRemoved,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Requirement, TaskSelector, TaskTerm
from firmament.core.scheduler import Scheduler
from firmament.core.state.classes import LEAST_SURPLUS, ClassTable
from tests.support.core import Clock, machine, messages, placed, scheduler, task_class, tasks, uids
from tests.support.effort import examples


def throwaways(first: int, count: int = LEAST_SURPLUS) -> list[Event]:
    """Events after which so many classes have come, had a task, and gone."""
    events: list[Event] = []
    for number in range(first, first + count):
        uid = f"throwaway-{number}"
        events += tasks(number, uid, content=task_class(labels=(("app", uid),)))
        events += [TaskRemoved(uid), ClassRemoved(number)]
    return events


def rows(made: Scheduler) -> int:
    return len(made._cluster.classes.rows)


def test_unused_classes_go_in_bulk():
    made = scheduler(machine(), tasks(1, "kept"))
    made.apply(throwaways(2, LEAST_SURPLUS - 1))
    assert rows(made) == LEAST_SURPLUS
    made.apply(throwaways(1000, 1))
    assert rows(made) == 1
    assert placed(made.run_round()) == {"kept": "m"}


def test_the_table_stays_small_however_many_classes_come_and_go():
    made = scheduler(machine(), tasks(1, "kept"))
    for turn in range(50):
        made.apply(throwaways(100 * (turn + 1)))
        made.run_round()
        assert rows(made) <= 2 * LEAST_SURPLUS
        assert len(made._cluster.classes.shapes) <= 2 * LEAST_SURPLUS


def test_tasks_keep_a_class_whose_number_is_gone():
    selector = TaskSelector(labels=(Requirement("app", "In", ("lonely",)),), namespaces=("",))
    lonely = task_class(
        labels=(("app", "lonely"),), anti_affinity=(TaskTerm(topology_key="name", selector=selector),)
    )
    nodes = [machine(name, labels={"name": name}) for name in ("a", "b")]
    made = scheduler(*nodes, [ClassDefined(7, lonely), TasksBound("a", 7, ("first",))])
    made.apply([ClassRemoved(7), *throwaways(100)])
    assert rows(made) == 1
    made.apply(tasks(8, "second", content=lonely))
    assert placed(made.run_round()) == {"second": "b"}


def test_a_class_that_a_round_in_flight_looks_at_stays_until_it_is_closed():
    made = scheduler(machine(), tasks(1, "one"), tasks(2, *uids("two", 3), content=task_class(200)))
    opened = made.open_round()
    made.apply([TaskRemoved("one"), ClassRemoved(1), *throwaways(100)])
    assert rows(made) == LEAST_SURPLUS + 2
    result = made.close_round(opened, opened.solve())
    assert placed(result) == dict.fromkeys(uids("two", 3), "m")
    made.run_round()
    assert rows(made) == 1


def test_who_was_kept_off_is_told_that_a_task_has_gone_although_its_class_is_forgotten():
    """The task left another machine than the one that is free now: only its class says whom that concerns."""
    selector = TaskSelector(labels=(Requirement("app", "In", ("noisy",)),), namespaces=("",))
    quiet = task_class(2000, anti_affinity=(TaskTerm(topology_key="zone", selector=selector),))
    noisy = task_class(labels=(("app", "noisy"),))
    small, large = (machine(name, cpu=cpu, labels={"zone": "z"}) for name, cpu in (("s", 100), ("l", 2000)))
    made = scheduler(
        small,
        large,
        [ClassDefined(1, noisy), TasksBound("s", 1, ("loud",))],
        tasks(2, "waits", content=quiet),
    )
    assert "anti-affinity" in messages(made.run_round())["waits"]
    made.apply([TaskRemoved("loud"), ClassRemoved(1), *throwaways(100)])
    assert made.next_round_in() == 0.0
    assert placed(made.run_round()) == {"waits": "l"}


def test_numbers_may_be_given_again():
    made = scheduler(machine(), tasks(1, "one"))
    made.apply([ClassRemoved(1), *tasks(1, "other", content=task_class(999))])
    assert made._cluster.classes.content(1) == task_class(999)


@pytest.mark.parametrize(
    "events",
    [
        [ClassRemoved(5)],
        [ClassRemoved(1), ClassRemoved(1)],
        [ClassRemoved(1), TasksSubmitted(1, ("late",))],
        [ClassRemoved(1), TasksBound("m", 1, ("late",))],
    ],
    ids=["unknown", "twice", "submitted after", "bound after"],
)
def test_numbers_that_stand_for_nothing_are_refused(events):
    made = scheduler(machine(), tasks(1, "one"))
    with pytest.raises(InvalidEventError, match="task class"):
        made.apply(events)
    assert made._cluster.classes.content(1) is not None, "nothing was applied"


def test_equal_classes_share_a_row_until_the_last_number_goes():
    table = ClassTable()
    assert table.define(1, task_class()) == table.define(2, task_class()) == 0
    table.remove(1)
    assert table.forget(()).classes.tolist() == [0]
    table.remove(2)
    table.define(3, task_class(200))
    moved = table.forget(())
    assert moved.classes.tolist() == [-1, 0]
    assert moved.shapes.tolist() == [-1, 0]
    assert table.row(3) == 0
    assert table.define(4, task_class(200)) == 0


class _History:
    """A history told to two schedulers: to one of them also which classes are over, and of many that come and go."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.clock = Clock()
        nodes = [machine(f"m{i}", cpu=1000, labels={"name": f"m{i}"}) for i in range(4)]
        self.forgetful, self.mindful = (
            scheduler(*nodes, clock=self.clock),
            scheduler(*nodes, clock=self.clock),
        )
        self.numbers: list[int] = []
        self.alive: dict[str, int] = {}
        self.last = 0

    def step(self) -> None:
        self.random.choice((self.arrive, self.arrive, self.end, self.retire, self.turmoil, self.decide))()
        self.clock.advance(1.0)

    def arrive(self) -> None:
        """Tasks of a class that nobody has seen before, some with rules about those of others."""
        self.last += 1
        labels = (("app", str(self.last % 3)), ("run", str(self.last)))
        about = TaskSelector(
            labels=(Requirement("app", "In", (str(self.random.randrange(3)),)),), namespaces=("",)
        )
        rule = (TaskTerm(topology_key="name", selector=about),)
        content = task_class(self.random.choice((200, 400)), labels=labels)
        content = self.random.choice(
            (content, replace(content, affinity=rule), replace(content, anti_affinity=rule))
        )
        names = tuple(f"t{self.last}-{index}" for index in range(self.random.randint(1, 3)))
        self.numbers.append(self.last)
        self.alive |= dict.fromkeys(names, self.last)
        self.tell(tasks(self.last, *names, content=content, priority=self.random.choice((0, 0, 5))))

    def end(self) -> None:
        for uid in self.random.sample(sorted(self.alive), len(self.alive) // 2):
            del self.alive[uid]
            self.tell([TaskRemoved(uid)])

    def retire(self) -> None:
        """No task will refer to some numbers; some that exist still have them."""
        for number in self.random.sample(self.numbers, len(self.numbers) // 2):
            self.numbers.remove(number)
            self.forgetful.apply([ClassRemoved(number)])

    def turmoil(self) -> None:
        self.forgetful.apply(throwaways(self.last + 1))
        self.last += LEAST_SURPLUS
        name = f"m{self.random.randrange(4)}"
        self.tell([MachineRemoved(name)])
        self.tell([machine(name, cpu=1000, labels={"name": name})])

    def decide(self) -> None:
        opened = [each.open_round() for each in (self.forgetful, self.mindful)]
        self.random.choice((self.arrive, self.end, self.retire, self.turmoil))()
        results = [
            each.close_round(round_, round_.solve())
            for each, round_ in zip((self.forgetful, self.mindful), opened, strict=True)
        ]
        assert results[0].deltas == results[1].deltas
        assert messages(results[0]) == messages(results[1])
        for delta in results[0].deltas:
            bound = self.random.random() < 0.8
            for each in (self.forgetful, self.mindful):
                each.report([BindingReport(delta.uid, delta.machine, bound)])
        assert self.forgetful.next_round_in() == self.mindful.next_round_in()

    def tell(self, events: list[Event]) -> None:
        self.forgetful.apply(events)
        self.mindful.apply(events)


@settings(max_examples=examples(25, 5, slow=True))
@given(seed=st.integers(0, 2**32 - 1))
def test_rounds_are_the_same_as_if_nothing_were_forgotten(seed):
    history = _History(seed)
    for _ in range(25):
        history.step()
    history.decide()
