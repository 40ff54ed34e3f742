"""Rounds that carry acknowledgements, and batches that carry reports."""

from __future__ import annotations

from firmament.core.scoring.kept_rows import LEAST_MACHINES
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.firmament.server.driving import Driver, Running, eventually, machine, task_class, tasks

WORLD = (machine("m1"), machine("m2"), task_class())


async def reading_acknowledged(running: Running) -> Driver:
    driver = running.driver()
    await driver.send(
        hello=pb.Hello(version_major=1, version_minor=2, cluster="c", fencing=1, reads_acknowledged=True)
    )
    assert (await driver.receive()).welcome.takes_reports
    return driver


async def test_a_batch_is_acknowledged_by_a_round_that_follows_at_once(running: Running):
    driver = await reading_acknowledged(running)
    await driver.snapshot(*(machine(f"m{index}") for index in range(LEAST_MACHINES)), task_class())
    for uid in ("a", "b"):  # the first round of a few tasks is run by a thread, the next ones at once
        await driver.events(tasks(uid))
        await driver.until(lambda: uid in driver.placed)  # noqa: B023 - awaited here
    assert [each.acknowledged for each in driver.rounds] == [0, 3]
    assert driver.acked == 2


async def test_a_batch_whose_round_takes_long_is_acknowledged_at_once(running: Running):
    driver = await reading_acknowledged(running)
    await driver.snapshot(*WORLD)
    await driver.events(tasks("a"))
    await driver.until(lambda: "a" in driver.placed)
    assert driver.acked == 2, "in so small a cluster rounds have networks"
    assert not driver.rounds[-1].acknowledged


async def test_a_batch_without_work_is_acknowledged_by_itself(running: Running):
    driver = await reading_acknowledged(running)
    await driver.snapshot(*WORLD)
    await driver.events(machine("m3"))
    await driver.until(lambda: driver.acked == 2)
    assert not driver.rounds


async def test_others_are_told_at_once_and_by_acks_alone(running: Running):
    driver = await running.driving(*WORLD)
    await driver.events(tasks("a"))
    await driver.until(lambda: "a" in driver.placed)
    assert driver.acked == 3
    assert not driver.rounds[-1].acknowledged


async def test_reports_of_a_batch_come_before_its_events(running: Running):
    driver = await reading_acknowledged(running)
    await driver.snapshot(*WORLD, tasks("a"))
    await driver.until(lambda: "a" in driver.placed)
    driver.sequence += 1
    reports = [pb.BindingReport(task="a", machine=driver.placed["a"], bound=True)]
    batch = pb.EventBatch(sequence=driver.sequence, events=[tasks("b")], reports=reports)
    await driver.send(events=batch)
    await driver.until(lambda: "b" in driver.placed)

    async def is_bound() -> bool:
        state = await running.state(with_tasks=True)
        return {each.uid: each.state for each in state.tasks}["a"] == "BOUND"

    await eventually(is_bound)
