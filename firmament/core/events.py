"""What happens: the events that the core is told, and the reports of what became of its decisions.

Plain immutable values, free of any transport. Quantities are in the units of ``model``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from firmament.core.model import Job, Machine, TaskClass


class InvalidEventError(ValueError):
    """An event that cannot be applied: says which object and which field. Nothing of its batch has been applied."""


@dataclass(frozen=True, slots=True)
class MachineUpserted:
    """A machine appeared or changed; the description replaces the former one."""

    machine: Machine


@dataclass(frozen=True, slots=True)
class MachineRemoved:
    """A machine is gone. Tasks on it are kept aside, and count again should it return before they end."""

    name: str


@dataclass(frozen=True, slots=True)
class JobDefined:
    """A job appeared or changed."""

    job: Job


@dataclass(frozen=True, slots=True)
class JobRemoved:
    """A job is gone; its tasks stay until they are removed themselves."""

    id: str


@dataclass(frozen=True, slots=True)
class ClassDefined:
    """Gives a class the number by which tasks refer to it. Redefining a number with other content is an error."""

    id: int
    task_class: TaskClass


@dataclass(frozen=True, slots=True)
class ClassRemoved:
    """A number stands for no class any more, until it is defined again. Tasks of the class keep it as it was."""

    id: int


@dataclass(frozen=True, slots=True)
class TasksSubmitted:
    """Unbound tasks of one class and job. A known uid is updated; one that is bound or assumed keeps its machine.

    ``names`` and ``created`` (seconds since the epoch) are parallel to ``uids`` or empty. ``group_priority`` (32 bits)
    orders groups of equal ``priority`` among themselves; None: the tasks are in none of those. Tasks of one
    ``spread_group`` would rather be apart; empty: of none.
    """

    task_class: int
    uids: tuple[str, ...]
    job: str = ""
    priority: int = 0
    names: tuple[str, ...] = ()
    created: tuple[float, ...] = ()
    group_priority: int | None = None
    spread_group: str = ""


@dataclass(frozen=True, slots=True)
class TaskRemoved:
    """A task ended or was deleted, wherever it was. Unknown uids are ignored."""

    uid: str


@dataclass(frozen=True, slots=True)
class TasksBound:
    """Tasks that run on a machine, whoever placed them. Overrides any earlier state of those uids.

    ``assigned`` and ``initialized`` (seconds since the epoch, 0: not known) are parallel to ``uids`` or empty: when
    each got its machine, and when it was initialized. ``group_priority`` and ``spread_group`` as in ``TasksSubmitted``.
    ``assumed``: their bindings are under way, and may fail.
    """

    machine: str
    task_class: int
    uids: tuple[str, ...]
    names: tuple[str, ...] = ()
    priority: int = 0
    job: str = ""
    assigned: tuple[float, ...] = ()
    initialized: tuple[float, ...] = ()
    group_priority: int | None = None
    spread_group: str = ""
    assumed: bool = False


@dataclass(frozen=True, slots=True)
class WindowUse:
    """Use over ``seconds`` up to a sample's time; ``type`` is avg, p50, p90, p95, p99 or std."""

    type: str
    seconds: float
    usage: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TaskUses:
    """Use of several tasks: ``amounts[i * len(resources) + k]`` is that of resource k by task i.

    ``prod``: whether the source takes each for koord-prod; parallel to ``uids``, or empty: it does not say.
    """

    uids: tuple[str, ...]
    resources: tuple[str, ...]
    amounts: tuple[float, ...]
    prod: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class MachineSampled:
    """One report of the use of a machine and its tasks at ``time`` (seconds since the epoch, 0: not known).

    It replaces the report before it, unless that is later; unknown machines and tasks are ignored. ``no_usage``: there
    is a source, but no figure of the machine's use. ``interval``: seconds between reports, 0: not known. ``windows``
    as the source aggregates, if it does (``own_windows``). ``system``: the part of ``usage`` that is no task's.
    """

    machine: str
    time: float
    usage: Mapping[str, float]
    interval: float = 0.0
    no_usage: bool = False
    windows: tuple[WindowUse, ...] = ()
    own_windows: bool = False
    system: Mapping[str, float] = field(default_factory=dict)
    tasks: TaskUses | None = None


@dataclass(frozen=True, slots=True)
class MachineSampleRemoved:
    """Nothing reports the use of a machine any more."""

    machine: str


@dataclass(frozen=True, slots=True)
class TaskSampled:
    """Measured use of one task, beside the last report of its machine; unknown tasks are ignored."""

    uid: str
    time: float
    usage: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RecordUpserted:
    """A typed record for models; kinds that no model reads are kept and ignored."""

    kind: str
    name: str
    payload: bytes


@dataclass(frozen=True, slots=True)
class RecordRemoved:
    """A typed record is gone."""

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
    """What became of a PLACE delta: accepted (``bound``) or refused, and then whether to ``retry`` with back-off."""

    uid: str
    machine: str
    bound: bool
    reason: str = ""
    retry: bool = True
