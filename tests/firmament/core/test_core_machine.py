"""Any interleaving of events, rounds, reports and restarts, judged by a ledger that counts from events alone.

Rounds are opened and closed in steps of their own, so anything may happen while one is solved. A second scheduler is
driven the same way and has to answer the same.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from cost_models.interface import CostModel
from cost_models.registry import load_model
from firmament.core.configuration import RoundOptions
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    Event,
    JobDefined,
    JobRemoved,
    MachineRemoved,
    MachineSampled,
    MachineSampleRemoved,
    MachineUpserted,
    RecordRemoved,
    RecordUpserted,
    TaskRemoved,
    TaskSampled,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import HostPort, Job, Machine, TaskClass
from firmament.core.rounds import OpenRound, Placement
from firmament.core.scheduler import Scheduler
from tests.support.effort import examples
from tests.support.histories.holding import CLOSED, HOLDS, RACK, SEATED, SEATS, WEIGHT, Holding
from tests.support.histories.ledger import ASSUMED, BOUND, PENDING, Ledger
from tests.support.histories.pair import make_scheduler

LONGER_THAN_ANY_BACKOFF = 100.0
MOST_ROUNDS = 60

PER_RACK = {"r0": 5, "r1": 9}
MACHINES = ("m0", "m1", "m2", "m3")
UIDS = tuple(f"t{number:02}" for number in range(24))
JOBS = ("", "", "a", "b")
CLASSES = {
    1: TaskClass((("cpu", 1),)),
    2: TaskClass((("cpu", 2), ("memory", 1))),
    3: TaskClass((("cpu", 1),), labels=((WEIGHT, "2"),)),
    4: TaskClass((("cpu", 1),), labels=((SEATED, "1"), (WEIGHT, "1"))),
    5: TaskClass((("memory", 2),), ports=(HostPort(80),)),
    6: TaskClass((("cpu", 4),), labels=((SEATED, "1"),)),
}
OPTIONS = RoundOptions(reserve_after_rounds=10**9, gang_seconds=30.0)

machines = st.builds(
    Machine,
    st.sampled_from(MACHINES),
    st.fixed_dictionaries(
        {"cpu": st.integers(1, 9), "memory": st.integers(0, 6), "pods": st.sampled_from([2, 9, 9])}
    ),
    labels=st.fixed_dictionaries(
        {},
        optional={
            RACK: st.sampled_from(["r0", "r1"]),
            HOLDS: st.sampled_from(["0", "2", "3", "5"]),
            SEATS: st.sampled_from(["0", "1", "2"]),
            CLOSED: st.just("yes"),
        },
    ).map(
        lambda labels: {
            key: value for key, value in labels.items() if key != CLOSED or labels.get(HOLDS) == "0"
        }
    ),
)
uids = st.tuples(st.integers(0, len(UIDS) - 1), st.integers(1, 7)).map(lambda run: UIDS[run[0] : sum(run)])
numbers = st.sampled_from(sorted(CLASSES))
jobs = st.sampled_from(JOBS)
priorities = st.sampled_from([0, 0, 0, 1, 2])
use = st.fixed_dictionaries({"cpu": st.floats(0, 8), "memory": st.floats(0, 6)})
submissions = st.builds(TasksSubmitted, numbers, uids, job=jobs, priority=priorities)
upserts = st.builds(MachineUpserted, machines)
of_tasks = st.one_of(
    submissions,
    submissions,
    st.builds(TasksBound, st.sampled_from(MACHINES), numbers, uids, job=jobs, priority=priorities),
    uids.map(lambda some: [TaskRemoved(uid) for uid in some]),
)
of_machines = st.one_of(upserts, upserts, st.builds(MachineRemoved, st.sampled_from(MACHINES)))
of_others = st.one_of(
    st.builds(JobDefined, st.builds(Job, st.sampled_from("ab"), min_members=st.integers(0, 5))),
    st.builds(JobRemoved, st.sampled_from("ab")),
    st.builds(MachineSampled, st.sampled_from(MACHINES), st.floats(900, 1100), use),
    st.builds(MachineSampleRemoved, st.sampled_from(MACHINES)),
    st.builds(TaskSampled, st.sampled_from(UIDS), st.floats(900, 1100), use),
    st.builds(
        RecordUpserted, st.just("RuntimeHistory"), st.just("p"), st.just(b'{"count": 1, "meanSeconds": 2}')
    ),
    st.just(RecordRemoved("RuntimeHistory", "p")),
)
events = st.one_of(of_tasks, of_tasks, of_tasks, of_machines, of_others)
batches = st.lists(events, min_size=1, max_size=5).map(
    lambda found: [event for each in found for event in (each if isinstance(each, list) else [each])]
)
configurations = st.tuples(
    st.sampled_from(["cpu_mem", "octopus", "sjf", "trivial"]),
    st.sampled_from(["holding", "holding", "both", "load_threshold", "none"]),
    st.booleans(),
)


def overlays(which: str) -> list[CostModel]:
    """Models beside the policy."""
    found: list[CostModel] = []
    if which in ("holding", "both"):
        found.append(Holding(PER_RACK))
    if which in ("load_threshold", "both"):
        found.append(load_model("load_threshold", {"usageThresholds": {"cpu": 70, "memory": 90}}))
    return found


class CoreMachine(RuleBasedStateMachine):
    """See the module."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.ledger = Ledger(PER_RACK)
        self.cores: list[Scheduler] = []
        self.opened: list[tuple[OpenRound, Placement]] = []
        self.made: tuple[str, str, bool] = ("cpu_mem", "none", True)

    @initialize(
        made=configurations,
        fleet=st.lists(upserts, min_size=2, max_size=5),
        first=st.lists(submissions, min_size=2, max_size=5),
    )
    def begin(self, made: tuple[str, str, bool], fleet: list[Event], first: list[Event]) -> None:
        self.made = made
        self.ledger.bounded = made[1] in ("holding", "both")
        self._new_cores([ClassDefined(number, content) for number, content in CLASSES.items()])
        self.ledger.apply([ClassDefined(number, content) for number, content in CLASSES.items()])
        self.apply([*fleet, *first])

    def _new_cores(self, told: list[Event]) -> None:
        policy, which, preemption = self.made
        options = OPTIONS if preemption else replace(OPTIONS, preemption=False)
        self.cores = [
            make_scheduler(clock=lambda: self.now, policy=policy, overlays=overlays(which), options=options)
            for _ in range(2)
        ]
        for core in self.cores:
            core.apply(told)

    # --- what happens --------------------------------------------------------------------------------------------

    @rule(batch=batches)
    def apply(self, batch: list[Event]) -> None:
        self.ledger.apply(batch)
        for core in self.cores:
            core.apply(batch)

    @rule(choice=st.integers(0, 20), bound=st.sampled_from([True, True, False]), retry=st.booleans())
    def report(self, choice: int, bound: bool, retry: bool) -> None:
        """A binding that was under way is done, or refused; who waits for others to go is not bound before."""
        assumed = [uid for uid in self.ledger.uids(ASSUMED) if not (bound and self._waits(uid))]
        if assumed:
            uid = assumed[choice % len(assumed)]
            self._tell(BindingReport(uid, self.ledger.tasks[uid].machine, bound=bound, retry=retry or bound))

    @rule(choice=st.integers(0, 20), goes=st.sampled_from([True, True, False]))
    def victim(self, choice: int, goes: bool) -> None:
        """Somebody who was told to go goes, or is not to be evicted."""
        leaving = [uid for uid in self.ledger.uids(BOUND) if self.ledger.tasks[uid].leaving]
        if leaving:
            uid = leaving[choice % len(leaving)]
            if goes:
                self.apply([TaskRemoved(uid)])
            else:
                self._tell(BindingReport(uid, self.ledger.tasks[uid].machine, bound=False))

    @rule(seconds=st.sampled_from([0.5, 2.0, 31.0, LONGER_THAN_ANY_BACKOFF]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def ask(self) -> None:
        """Questions change nothing."""
        assert len({core.next_round_in() for core in self.cores}) == 1
        for uid in [*self.ledger.uids(PENDING)[:1], *self.ledger.uids(BOUND)[:1]]:
            self.cores[0].explain(uid)

    @precondition(lambda self: not self.opened)
    @rule()
    def open_round(self) -> None:
        for core in self.cores:
            opened = core.open_round()
            self.opened.append((opened, opened.solve()))

    @precondition(lambda self: self.opened)
    @rule()
    def close_round(self) -> None:
        self._see_releases()
        results = [core.close_round(*opened) for core, opened in zip(self.cores, self.opened, strict=True)]
        self.opened.clear()
        first, second = results
        assert list(first.deltas) == list(second.deltas)
        assert (first.unscheduled, first.gangs, first.notes) == (
            second.unscheduled,
            second.gangs,
            second.notes,
        )
        self._see_releases()
        self.ledger.close(first.deltas)

    @precondition(lambda self: not self.opened)
    @rule(before=batches, meanwhile=batches, reported=st.integers(0, 20))
    def busy_round(self, before: list[Event], meanwhile: list[Event], reported: int) -> None:
        """What happens most: a round with events before and while it is solved, and reports after it."""
        self.apply(before)
        self.open_round()
        self.apply(meanwhile)
        self.close_round()
        for choice in range(reported % 4):
            self.report(choice + reported, bound=True, retry=True)

    @rule(really=st.sampled_from([False, False, False, True]))
    def restart(self, really: bool) -> None:
        """The scheduler ends, whatever it was about, and another one is told how things stand."""
        if really:
            self.opened.clear()
            self._new_cores(self.ledger.restart())

    def _tell(self, report: BindingReport) -> None:
        self.ledger.report(report)
        for core in self.cores:
            core.report([report])

    def _waits(self, uid: str) -> bool:
        return any(
            other in self.ledger.tasks and self.ledger.tasks[other].leaving
            for other in self.ledger.tasks[uid].awaits
        )

    # --- what must hold ------------------------------------------------------------------------------------------

    def _see_releases(self) -> None:
        for state in self.cores[0].task_states():
            if not state.machine and self.ledger.tasks[state.uid].state == ASSUMED:
                self.ledger.released(state.uid)

    @invariant()
    def lists_agree(self) -> None:
        if not self.cores:
            return
        self._see_releases()
        told = {
            each.uid: (each.state.replace("BACKOFF", PENDING), each.machine)
            for each in self.cores[0].task_states()
        }
        assert told == {uid: (task.state, task.machine) for uid, task in self.ledger.tasks.items()}
        counts = self.cores[0].counts()
        assert (counts.pending, counts.assumed, counts.bound) == tuple(
            len(self.ledger.uids(state)) for state in (PENDING, ASSUMED, BOUND)
        )
        for machine in self.cores[0].machine_states():
            for resource, free in machine.free.items():
                assert free == self.ledger.free(machine.name, resource)

    def teardown(self) -> None:
        """Rounds come to an end, and nobody waits who would fit."""
        if not self.cores:
            return
        if self.opened:
            self.close_round()
        self.now += LONGER_THAN_ANY_BACKOFF
        for _ in range(MOST_ROUNDS):
            if self.cores[0].next_round_in() != 0.0:
                break
            self.open_round()
            self.close_round()
            self.lists_agree()
        else:
            raise AssertionError("rounds go on without end")
        if self.made[1] == "none":
            self._check_nobody_left_behind()

    def _check_nobody_left_behind(self) -> None:
        states = {each.uid: each.state for each in self.cores[0].task_states()}
        for uid in self.ledger.uids(PENDING):
            task = self.ledger.tasks[uid]
            if states[uid] == PENDING and not task.held and not self.ledger.is_gang(task.job):
                assert not self._would_fit(uid), f"{uid} would fit"

    def _would_fit(self, uid: str) -> bool:
        if self.ledger.classes[self.ledger.tasks[uid].cls].ports:
            return False  # others may have the port
        wanted = {resource: n for resource, n in self.ledger.requests(uid).items() if n}
        return any(
            all(self.ledger.free(name, resource) >= n for resource, n in wanted.items())
            for name in self.ledger.machines
        )


def test_nothing_is_lost_doubled_or_overcommitted():
    run_state_machine_as_test(
        CoreMachine, settings=settings(max_examples=examples(60), stateful_step_count=30)
    )
