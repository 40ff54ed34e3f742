"""What a cluster keeps while somebody drives it, and while nobody does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator

import pytest

from firmament.core.configuration import CoreConfiguration
from firmament.core.events import BindingReport, ClassDefined, Event, TaskRemoved, TasksSubmitted
from firmament.core.few_tasks.first_costs import FirstCosts
from firmament.core.scheduler import Scheduler
from firmament.core.scoring.kept_rows import KeptRows
from firmament.saved_rounds.saving import RoundRecord
from firmament.server.access.fencing import GRACE_SECONDS, Fencing
from firmament.server.cluster import ServedCluster
from firmament.server.driver import (
    NoStateError,
    OrderError,
    StaleDriverError,
    StateLostError,
    SupersededError,
)
from firmament.solvers.base import FlowProblem, FlowSolution
from firmament.solvers.ortools_solver import OrToolsSolver
from firmament.wire.rounds import EncodedRound
from tests.support.core import Clock, machine, task_class

WORLD: list[Event] = [*(machine(f"m{index}") for index in range(4)), ClassDefined(1, task_class(100))]


class Quiet:
    """A driver that does nothing by itself."""

    def supersede(self, by_fencing: int) -> None:
        pass

    def deliver(self, result: EncodedRound) -> None:
        pass


class Setting:
    """A cluster each of whose states keeps rows in ``kept``, the latest last."""

    def __init__(self) -> None:
        self.kept: list[KeptRows] = []
        self.cluster = ServedCluster("c", self._scheduler)

    def _scheduler(self) -> Scheduler:
        self.kept.append(KeptRows(least_machines=0, asking=0))
        return Scheduler(
            configuration=CoreConfiguration(), solver=OrToolsSolver(), clock=Clock(), kept_rows=self.kept[-1]
        )

    def driven(self, fencing: int, events: Iterable[Event]) -> Quiet:
        """Return a driver whose snapshot is complete."""
        driver = Quiet()
        self.cluster.attach(driver, fencing)
        self.cluster.begin_snapshot(driver)
        self.cluster.apply(driver, list(events))
        self.cluster.end_snapshot(driver)
        return driver


def test_without_a_driver_a_state_keeps_what_questions_need_and_no_more():
    setting = Setting()
    driver = setting.driven(1, [*WORLD, TasksSubmitted(1, ("a", "b"))])
    assert setting.cluster.run_round() is not None
    assert setting.kept[0].nbytes
    setting.cluster.detach(driver)
    assert setting.kept[0].nbytes == 0
    assert setting.cluster.listing(with_tasks=False)[0].assumed == 2
    assert setting.cluster.explain("a").machine


def test_the_state_that_a_new_driver_replaces_keeps_no_rows_meanwhile():
    setting = Setting()
    former = setting.driven(1, [*WORLD, TasksSubmitted(1, ("a", "b"))])
    setting.cluster.run_round()
    newer = Quiet()
    assert setting.cluster.attach(newer, 2) is former
    assert setting.kept[0].nbytes == 0


def test_a_driver_that_was_replaced_takes_nothing_along():
    setting = Setting()
    former = setting.driven(1, WORLD)
    setting.driven(2, [*WORLD, TasksSubmitted(1, ("a",))])
    setting.cluster.run_round()
    setting.cluster.detach(former)
    assert setting.kept[1].nbytes


class Slow(list[Event]):
    """Events that take until somebody says so to be read."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.over = threading.Event(), threading.Event()

    def __iter__(self) -> Iterator[Event]:
        self.begun.set()
        assert self.over.wait(60)
        return super().__iter__()


def test_small_work_is_done_at_once_unless_somebody_has_the_lock_or_many_wait():
    setting = Setting()
    driver = setting.driven(1, WORLD)
    slow = Slow()

    def is_here() -> bool:
        return threading.current_thread() is threading.main_thread()

    async def ask() -> list[bool]:
        answers = [await setting.cluster.do(is_here, small=small) for small in (True, False)]
        applying = asyncio.create_task(asyncio.to_thread(setting.cluster.apply, driver, slow))
        await asyncio.to_thread(slow.begun.wait, 60)
        answers.append(await setting.cluster.do(is_here, small=True))
        slow.over.set()
        await applying
        setting.cluster.apply(driver, [TasksSubmitted(1, tuple(f"t{number}" for number in range(65)))])
        return [*answers, await setting.cluster.do(is_here, small=True)]

    assert asyncio.run(ask()) == [True, False, False, False]


class DirectSetting(Setting):
    """Rounds of a few tasks need no network, however few machines there are."""

    def _scheduler(self) -> Scheduler:
        return Scheduler(
            configuration=CoreConfiguration(),
            solver=OrToolsSolver(),
            clock=Clock(),
            first_costs=FirstCosts(least_machines=0),
        )


