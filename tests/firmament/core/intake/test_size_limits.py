"""How large a cluster may become: of each kind, what is new counts, and a batch beyond a limit changes nothing."""

from __future__ import annotations

import pytest

from firmament.core.configuration import CoreConfiguration, SizeLimits
from firmament.core.events import (
    ClassDefined,
    Event,
    JobDefined,
    RecordUpserted,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.intake.events import TooLargeClusterError
from firmament.core.model import Job
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import Clock, machine, task_class

THREE = SizeLimits(tasks=3, machines=3, classes=3, records=3)


def begin(limits: SizeLimits) -> Scheduler:
    """A scheduler with a class and a machine."""
    core = Scheduler(configuration=CoreConfiguration(limits=limits), solver=OrToolsSolver(), clock=Clock())
    core.apply([ClassDefined(1, task_class()), machine("m0")])
    return core


def submit(*names: str) -> Event:
    return TasksSubmitted(1, names)


def bind(*names: str) -> Event:
    return TasksBound("m0", 1, names)


def define(number: int) -> Event:
    return ClassDefined(number, task_class(cpu=number))


def record(name: str) -> Event:
    return RecordUpserted("AppGroup", name, b"{}")


UP_TO_THREE: list[tuple[str, list[Event], Event]] = [
    ("machines", [machine("m1"), machine("m2"), machine("m0", cpu=1), machine("m1")], machine("m3")),
    ("classes", [define(2), define(3), define(3)], define(4)),
    ("jobs", [JobDefined(Job(name)) for name in "abca"], JobDefined(Job("d"))),
    ("tasks", [submit("a", "b"), submit("c", "a")], submit("d")),
    ("tasks", [bind("a", "b"), bind("c", "a")], bind("d")),
    ("tasks", [submit("a", "b"), bind("c")], bind("d")),
    ("records", [record(name) for name in "abca"], record("d")),
]


@pytest.mark.parametrize(("what", "fitting", "beyond"), UP_TO_THREE)
@pytest.mark.parametrize("is_together", [False, True])
def test_a_kind_may_reach_its_limit_and_not_exceed_it(
    what: str, fitting: list[Event], beyond: Event, is_together: bool
):
    core = begin(THREE)
    core.apply(fitting)  # names some twice, which counts once
    core.apply(fitting[:1])  # nothing new, so it fits
    with pytest.raises(
        TooLargeClusterError, match=rf"^{what}: 3 are there, and 1 more would exceed 3 per cluster"
    ):
        core.apply([*fitting, beyond] if is_together else [beyond])


def test_kinds_of_records_are_limited_too():
    core = begin(SizeLimits())
    core.apply([RecordUpserted(f"Kind{number}", "a", b"{}") for number in range(1000)])
    core.apply([RecordUpserted("Kind7", "b", b"{}")])
    with pytest.raises(
        TooLargeClusterError, match=r"^kinds of records: 1000 are there, and 1 more would exceed 1000"
    ):
        core.apply([RecordUpserted("Another", "a", b"{}")])


def test_what_is_too_much_is_refused_whole():
    core = begin(THREE)
    with pytest.raises(TooLargeClusterError):
        core.apply([machine("m1"), submit("a", "b", "c", "d")])
    assert [state.name for state in core.machine_states()] == ["m0"]
    assert not list(core.task_states())
