"""Questions about rounds that are over."""

from __future__ import annotations

from dataclasses import replace

import grpc

from firmament.saved_rounds.saving import RoundRecord
from firmament.server.rounds import round_history
from firmament.server.rounds.round_history import RoundHistory
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.firmament.server.driving import Running, machine, task_class, tasks
from tests.firmament.server.test_unary import code_of
from tests.support.core import Clock, scheduler
from tests.support.core import machine as core_machine
from tests.support.core import tasks as core_tasks

WORLD = (machine("m1", cpu=250), machine("m2", cpu=250), task_class())


async def test_rounds_and_the_flow_of_the_last(running: Running):
    driver = await running.driving(*WORLD, tasks("a", "b", "d", "e", "f"))
    await driver.until(lambda: len(driver.placed) + len(driver.unscheduled) == 5)
    stub = running.stub
    rounds = (await stub.ListRounds(pb.ListRoundsRequest(cluster="c"))).rounds
    assert [each.round for each in rounds] == sorted({each.round for each in rounds})
    last = rounds[-1]
    assert last.stats.placed + last.stats.pending == 5
    assert last.ended > 1e9
    flow = await stub.DescribeFlow(pb.DescribeFlowRequest(cluster="c", with_tasks=True))
    assert (flow.round, flow.stats) == (last.round, last.stats)
    assert list(flow.machines) == ["m1", "m2"]
    assert sum(flow.arc_tasks) == 4
    assert set(flow.arc_uids) == set(driver.placed)
    (told,) = flow.classes
    assert (told.tasks, told.placed) == (5, 4)
    assert list(flow.machine_saturated) == [True, True]
    later = await stub.DescribeFlow(pb.DescribeFlowRequest(cluster="c", after=last.round))
    assert later == pb.RoundFlow()
    assert not (await stub.ListRounds(pb.ListRoundsRequest(cluster="c", after=last.round))).rounds


async def test_clusters_that_are_not_known_or_have_no_snapshot(running: Running):
    await running.driver().hello()
    for cluster, code in (
        ("x", grpc.StatusCode.NOT_FOUND),
        ("c", grpc.StatusCode.FAILED_PRECONDITION),
    ):
        assert (await code_of(running.stub.ListRounds(pb.ListRoundsRequest(cluster=cluster))))[0] is code
        assert (await code_of(running.stub.DescribeFlow(pb.DescribeFlowRequest(cluster=cluster))))[0] is code


def record(number: int) -> RoundRecord:
    found = scheduler(core_machine("m"), core_tasks(1, "a"))
    opened = found.open_round()
    placement = opened.solve()
    assert opened.snapshot is not None
    result = found.close_round(opened, placement)
    return RoundRecord("c", opened.snapshot, placement, replace(result, round=number))


def test_large_snapshots_are_kept_only_while_somebody_asks(monkeypatch):
    monkeypatch.setattr(round_history, "SMALL", 0)
    timer = Clock(0.0)
    history = RoundHistory(Clock(), timer)
    history.add(record(1))
    assert history.last(0) is None  # but now somebody has asked
    history.add(record(2))
    found = history.last(0)
    assert found is not None
    assert found[0].round == 2
    timer.advance(round_history.INTEREST_SECONDS)
    history.add(record(3))
    assert history.last(0) is None
    assert [each.round for each in history.list_after(1)] == [2, 3]


def test_a_bounded_number_of_rounds_is_remembered():
    history = RoundHistory(Clock(), Clock())
    one = record(1)
    for number in range(1, round_history.MOST_ROUNDS + 11):
        history.add(replace(one, result=replace(one.result, round=number)))
    assert next(each.round for each in history.list_after(0)) == 11
