"""One task's way: the modules in which anything runs between the message that brings a task and the one that answers.

    python -m tests.support.task_way

prints them in order of first entry.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import firmament
from firmament.configuration.document import SchedulerConfiguration, build_core
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver
from firmament.wire.events import events_from_proto
from firmament.wire.rounds import encode_round
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.firmament.server.driving import machine, task_class, tasks

ROOT = Path(firmament.__file__).resolve().parents[1]
FOLDERS = ("firmament", "cost_models")


def on_the_way() -> tuple[list[str], pb.ServerMessage]:
    """Modules, as paths in the repository in order of first entry, and the answer.

    The way: a batch with a machine, a class and one task of it is decoded and applied to a scheduler that knows
    nothing yet, as ``firmament serve`` makes it by default; a round is opened, solved in this process, closed and
    encoded. What runs while modules are imported does not count, nor does what makes the scheduler.
    """
    scheduler = Scheduler(
        configuration=build_core(SchedulerConfiguration()), solver=OrToolsSolver(), clock=lambda: 1e9
    )
    batch = pb.EventBatch(sequence=1, events=[machine("m1"), task_class(), tasks("a")])
    received = pb.ClientMessage(events=batch).SerializeToString()
    entered: dict[str, None] = {}

    def note(frame: FrameType, event: str, _argument: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file not in entered and not _is_import(frame, here):
            entered[file] = None

    here = sys._getframe()
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        message = pb.ClientMessage.FromString(received)
        scheduler.apply(events_from_proto(message.events.events))
        sent = encode_round(scheduler.run_round()).message()
    finally:
        sys.setprofile(before)
    inside = [Path(file).relative_to(ROOT) for file in entered if Path(file).is_relative_to(ROOT)]
    modules = [path.as_posix() for path in inside if path.parts[0] in FOLDERS]
    return modules, pb.ServerMessage.FromString(sent)


def _is_import(frame: FrameType | None, within: FrameType) -> bool:
    """Whether a frame belongs to an import that begins ``within`` another one."""
    while frame is not None and frame is not within:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


if __name__ == "__main__":
    print("\n".join(f"{number:4} {path}" for number, path in enumerate(on_the_way()[0], 1)))  # noqa: T201
