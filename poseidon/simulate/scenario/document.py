"""The scenario file: one YAML mapping of kind ``Simulation``, checked completely before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import Field, ValidationError, model_validator

from poseidon.simulate.scenario.durations import Durations, PositiveSpan, Span
from protos.conventions.configuration import Section
from protos.conventions.configuration_faults import schema_fault
from protos.conventions.configuration_file import ConfigurationError, read_document

API_VERSION: Final = "firmament.io/v1alpha1"
KIND: Final = "Simulation"

Count: TypeAlias = Annotated[int, Field(ge=1, le=1_000_000)]
Name: TypeAlias = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]


class Autoscaling(Section):
    """Autoscaling of a pool: nodes are added while pods wait, and removed when they are empty."""

    least: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    """Minimum number of nodes."""
    most: Count
    """Maximum number of nodes."""
    delay: Span = 180.0
    """Seconds from the order of a node until it is ready."""
    idle: PositiveSpan = 600.0
    """Seconds for which a node must be empty before it goes."""
    every: PositiveSpan = 30.0
    """Seconds between two checks."""


class NodePool(Section):
    """A pool of equal nodes."""

    name: Name
    """First part of the names of its nodes."""
    count: Annotated[int, Field(ge=0, le=1_000_000)] = 1
    """Number of nodes at the beginning."""
    allocatable: dict[str, str | int | float]
    """Amounts that a node offers, as in ``status.allocatable``; 110 pods unless it says otherwise."""
    labels: dict[str, str] = Field(default={})
    """Labels of the nodes, in addition to host name and zone."""
    taints: tuple[dict[str, str], ...] = ()
    """Taints, as in ``spec.taints``."""
    zones: tuple[str, ...] = ()
    """Zones over which the nodes are distributed in turn."""
    autoscaling: Autoscaling | None = None
    """How the pool grows and shrinks; None: its size is fixed."""


class Failures(Section):
    """Random failures of single nodes, independent of each other."""

    every: PositiveSpan
    """Mean seconds between failures of one node."""
    repair: Durations = Durations(mean=3600.0)
    """Seconds until a failed node is back."""


class Drain(Section):
    """A drain of nodes, which are emptied for maintenance."""

    at: Span
    """Begin, in seconds from the beginning."""
    nodes: Count
    """Number of nodes: the first ones of the pool."""
    pool: Name
    """The pool whose nodes are emptied."""
    lasts: PositiveSpan = 3600.0
    """Seconds until the nodes come back."""


class ClusterPart(Section):
    """The cluster at the beginning."""

    files: tuple[str, ...] = ()
    """Manifests: nodes, pods that run or wait, priority classes, budgets, anything that ``poseidon plan`` reads."""
    pools: tuple[NodePool, ...] = ()
    """Pools of nodes."""
    failures: Failures | None = None
    """How nodes fail; None: they do not."""
    drains: tuple[Drain, ...] = ()
    """When nodes are emptied."""


class WorkKind(Section):
    """A kind of equal tasks: a pod template, and how long the tasks run."""

    name: Name
    """First part of the names of its pods; also the name in the report."""
    share: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    """Share of the load, relative to the other kinds; shares need not add up to 1."""
    duration: Durations
    """How long a task runs."""
    requests: dict[str, str | int | float] = Field(default={})
    """Requests of the only container, unless ``pod`` states them."""
    pod: dict[str, Any] = Field(default={})
    """A pod template: metadata and spec, as in Kubernetes."""
    priority: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] | None = None
    """Priority, unless the template states it."""
    members: Count = 1
    """Number of tasks of a gang, which come, are placed and end together."""
    within: str = ""
    """Label of nodes: all members go to nodes with one value of it, such as topology.kubernetes.io/zone; "" for any."""
    rather_within: str = ""
    """Label of nodes, as in ``within``, but only preferred."""


class Generator(Section):
    """Work drawn from distributions: tasks of each kind arrive as a Poisson process."""

    load: Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)]
    """Offered work as a share of ``capacity``: arrivals per second × mean duration × request."""
    capacity: str | int | float | None = None
    """The amount of ``resource`` that ``load`` is a share of, such as 640 cores; None: all that the nodes offer at
    first.
    """
    resource: str = "cpu"
    """The resource by which the load is counted."""
    kinds: Annotated[tuple[WorkKind, ...], Field(min_length=1)]
    """The kinds of tasks."""
    daily: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Daily swing: how much more than the mean arrives at the busiest time, and less at the quietest, as a share of
    it.
    """
    warm: bool = True
    """Whether the tasks that would be running at the beginning wait then; else the cluster starts idle."""