def test_after_a_round_without_a_network_the_next_is_run_at_once():
    setting = DirectSetting()
    cluster = setting.cluster
    driver = setting.driven(1, [*WORLD, TasksSubmitted(1, ("a",))])
    assert cluster.run_direct_round() is None, "nobody knows yet what rounds are like here"
    first = cluster.run_round()
    assert first is not None
    assert [delta.uid for delta in first.deltas] == ["a"]
    cluster.apply(driver, [TasksSubmitted(1, ("b",))])
    second = cluster.run_direct_round()
    assert second is not None
    assert (second.round, [delta.uid for delta in second.deltas]) == (2, ["b"])


def test_a_round_that_needs_a_network_is_not_run_at_once():
    setting = DirectSetting()
    cluster = setting.cluster
    driver = setting.driven(1, [*WORLD, TasksSubmitted(1, ("a",))])
    assert cluster.run_round() is not None
    cluster.apply(driver, [ClassDefined(2, task_class(10**9)), TasksSubmitted(2, ("huge",))])
    assert cluster.run_direct_round() is None
    result = cluster.run_round()
    assert result is not None
    assert [group.uids for group in result.unscheduled] == [("huge",)]
    assert result.round == 2
    cluster.apply(driver, [TasksSubmitted(1, ("b",))])
    assert cluster.run_direct_round() is None, "the last round had one"


def test_no_round_is_run_at_once_while_somebody_else_is_at_work_or_watches():
    setting = DirectSetting()
    cluster = setting.cluster
    driver = setting.driven(1, [*WORLD, TasksSubmitted(1, ("a",))])
    assert cluster.run_round() is not None
    cluster.apply(driver, [TasksSubmitted(1, ("b",))])
    with cluster._round_lock:
        assert cluster.run_direct_round() is None
    cluster.describe_flow(0, with_tasks=False)
    assert cluster.run_direct_round() is None


def test_rounds_are_numbered_on_over_all_states_of_a_cluster():
    setting = DirectSetting()
    cluster = setting.cluster
    for fencing in (1, 2, 3):
        driver = setting.driven(fencing, [*WORLD, TasksSubmitted(1, ("a",))])
        direct = cluster.run_round()
        assert direct is not None
        cluster.apply(driver, [TasksSubmitted(1, ("b", "c", "d"))])
        whole = cluster.run_round()
        assert whole is not None
        assert (direct.round, whole.round) == (2 * fencing - 1, 2 * fencing)
        assert cluster.listing(with_tasks=False)[0].rounds == 2 * fencing
        assert cluster.network()[1] == 2 * fencing
    assert [each.round for each in cluster.rounds(3)] == [4, 5, 6]


def test_placements_count_as_unreported_until_the_driver_reports_on_them():
    setting = DirectSetting()
    driver = Quiet()
    setting.cluster.attach(driver, 1)
    assert setting.cluster.count_unreported(driver) == 0
    driver = setting.driven(2, [*WORLD, TasksSubmitted(1, ("a", "b"))])
    result = setting.cluster.run_round()
    assert result is not None
    assert setting.cluster.count_unreported(driver) == 2
    setting.cluster.report(driver, [BindingReport("a", result.deltas[0].machine, bound=True)])
    setting.cluster.report(driver, [BindingReport("b", result.deltas[1].machine, bound=False)])
    assert setting.cluster.count_unreported(driver) == 0


@pytest.mark.parametrize("directly", [True, False])
def test_a_round_that_fails_while_it_takes_effect_loses_the_state(
    monkeypatch: pytest.MonkeyPatch, directly: bool
):
    setting = DirectSetting()
    content = task_class(100 if directly else 10**9)
    driver = setting.driven(1, [*WORLD, ClassDefined(2, content), TasksSubmitted(2, ("a",))])

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(Scheduler, "close_round", fail)
        with pytest.raises(ZeroDivisionError):
            setting.cluster.run_round()
    with pytest.raises(NoStateError, match="the snapshot of cluster 'c' is not complete yet"):
        setting.cluster.run_round()
    with pytest.raises(StateLostError, match="cluster 'c': the state is lost; send a new snapshot"):
        setting.cluster.next_round_in(driver)
    driver = setting.driven(2, [*WORLD, TasksSubmitted(1, ("a",))])
    assert setting.cluster.next_round_in(driver) == 0.0


def test_after_a_round_at_once_that_turns_out_to_need_a_network_none_is_tried():
    setting = DirectSetting()
    cluster = setting.cluster
    driver = setting.driven(1, [*WORLD, TasksSubmitted(1, ("a",))])
    cluster.run_round()
    cluster.apply(driver, [ClassDefined(2, task_class(10**9)), TasksSubmitted(2, ("huge",))])
    assert cluster.run_direct_round() is None
    cluster.apply(driver, [TaskRemoved("huge"), TasksSubmitted(1, ("b",))])
    assert cluster.run_direct_round() is None, "the next is decided by whoever runs whole rounds"
    assert cluster.run_round() is not None
    cluster.apply(driver, [TasksSubmitted(1, ("d",))])
    assert cluster.run_direct_round() is not None


