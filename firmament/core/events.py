"""Defines the core's input: events, and reports of the outcomes of its decisions.

All events and reports are plain immutable values, independent of how they are transported. Quantities are in the
units of ``model``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from firmament.core.model import Job, Machine, TaskClass


class InvalidEventError(ValueError):
    """An event cannot be applied; the message names the object and the field.

    No event of the invalid event's batch has been applied.
    """


@dataclass(frozen=True, slots=True)
class MachineUpserted:
    """A machine appeared or changed; the description replaces the former one."""

    machine: Machine


@dataclass(frozen=True, slots=True)
class MachineRemoved:
    """A machine no longer exists.

    Tasks on the machine are remembered, and count again if it returns before they end.
    """

    name: str


@dataclass(frozen=True, slots=True)
class JobDefined:
    """A job appeared or changed."""

    job: Job


@dataclass(frozen=True, slots=True)
class JobRemoved:
    """A job no longer exists; its tasks remain until events remove them."""

    id: str


@dataclass(frozen=True, slots=True)
class ClassDefined:
    """Gives a class the number by which tasks refer to it. It is an error to redefine a number with other content."""

    id: int
    task_class: TaskClass


@dataclass(frozen=True, slots=True)
class ClassRemoved:
    """A number refers to no class until it is defined again. Tasks of the class keep their present content."""

    id: int


@dataclass(frozen=True, slots=True)
class TasksSubmitted:
    """Unbound tasks of one class and job.

    A task with a known uid is updated; a task that is bound or assumed keeps its machine.
    """

    task_class: int
    """Number of the tasks' class."""
    uids: tuple[str, ...]
    """UIDs of the tasks."""
    job: str = ""
    """ID of the tasks' job; "" for none."""
    priority: int = 0
    """Priority of the tasks."""
    names: tuple[str, ...] = ()
    """Names of the tasks, parallel to ``uids``, or empty."""
    created: tuple[float, ...] = ()
    """When each task was created, in seconds since the epoch, parallel to ``uids``, or empty."""
    group_priority: int | None = None
    """Order (32 bits) of the tasks' group among groups of equal ``priority``; None if they have no group."""
    spread_group: str = ""
    """Group of tasks that prefer to run apart; "" for none."""


@dataclass(frozen=True, slots=True)
class TaskRemoved:
    """A task ended or was deleted, wherever it was. Unknown uids are ignored."""

    uid: str


@dataclass(frozen=True, slots=True)
class TasksBound:
    """Tasks that run on a machine, whichever scheduler placed them. The event overrides the tasks' earlier state."""

    machine: str
    """Name of the machine."""
    task_class: int
    """Number of the tasks' class."""
    uids: tuple[str, ...]
    """UIDs of the tasks."""
    names: tuple[str, ...] = ()
    """Names of the tasks, parallel to ``uids``, or empty."""
    priority: int = 0
    """Priority of the tasks."""
    job: str = ""
    """ID of the tasks' job; "" for none."""
    assigned: tuple[float, ...] = ()
    """When each task got its machine, in seconds since the epoch (0: unknown), parallel to ``uids``, or empty."""
    initialized: tuple[float, ...] = ()
    """When each task was initialized, in seconds since the epoch (0: unknown), parallel to ``uids``, or empty."""
    created: tuple[float, ...] = ()
    """When each task was created, as in ``TasksSubmitted``."""
    group_priority: int | None = None
    """Order of the tasks' group, as in ``TasksSubmitted``."""
    spread_group: str = ""
    """Group of tasks that prefer to run apart, as in ``TasksSubmitted``."""
    assumed: bool = False
    """Whether the tasks' bindings are still in progress, and may fail."""

    def as_submitted(self) -> TasksSubmitted:
        """Return the event that would submit these tasks as waiting ones."""
        return TasksSubmitted(
            self.task_class,
            self.uids,
            job=self.job,
            priority=self.priority,
            names=self.names,
            created=self.created,
            group_priority=self.group_priority,
            spread_group=self.spread_group,
        )


@dataclass(frozen=True, slots=True)
class WindowUse:
    """Use over ``seconds`` up to a sample's time; ``type`` is avg, p50, p90, p95, p99 or std."""

    type: str
    seconds: float
    usage: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TaskUses:
    """Use of several tasks: ``amounts[i * len(resources) + k]`` is the use of resource k by task i.

    ``prod``: whether the source counts each task as koord-prod; parallel to ``uids``, or empty if it does not say.
    """

    uids: tuple[str, ...]
    resources: tuple[str, ...]
    amounts: tuple[float, ...]
    prod: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class MachineSampled:
    """One report on the use of a machine and its tasks.

    The report replaces the previous one unless that one is newer; figures of unknown machines and tasks are ignored.
    """

    machine: str
    """Name of the machine."""
    time: float
    """When the use was measured, in seconds since the epoch; 0 if unknown."""
    usage: Mapping[str, float]
    """Use by resource."""
    interval: float = 0.0
    """Seconds between reports; 0 if unknown."""
    no_usage: bool = False
    """Whether a source exists but reports no use of the machine."""
    windows: tuple[WindowUse, ...] = ()
    """Statistics over windows of time."""
    own_windows: bool = False
    """Whether the source computes statistics itself."""
    system: Mapping[str, float] = field(default_factory=dict)
    """The part of ``usage`` that belongs to no task."""
    tasks: TaskUses | None = None
    """Use of the tasks; None if it is not reported."""


@dataclass(frozen=True, slots=True)
class MachineSampleRemoved:
    """No source reports the use of a machine any more."""

    machine: str


@dataclass(frozen=True, slots=True)
class TaskSampled:
    """Measured use of one task, in addition to the last report of its machine; unknown tasks are ignored."""

    uid: str
    time: float
    usage: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RecordUpserted:
    """An object that models or rules read, such as an AppGroup, as JSON; kinds that nothing reads are ignored."""

    kind: str
    name: str
    payload: bytes


@dataclass(frozen=True, slots=True)
class RecordRemoved:
    """An object that models or rules read, such as an AppGroup, has been deleted."""

    kind: str
    name: str


Event: TypeAlias = (
    MachineUpserted
    | MachineRemoved
    | JobDefined
    | JobRemoved
    | ClassDefined
    | ClassRemoved
    | TasksSubmitted
    | TaskRemoved
    | TasksBound
    | MachineSampled
    | MachineSampleRemoved
    | TaskSampled
    | RecordUpserted
    | RecordRemoved
)


@dataclass(frozen=True, slots=True)
class BindingReport:
    """The outcome of a PLACE delta: ``bound`` or not; if not, whether to ``retry`` with back-off."""

    uid: str
    machine: str
    bound: bool
    reason: str = ""
    retry: bool = True
