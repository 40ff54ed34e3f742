"""Random histories of a small cluster: few names, so that events meet, and small numbers, so that room runs out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from hypothesis import strategies as st

from firmament.core.events import (
    ClassDefined,
    Event,
    JobDefined,
    JobRemoved,
    MachineRemoved,
    MachineSampled,
    MachineUpserted,
    RecordRemoved,
    RecordUpserted,
    TaskRemoved,
    TaskSampled,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import (
    Job,
    Machine,
    NodeSelectorTerm,
    PreferredTerm,
    Requirement,
    Taint,
    TaskClass,
    Toleration,
)

MACHINES = ("m0", "m1", "m2", "m3")
UIDS = tuple(f"t{number:02}" for number in range(14))
GPU = "example.com/gpu"
CORDON_KEY = "node.kubernetes.io/unschedulable"
NOT_READY_KEY = "node.kubernetes.io/not-ready"
CLASSES = 5


@dataclass(frozen=True)
class Apply:
    """A batch of events."""

    events: tuple[Event, ...]


@dataclass(frozen=True)
class Report:
    """A report about one of the assumed tasks (``choice`` modulo their number), or about some other task."""

    choice: int
    bound: bool
    retry: bool
    about_assumed: bool


@dataclass(frozen=True)
class Advance:
    """Time passes."""

    seconds: float


Happening: TypeAlias = Apply | Report | Advance


@dataclass(frozen=True)
class Round:
    """A round, and what happens between its opening and its closing."""

    meanwhile: tuple[Happening, ...] = ()


Step: TypeAlias = Happening | Round


@dataclass(frozen=True)
class History:
    """Classes that are defined first, then steps."""

    classes: tuple[TaskClass, ...]
    steps: tuple[Step, ...]


labels = st.fixed_dictionaries(
    {}, optional={"zone": st.sampled_from(["a", "b"]), "size": st.sampled_from(["1", "5", "-2", "big"])}
)
taints = st.lists(
    st.builds(
        Taint,
        st.sampled_from(["dedicated", "old"]),
        st.sampled_from(["", "x"]),
        st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
    ),
    max_size=2,
    unique=True,
).map(tuple)


def rarely(strategy: st.SearchStrategy, otherwise: object) -> st.SearchStrategy:
    """``otherwise`` nine times in ten: rules on everything would leave nothing that fits anywhere."""
    return st.sampled_from(range(10)).flatmap(lambda n: strategy if n == 9 else st.just(otherwise))


def sometimes(strategy: st.SearchStrategy, otherwise: object) -> st.SearchStrategy:
    """``otherwise`` seven times in ten."""
    return st.sampled_from(range(10)).flatmap(lambda n: strategy if n >= 7 else st.just(otherwise))


def amounts(least: int, most: int) -> st.SearchStrategy[int]:
    """Mostly within the bounds; sometimes nothing at all."""
    return rarely(st.just(0), None).flatmap(
        lambda none: st.just(0) if none == 0 else st.integers(least, most)
    )


def machines(names: tuple[str, ...] = MACHINES) -> st.SearchStrategy[Machine]:
    allocatable = st.fixed_dictionaries(
        {"cpu": amounts(3, 9), "memory": amounts(3, 9), "pods": amounts(2, 6)},
        optional={GPU: st.integers(0, 2)},
    )
    return st.builds(
        Machine,
        name=st.sampled_from(names),
        allocatable=allocatable,
        labels=labels,
        taints=sometimes(taints, ()),
        unschedulable=sometimes(st.booleans(), False),
        not_ready=sometimes(st.booleans(), False),
    )


requirements = st.one_of(
    st.builds(
        Requirement,
        st.just("zone"),
        st.sampled_from(["In", "NotIn"]),
        st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=2, unique=True).map(tuple),
    ),
    st.builds(Requirement, st.sampled_from(["zone", "size"]), st.sampled_from(["Exists", "DoesNotExist"])),
    st.builds(
        Requirement,
        st.sampled_from(["size", "zone"]),
        st.sampled_from(["Gt", "Lt"]),
        st.sampled_from([("1",), ("-3",), ("4",)]),
    ),
)
names_required = st.builds(
    Requirement,
    st.just("metadata.name"),
    st.sampled_from(["In", "NotIn"]),
    st.lists(st.sampled_from(MACHINES), min_size=1, max_size=2, unique=True).map(tuple),
)
terms = st.builds(
    NodeSelectorTerm,
    st.lists(requirements, max_size=2).map(tuple),
    rarely(st.lists(names_required, max_size=1).map(tuple), ()),
)
pins = st.builds(NodeSelectorTerm, st.just(()), names_required.map(lambda requirement: (requirement,)))
tolerations = st.one_of(
    st.builds(
        Toleration,
        st.sampled_from(["dedicated", "old", CORDON_KEY, NOT_READY_KEY]),
        st.just("Equal"),
        st.sampled_from(["", "x"]),
        st.sampled_from(["", "NoSchedule", "NoExecute"]),
    ),
    st.builds(
        Toleration,
        st.sampled_from(["", "dedicated", CORDON_KEY, NOT_READY_KEY]),
        st.just("Exists"),
        st.just(""),
        st.sampled_from(["", "NoSchedule", "PreferNoSchedule"]),
    ),
)
contents = st.builds(
    TaskClass,
    requests=st.fixed_dictionaries(
        {"cpu": amounts(1, 5), "memory": amounts(1, 5)},
        optional={
            "pods": st.integers(0, 3),
            GPU: rarely(st.integers(0, 2), 0),
            "example.com/unheard-of": rarely(st.integers(0, 1), 0),
        },
    ).map(lambda amounts: tuple(sorted(amounts.items()))),
    node_selector=rarely(st.just((("zone", "a"),)), ()),
    required=sometimes(st.lists(st.one_of(terms, pins), min_size=1, max_size=2).map(tuple), ()),
    preferred=rarely(
        st.lists(st.builds(PreferredTerm, st.integers(1, 100), terms), min_size=1, max_size=2).map(tuple), ()
    ),
    tolerations=sometimes(st.lists(tolerations, max_size=2).map(tuple), ()),
    machine=rarely(st.sampled_from(MACHINES), ""),
    invalid=rarely(rarely(st.just("asks for the impossible"), ""), ""),
)
some_uids = st.tuples(st.integers(0, len(UIDS) - 1), st.integers(1, 6)).map(
    lambda run: UIDS[run[0] : run[0] + run[1]]
)
numbers = st.integers(1, CLASSES)
usage = st.fixed_dictionaries({"cpu": st.integers(0, 8).map(float)})
records = st.tuples(st.just("kind"), st.sampled_from(["r0", "r1"]))


def submissions(uids: st.SearchStrategy = some_uids) -> st.SearchStrategy[TasksSubmitted]:
    return st.builds(
        TasksSubmitted, numbers, uids, job=st.sampled_from(["", "j"]), priority=st.integers(-1, 2)
    )


more_machines = st.builds(MachineUpserted, machines())
other_events = st.one_of(
    st.builds(TaskRemoved, st.sampled_from(UIDS)),
    st.builds(TasksBound, st.sampled_from(MACHINES), numbers, some_uids, priority=st.integers(-1, 2)),
    st.builds(MachineRemoved, st.sampled_from(MACHINES)),
    st.builds(MachineSampled, st.sampled_from(MACHINES), st.floats(0, 100), usage),
    st.builds(TaskSampled, st.sampled_from(UIDS), st.floats(0, 100), usage),
    st.just(JobDefined(Job("j", size=3))),
    st.just(JobRemoved("j")),
    records.map(lambda key: RecordUpserted(*key, b"payload")),
    records.map(lambda key: RecordRemoved(*key)),
)
events = st.one_of(submissions(), more_machines, submissions(), more_machines, other_events)
batches = st.builds(Apply, st.lists(events, min_size=1, max_size=4).map(tuple))
reports = st.builds(Report, st.integers(0, 10), st.booleans(), st.booleans(), rarely(st.booleans(), True))
advances = st.builds(Advance, st.sampled_from([0.5, 1.0, 5.0, 61.0]))
happenings = st.one_of(batches, batches, reports, advances)


def histories(*, windows: bool, most_rounds: int = 7) -> st.SearchStrategy[History]:
    """Histories that begin with some machines; ``windows``: things also happen while rounds are being solved."""
    meanwhile = st.lists(happenings, max_size=3).map(tuple) if windows else st.just(())
    beginning = st.builds(
        Apply,
        st.tuples(
            st.lists(more_machines, min_size=1, max_size=4), st.lists(submissions(), min_size=2, max_size=6)
        ).map(lambda parts: (*parts[0], *parts[1])),
    )
    phase = st.tuples(st.lists(happenings, min_size=1, max_size=3), st.builds(Round, meanwhile))
    rest = st.lists(phase, min_size=2, max_size=most_rounds).map(
        lambda phases: [step for before, closing in phases for step in (*before, closing)]
    )
    return st.builds(
        History,
        st.lists(contents, min_size=CLASSES, max_size=CLASSES).map(tuple),
        st.tuples(beginning, rest).map(lambda parts: (parts[0], *parts[1])),
    )


def crowds() -> st.SearchStrategy[History]:
    """More tasks than room, of classes that compete for two resources, in several priorities; few other rules.

    Three batches of tasks, each followed by a round, with some tasks ending in between.
    """
    size = st.tuples(st.integers(1, 5), st.integers(1, 5))
    classes = st.tuples(*[size] * CLASSES).map(
        lambda sizes: tuple(TaskClass(requests=(("cpu", cpu), ("memory", memory))) for cpu, memory in sizes)
    )
    room = st.tuples(st.integers(3, 9), st.integers(3, 9), st.integers(2, 6))
    fleet = st.tuples(*[room] * 3).map(
        lambda rooms: tuple(
            MachineUpserted(Machine(name, {"cpu": cpu, "memory": memory, "pods": pods}))
            for name, (cpu, memory, pods) in zip(MACHINES, rooms, strict=False)
        )
    )
    kinds = st.tuples(*[st.tuples(numbers, st.integers(-1, 2))] * len(UIDS))
    cuts = st.tuples(st.integers(4, 10), st.integers(4, 14)).map(sorted)
    ends = st.tuples(*[st.lists(st.sampled_from(UIDS), max_size=3, unique=True)] * 2)

    def history(
        classes: tuple[TaskClass, ...], fleet: tuple, kinds: tuple, cuts: list, ends: tuple
    ) -> History:
        tasks = [TasksSubmitted(c, (uid,), priority=p) for uid, (c, p) in zip(UIDS, kinds, strict=True)]
        batches = [tasks[: cuts[0]], tasks[cuts[0] : cuts[1]], tasks[cuts[1] :]]
        steps: list[Step] = [Apply(fleet)]
        for batch, ended in zip(batches, ((), *ends), strict=True):
            steps += [Apply((*(TaskRemoved(uid) for uid in ended), *batch)), Round()]
        return History(classes, tuple(steps))

    return st.builds(history, classes, fleet, kinds, cuts, ends)


def definitions(classes: tuple[TaskClass, ...]) -> Apply:
    """The event batch that defines the classes of a history as 1, 2, …"""
    return Apply(tuple(ClassDefined(number, content) for number, content in enumerate(classes, start=1)))
