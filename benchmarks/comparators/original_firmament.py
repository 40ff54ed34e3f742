"""Measures the original Firmament service, given its binary, on the same machines and tasks: seconds of Schedule().

Seconds are those of the one ``Schedule`` call, in which it updates its graph, solves and decodes. It checks resources
class by class and can overfill machines; tasks that do not fit are counted, and left out of the placement.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from benchmarks.comparators import original_messages as wire
from benchmarks.comparators.base import Contest, NotMeasuredError, Outcome, assignments
from benchmarks.processes.parts.free_ports import free_ports
from firmament.core.flow.joint_admission import admit
from firmament.core.flow.problem import PlacementProblem
from firmament.core.flow.residual import Residual

_START_SECONDS = 30.0
_STOP_SECONDS = 10.0
_SCHEDULE_SECONDS = 3600.0
_MESSAGE_BYTES = 256 * 2**20
_MEBIBYTE = 2**20
_NAMESPACE = uuid.UUID("6ba7b812-9dad-11d1-80b4-00c04fd430c8")

CPU_MEM = ("--flow_scheduling_cost_model=10", "--flow_scheduling_solver=cs2", "--max_tasks_per_pu=110")
"""Flags of the configuration that Poseidon shipped."""


@dataclass(frozen=True, slots=True)
class OriginalFirmament:
    """A comparator that runs the binary. ``flags`` are passed to it, after address and port."""

    binary: Path
    flags: Sequence[str] = CPU_MEM

    def __call__(self, contest: Contest) -> Outcome:
        """Start the binary, send machines and tasks, schedule once. Raises ``NotMeasuredError``."""
        problem = contest.problem
        resources = contest.snapshot.assessed.machines.resources
        columns = [resources.index(name) for name in ("cpu", "memory", "pods")]
        with tempfile.TemporaryDirectory() as folder, _running(self, Path(folder)) as channel:
            call = _Caller(channel)
            for row in range(problem.machines):
                reply = call("NodeAdded", _machine(row, problem.free[row, columns].tolist()), "Reply")
                _expect(reply.type, wire.NODE_ADDED_OK, f"NodeAdded of machine {row}")
            class_of = _submit(call, problem, columns[:2])
            begin = time.perf_counter()
            deltas = call("Schedule", wire.messages()["ScheduleRequest"](), "SchedulingDeltas").deltas
            seconds = time.perf_counter() - begin
        row_of = {_unit(row): row for row in range(problem.machines)}
        placed = [each for each in deltas if each.type == wire.DELTA_PLACE]
        proposed = assignments(
            [class_of[each.task_id] for each in placed],
            [row_of[each.resource_id] for each in placed],
            problem.machines,
        )
        fitting = admit(Residual(problem), proposed)
        over = int(proposed.count.sum()) - int(fitting.count.sum())
        return Outcome(fitting, seconds, {"tasksBeyondCapacity": over})


class _Caller:
    def __init__(self, channel: grpc.Channel) -> None:
        self._channel = channel
        self._calls: dict[str, Any] = {}

    def __call__(self, method: str, request: Any, reply: str) -> Any:
        call = self._calls.get(method)
        if call is None:
            call = self._calls[method] = self._channel.unary_unary(
                wire.SERVICE + method,
                request_serializer=type(request).SerializeToString,
                response_deserializer=wire.messages()[reply].FromString,
            )
        try:
            return call(request, timeout=_SCHEDULE_SECONDS)
        except grpc.RpcError as error:
            raise NotMeasuredError(f"the binary failed in {method}: {error}") from None


@contextmanager
def _running(what: OriginalFirmament, folder: Path) -> Iterator[grpc.Channel]:
    """Run the binary on a free port; its output goes to a file, whose end is quoted in errors."""
    (port,) = free_ports(1)
    command = [
        str(what.binary),
        "--firmament_scheduler_service_address=127.0.0.1",
        f"--firmament_scheduler_service_port={port}",
        *what.flags,
    ]
    log = folder / "firmament.log"
    with log.open("wb") as output:
        try:
            process = subprocess.Popen(command, stdout=output, stderr=output, cwd=folder)
        except OSError as error:
            raise NotMeasuredError(f"{what.binary}: cannot be run: {error.strerror}") from None
    options = [
        ("grpc.max_receive_message_length", _MESSAGE_BYTES),
        ("grpc.enable_http_proxy", 0),
    ]
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
            _await_ready(channel, process, log)
            yield channel
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await_ready(channel: grpc.Channel, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    ready = grpc.channel_ready_future(channel)
    while True:
        try:
            ready.result(timeout=0.1)
        except grpc.FutureTimeoutError:
            tail = " ".join(log.read_text(errors="replace").split()[-40:])
            if process.poll() is not None:
                raise NotMeasuredError(f"the binary ended with status {process.returncode}: {tail}") from None
            if time.monotonic() > deadline:
                raise NotMeasuredError(
                    f"the binary did not listen within {_START_SECONDS:g} s: {tail}"
                ) from None
        else:
            return


def _machine(row: int, free: Sequence[int]) -> Any:
    """Return a machine with one processing unit, as Poseidon described nodes; offers only the amounts that are free."""
    made = wire.messages()
    cpu, memory, pods = (max(0, amount) for amount in free)
    vector = made["ResourceVector"](cpu_cores=cpu, ram_cap=memory // _MEBIBYTE)
    machine, unit = _uuid(f"machine-{row}"), _unit(row)
    shared = {"state": wire.RESOURCE_IDLE, "schedulable": True, "task_capacity": pods, "max_pods": pods}
    node = made["ResourceTopologyNodeDescriptor"](
        resource_desc=made["ResourceDescriptor"](
            uuid=machine,
            friendly_name=f"machine-{row}",
            type=wire.RESOURCE_MACHINE,
            resource_capacity=vector,
            available_resources=vector,
            **shared,
        )
    )
    child = node.children.add(parent_id=machine)
    child.resource_desc.CopyFrom(
        made["ResourceDescriptor"](
            uuid=unit,
            friendly_name=f"machine-{row}_PU #0",
            type=wire.RESOURCE_PU,
            resource_capacity=vector,
            available_resources=vector,
            **shared,
        )
    )
    return node


def _submit(call: _Caller, problem: PlacementProblem, columns: Sequence[int]) -> dict[int, int]:
    """Submit every task, in a job per class; return the class by task uid."""
    made = wire.messages()
    class_of: dict[int, int] = {}
    for cls, count in enumerate(problem.counts.sum(axis=1).tolist()):
        cpu, memory = problem.requests[problem.shape[cls], columns].tolist()
        request = made["ResourceVector"](cpu_cores=cpu, ram_cap=memory // _MEBIBYTE)
        job = _uuid(f"job-{cls}")
        for number in range(count):
            uid = 1 + len(class_of)
            task = made["TaskDescriptor"](
                uid=uid, name=f"task-{cls}-{number}", job_id=job, resource_request=request
            )
            description = made["TaskDescription"](
                task_descriptor=task,
                job_descriptor=made["JobDescriptor"](uuid=job, name=f"job-{cls}", root_task=task),
            )
            reply = call("TaskSubmitted", description, "Reply")
            _expect(reply.type, wire.TASK_SUBMITTED_OK, f"TaskSubmitted of task {uid}")
            class_of[uid] = cls
    return class_of


def _expect(code: int, wanted: int, what: str) -> None:
    if code != wanted:
        raise NotMeasuredError(f"the binary answered {what} with code {code} instead of {wanted}")


def _unit(row: int) -> str:
    return _uuid(f"unit-{row}")


def _uuid(text: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, text))