class CreationLimit(Section):
    """The rates at which Kueue's generator creates nodes, queues and workloads; requests are served in order."""

    per_second: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    """Requests per second for objects of one kind."""
    burst: Count = 1
    """How many of them may be sent at once after a pause."""
    latency: Span = 0.0
    """Seconds until a request is answered."""


class Trace(Section):
    """Recorded work."""

    format: Literal[
        "openb", "swf", "azure-llm", "kueue", "google-2011", "google-2019", "alibaba-2018", "philly", "helios"
    ]
    """Format of the file."""
    path: str
    """The file, or the folder of openb, relative to the scenario."""
    first: Annotated[int, Field(ge=1)] | None = None
    """Number of tasks that are read; None: all."""
    faster: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    """Factor by which the work arrives faster than recorded."""
    creations: CreationLimit | None = None
    """How fast objects are created, for the format ``kueue``: the first workloads come when nodes and queues are there.
    None: these are there from the beginning, and creating workloads takes no time.
    """
    kind: WorkKind | None = None
    """Kind of the tasks, for formats that contain only arrival and duration."""


class WorkPart(Section):
    """The work that arrives: drawn, recorded, or none."""

    generator: Generator | None = None
    """Work drawn from distributions."""
    trace: Trace | None = None
    """Work from a recorded trace."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if self.generator is not None and self.trace is not None:
            raise ValueError("generator and trace are both given; keep one")
        return self


class RequestLimit(Section):
    """Limits writes to the API server: a placed task begins once its placement is written."""

    per_second: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    """Requests per second."""
    burst: Count = 1
    """How many requests may be sent at once after a pause."""
    per_pod: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """Requests for each pod that is placed."""
    per_gang: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """Further requests for each gang, and for each pod outside gangs."""
    per_eviction: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """Requests for each pod that is evicted for a more important one; it leaves once its eviction is written."""
    per_evicted_gang: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """Further requests for each gang of which pods are evicted in a round, and for each such pod outside gangs."""
    per_refusal: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """With ``one_per_queue``, requests for each gang or pod that a round refuses, if something new is to be written
    about it; the next round waits for these, and for evictions.
    """


class Scenario(Section):
    """A whole simulation."""

    api_version: Literal["firmament.io/v1alpha1"] = API_VERSION
    """Version of the file's format."""
    kind: Literal["Simulation"] = KIND
    """Kind of the document."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    """Seed of all random draws."""
    horizon: PositiveSpan
    """Length of the simulation in seconds."""
    round_every: PositiveSpan = 1.0
    """Seconds for which events are gathered before a round."""
    sample_every: PositiveSpan = 600.0
    """Seconds between points of the report's curves."""
    configuration: str | None = None
    """The scheduler's configuration, relative to the scenario; None: the defaults."""
    restart: Literal["anew", "where-it-was"] = "anew"
    """Whether tasks that are evicted, or whose node fails, lose the work that they have done."""
    run_times: Literal["learnt", "random"] = "learnt"
    """Run times that models get: those of earlier tasks of the same kind, or random, wrong ones."""
    requests: RequestLimit | None = None
    """Limits how fast placements are written; None: no limit."""
    one_per_queue: bool = False
    """Whether only the first gang or pod of each queue takes part in a round, as in Kueue."""
    requeue_after: Span = 1.0
    """With ``one_per_queue``, seconds from an end or an eviction in a tree of queues until what was refused there
    takes part again.
    """
    cluster: ClusterPart = ClusterPart()
    """The cluster at the beginning, beside the nodes of a trace that has some."""
    workload: WorkPart = WorkPart()
    """The work that arrives."""