def test_a_round_whose_state_is_replaced_while_it_is_solved_comes_to_nothing():
    setting = Setting()
    driver = setting.driven(1, [*WORLD, TasksSubmitted(1, ("a",))])

    class Interrupted(OrToolsSolver):
        def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
            setting.cluster.begin_snapshot(driver)
            setting.cluster.apply(driver, [*WORLD, TasksSubmitted(1, ("b",))])
            setting.cluster.end_snapshot(driver)
            return super().solve(problem, time_limit=time_limit)

    with setting.cluster.hold_still() as scheduler:
        scheduler.become_trial(Interrupted())
    assert setting.cluster.run_round() is None
    result = setting.cluster.run_round()
    assert result is not None
    assert [delta.uid for delta in result.deltas] == ["b"]


def test_an_older_driver_waits_for_the_one_that_has_gone_unless_that_one_has_said_goodbye():
    cluster = ServedCluster(
        "c", lambda: pytest.fail("no snapshot"), fencing=Fencing(lambda: 0.0, lambda: 0.0)
    )
    newer, older = Quiet(), Quiet()
    cluster.attach(newer, 2)
    cluster.end_grace_period()
    with pytest.raises(StaleDriverError, match="cluster 'c' is driven with fencing number 2; 1 is older"):
        cluster.attach(older, 1)
    cluster.detach(newer)
    with pytest.raises(StaleDriverError, match="cluster 'c' was driven with fencing number 2 until just now"):
        cluster.attach(older, 1)
    cluster.end_grace_period()
    assert cluster.attach(older, 1) is None


def test_an_older_driver_takes_over_once_the_one_that_has_gone_is_not_back_in_time():
    now = [0.0]
    cluster = ServedCluster(
        "c", lambda: pytest.fail("no snapshot"), fencing=Fencing(lambda: 0.0, lambda: now[0])
    )
    newer, older = Quiet(), Quiet()
    cluster.attach(newer, 2)
    cluster.detach(newer)
    now[0] = GRACE_SECONDS
    assert cluster.attach(older, 1) is None


def test_events_and_the_end_of_a_snapshot_need_its_beginning():
    setting = Setting()
    driver, stranger = Quiet(), Quiet()
    setting.cluster.attach(driver, 1)
    with pytest.raises(OrderError, match="events came before a snapshot; send SnapshotBegin first"):
        setting.cluster.apply(driver, WORLD)
    with pytest.raises(OrderError, match="SnapshotEnd came without SnapshotBegin; begin a snapshot first"):
        setting.cluster.end_snapshot(driver)
    setting.cluster.begin_snapshot(driver)
    setting.cluster.apply(driver, WORLD)
    assert setting.cluster.next_round_in(driver) is None, "the snapshot is not complete"
    with pytest.raises(NoStateError, match="the snapshot of cluster 'c' is not complete yet"):
        setting.cluster.run_round()
    for call in (setting.cluster.begin_snapshot, setting.cluster.end_snapshot, setting.cluster.next_round_in):
        with pytest.raises(SupersededError):
            call(stranger)
    setting.cluster.end_snapshot(driver)
    with pytest.raises(OrderError, match="SnapshotEnd came without"):
        setting.cluster.end_snapshot(driver)


def test_without_a_driver_the_last_state_has_rounds_and_without_a_state_there_is_an_error():
    setting = Setting()
    for ask in (setting.cluster.run_round, setting.cluster.network, lambda: setting.cluster.rounds(0)):
        with pytest.raises(NoStateError, match="cluster 'c' has no complete snapshot yet"):
            ask()
    driver = setting.driven(1, [*WORLD, TasksSubmitted(1, ("a",))])
    setting.cluster.detach(driver)
    result = setting.cluster.run_round()
    assert result is not None
    assert [delta.uid for delta in result.deltas] == ["a"]


def test_rounds_with_a_snapshot_are_recorded_with_their_numbers():
    """Also if they would need no network otherwise."""
    records: list[RoundRecord] = []
    cluster = ServedCluster("c", DirectSetting()._scheduler, records.append)
    for fencing in (1, 2):
        driver = Quiet()
        cluster.attach(driver, fencing)
        cluster.begin_snapshot(driver)
        cluster.apply(driver, [*WORLD, TasksSubmitted(1, ("a",))])
        cluster.end_snapshot(driver)
        assert cluster.run_direct_round() is None
        assert cluster.run_round() is not None
        assert cluster.run_round() is not None, "nothing waits, so there is nothing to record"
    assert [(each.cluster, each.result.round, len(each.result.deltas)) for each in records] == [
        ("c", 1, 1),
        ("c", 3, 1),
    ]
    assert cluster.describe_flow(3, with_tasks=False) is None
    found = cluster.describe_flow(2, with_tasks=False)
    assert found is not None
    assert found[0].round == 3
