"""What a model remarks on bad input is logged once, whatever the number of tasks and rounds."""

from __future__ import annotations

import logging

from firmament.configuration.document import SchedulerConfiguration
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.firmament.server.driving import machine, running_server, tasks


async def test_a_bad_label_is_logged_once(caplog):
    configuration = SchedulerConfiguration.model_validate({"policy": {"name": "net"}})
    described = pb.TaskClass(id=1, labels={"networkRequirement": "lots"})
    with caplog.at_level(logging.INFO, logger="firmament"):
        async with running_server(configuration=configuration) as running:
            driver = await running.driving(machine("m1"), pb.Event(task_class=described), tasks("a", "b"))
            await driver.until(lambda: {"a", "b"} <= driver.placed.keys())
            await driver.events(tasks("c"))
            await driver.until(lambda: "c" in driver.placed)
    notes = [record for record in caplog.records if record.message.startswith("model note")]
    assert [record.levelno for record in notes] == [logging.WARNING]
    assert "networkRequirement='lots': not a whole number" in notes[0].message
    assert "cluster=c " in notes[0].message