def load_scenario(path: Path) -> Scenario:
    """Read and check a scenario. Raises ``ConfigurationError`` with one line per fault."""
    return check_scenario(read_document(path, KIND), str(path))


def check_scenario(document: Mapping[str, Any], where: str) -> Scenario:
    """Check a parsed scenario; ``where`` is its name in messages. Raises ``ConfigurationError``."""
    faults = []
    scenario = None
    if not any(key in document for key in ("apiVersion", "kind", "cluster", "workload")):
        raise ConfigurationError(
            [f"{where} is not a scenario; if it is a trace, name it in workload.trace.path of a scenario"]
        )
    try:
        scenario = Scenario.model_validate(document, by_alias=True, by_name=False)
    except ValidationError as error:
        faults = [schema_fault(each, Scenario) for each in error.errors()]
    header = (("apiVersion", API_VERSION), ("kind", KIND))
    faults += [f"{key}: is missing; write {key}: {value}" for key, value in header if key not in document]
    if scenario is not None:
        faults += list(_find_contradictions(scenario))
    if faults or scenario is None:
        raise ConfigurationError(f"{where}: {fault}" for fault in faults)
    return scenario


def _find_contradictions(scenario: Scenario) -> list[str]:
    """Return faults that appear only when several fields are compared."""
    names = [pool.name for pool in scenario.cluster.pools]
    found = [
        f"cluster.pools: {name} is there twice; rename one"
        for name in sorted({*names})
        if names.count(name) > 1
    ]
    found += _find_too_frequent(scenario)
    for index, drain in enumerate(scenario.cluster.drains):
        if drain.pool not in names:
            found.append(
                f"cluster.drains[{index}].pool: there is no pool {drain.pool}; name one of cluster.pools"
            )
    generator = scenario.workload.generator
    if generator is not None and generator.capacity is None and not names and not scenario.cluster.files:
        found.append(
            "workload.generator.load: is a part of what nodes offer, and there are none; give cluster.pools"
        )
    if scenario.requests is not None and scenario.requests.per_refusal and not scenario.one_per_queue:
        found.append(
            "requests.perRefusal: has no effect without onePerQueue: true; set this, or leave it out"
        )
    trace = scenario.workload.trace
    if trace is not None and trace.creations is not None and trace.format != "kueue":
        found.append(
            f"workload.trace.creations: has no effect on {trace.format}, which states when work arrives; leave it out"
        )
    if trace is not None and trace.format in ("swf", "azure-llm") and trace.kind is None:
        found.append(
            f"workload.trace.kind: is missing; {trace.format} states only when work arrives: say what a task is"
        )
    if trace is not None and trace.format not in WITH_NODES and not names and not scenario.cluster.files:
        found.append(f"cluster: has no nodes, and a trace of {trace.format} has none; give cluster.pools")
    return found


WITH_NODES = frozenset({"openb", "kueue"})
"""Formats of traces that have nodes of their own."""

MOST_SAMPLES = 100_000
"""Most points of a report's curves."""

MOST_EVENTS = 5_000_000
"""Most failures, and most checks of autoscaling, in one simulation: with more, it would not end within a day."""


def _find_too_frequent(scenario: Scenario) -> list[str]:
    """Return faults for events that would come too often within the horizon for the simulation to end."""
    pools = scenario.cluster.pools
    asked = [("sampleEvery", scenario.sample_every, 1, MOST_SAMPLES)]
    if scenario.cluster.failures is not None:
        nodes = max(1, sum(pool.count for pool in pools))
        asked.append(("cluster.failures.every", scenario.cluster.failures.every, nodes, MOST_EVENTS))
    asked += [
        (f"cluster.pools[{index}].autoscaling.every", pool.autoscaling.every, 1, MOST_EVENTS)
        for index, pool in enumerate(pools)
        if pool.autoscaling is not None
    ]
    found = []
    for path, every, times, most in asked:
        if scenario.horizon / every * times > most:
            least = scenario.horizon * times / most
            found.append(
                f"{path}: must be at least {least:.3g}s, or there are more than {most:,} in the horizon"
            )
    return found
