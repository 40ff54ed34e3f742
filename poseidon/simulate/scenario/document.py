"""The scenario file: one YAML mapping of kind ``Simulation``, which is checked completely before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import Field, ValidationError, model_validator

from poseidon.simulate.scenario.durations import Durations, PositiveSpan, Span
from protos.configuration.error_messages import explain_error
from protos.configuration.file import ConfigurationError, read_document
from protos.configuration.sections import Section

API_VERSION: Final = "firmament.io/v1alpha1"
KIND: Final = "Simulation"

Count: TypeAlias = Annotated[int, Field(ge=1, le=1_000_000)]
Name: TypeAlias = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]


class Autoscaling(Section):
    """Autoscaling of a pool: nodes are added while pods wait, and removed when they are empty."""

    least: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    """Minimum number of nodes in the pool."""
    most: Count
    """Maximum number of nodes in the pool."""
    delay: Span = 180.0
    """Seconds from the order of a node until the node is ready."""
    idle: PositiveSpan = 600.0
    """Seconds for which a node must be empty before it is removed."""
    every: PositiveSpan = 30.0
    """Seconds between two checks of the autoscaler."""


class NodePool(Section):
    """A pool of equal nodes."""

    name: Name
    """First part of the names of the pool's nodes."""
    count: Annotated[int, Field(ge=0, le=1_000_000)] = 1
    """Number of the pool's nodes at the beginning."""
    allocatable: dict[str, str | int | float]
    """Amounts that a node offers, as in ``status.allocatable``; 110 pods if it states no number of pods."""
    labels: dict[str, str] = Field(default={})
    """Labels of the nodes, in addition to those for host name and zone."""
    taints: tuple[dict[str, str], ...] = ()
    """Taints of the nodes, as in ``spec.taints``."""
    zones: tuple[str, ...] = ()
    """Zones to which the nodes are assigned one after another."""
    autoscaling: Autoscaling | None = None
    """How the pool grows and shrinks; if None, its size is fixed."""


class Failures(Section):
    """Random failures of single nodes, independent of each other."""

    every: PositiveSpan
    """Mean time between failures of one node, in seconds."""
    repair: Durations = Durations(mean=3600.0)
    """Seconds until a failed node is ready again."""


class Drain(Section):
    """A drain: nodes are emptied for maintenance."""

    at: Span
    """When the drain begins, in seconds from the beginning of the simulation."""
    nodes: Count
    """Number of nodes to drain: the first nodes of the pool."""
    pool: Name
    """The pool whose nodes are emptied."""
    lasts: PositiveSpan = 3600.0
    """Seconds until the drained nodes come back."""


class ClusterPart(Section):
    """The cluster at the beginning of the simulation."""

    files: tuple[str, ...] = ()
    """Manifests of nodes, of pods that run or wait, and of anything else that ``poseidon plan`` reads."""
    pools: tuple[NodePool, ...] = ()
    """Pools of nodes."""
    failures: Failures | None = None
    """How nodes fail; if None, no node fails."""
    drains: tuple[Drain, ...] = ()
    """When which nodes are drained."""


class WorkKind(Section):
    """A kind of equal tasks: a pod template, and how long the tasks run."""

    name: Name
    """First part of the names of the kind's pods, and its name in the report."""
    share: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    """Share of the load, relative to the other kinds; the shares need not add up to 1."""
    duration: Durations
    """Run times of the kind's tasks."""
    requests: dict[str, str | int | float] = Field(default={})
    """Requests of the pod's only container, unless ``pod`` states them."""
    pod: dict[str, Any] = Field(default={})
    """A pod template with metadata and spec, as in Kubernetes."""
    priority: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] | None = None
    """Priority of the tasks, unless the template states one."""
    members: Count = 1
    """Number of tasks in a gang; the tasks of a gang arrive, are placed and end together."""
    within: str = ""
    """Node label, such as topology.kubernetes.io/zone: all tasks of a gang get nodes with the same value of the label.

    With "", the gang may use any nodes.
    """
    rather_within: str = ""
    """Node label, used like ``within``, but only as a preference."""


class Generator(Section):
    """Work drawn from distributions: tasks of each kind arrive as a Poisson process."""

    load: Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)]
    """Offered load as a share of ``capacity``: arrivals per second × mean duration × request."""
    capacity: str | int | float | None = None
    """The amount of ``resource`` of which ``load`` is a share, such as 640 cores.

    If None, ``capacity`` is the amount that all nodes offer at the beginning.
    """
    resource: str = "cpu"
    """The resource by which the load is measured."""
    kinds: Annotated[tuple[WorkKind, ...], Field(min_length=1)]
    """The kinds of tasks that arrive."""
    daily: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Daily swing, as a share of the mean rate: how much more arrives at the busiest time, and less at the quietest."""
    warm: bool = True
    """Whether the tasks that would be running at the beginning wait at that time.

    If the tasks do not wait at that time, the cluster starts idle.
    """


class CreationLimit(Section):
    """Limits on the rates at which Kueue's generator creates nodes, queues and workloads, by requests in order."""

    per_second: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    """Requests per second for objects of one kind."""
    burst: Count = 1
    """How many requests for objects of one kind may be sent at once after a pause."""
    latency: Span = 0.0
    """Seconds until a request is answered."""


class Trace(Section):
    """Recorded work that arrives in the simulation."""

    format: Literal[
        "openb", "swf", "azure-llm", "kueue", "google-2011", "google-2019", "alibaba-2018", "philly", "helios"
    ]
    """Format of the trace's file."""
    path: str
    """The trace's file, or the folder of an openb trace, relative to the scenario."""
    first: Annotated[int, Field(ge=1)] | None = None
    """Number of tasks that are read; if None, all."""
    faster: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    """Factor by which the work arrives faster than it was recorded."""
    creations: CreationLimit | None = None
    """How fast objects are created, for the format ``kueue``; the first workloads arrive when nodes and queues exist.

    If None, nodes and queues exist from the beginning, and creating workloads takes no time.
    """
    kind: WorkKind | None = None
    """Kind of the tasks, for formats that contain only arrivals and durations."""


class WorkPart(Section):
    """The work that arrives: drawn from distributions, recorded, or none."""

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
    """Limit on writes to the API server; a placed task begins when its placement is written."""

    per_second: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    """Requests that may be sent per second."""
    burst: Count = 1
    """How many requests may be sent at once after a pause."""
    per_pod: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """Number of requests for each pod that is placed."""
    per_gang: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """Number of further requests for each gang, and for each pod without a gang."""
    per_eviction: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """Number of requests for each pod that is evicted for a more important one.

    The pod leaves when its eviction is written.
    """
    per_evicted_gang: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """Number of further requests for each gang with evicted pods in a round, and for each evicted single pod."""
    per_refusal: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """With ``one_per_queue``: number of requests for each refused gang or pod whose state is written anew.

    The next round waits for the requests about refusals and evictions.
    """


class Scenario(Section):
    """A whole scenario: cluster, work, and how time passes."""

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
    """File of the scheduler's configuration, relative to the scenario; if None, the defaults."""
    restart: Literal["anew", "where-it-was"] = "anew"
    """Whether tasks that are evicted, or whose node fails, lose the work that they have done."""
    run_times: Literal["learnt", "random"] = "learnt"
    """Which run times cost models get: those of earlier tasks of the same kind, or random, wrong ones."""
    requests: RequestLimit | None = None
    """Limit on how fast placements are written; None: no limit."""
    one_per_queue: bool = False
    """Whether only the first gang or pod of each queue takes part in a round, as in Kueue."""
    requeue_after: Span = 1.0
    """With ``one_per_queue``: seconds from an end or eviction in a tree of queues until it retries refused tasks."""
    cluster: ClusterPart = ClusterPart()
    """The cluster at the beginning, in addition to the nodes of a trace that has some."""
    workload: WorkPart = WorkPart()
    """The work that arrives."""


def load_scenario(path: Path) -> Scenario:
    """Read and check a scenario. Raises ``ConfigurationError`` with one line per fault."""
    return check_scenario(read_document(path, KIND), str(path))


def check_scenario(document: Mapping[str, Any], where: str) -> Scenario:
    """Check a parsed scenario; ``where`` is its name in messages.

    Raises ``ConfigurationError`` if the scenario has faults.
    """
    faults = []
    scenario = None
    if not any(key in document for key in ("apiVersion", "kind", "cluster", "workload")):
        raise ConfigurationError(
            [f"{where} is not a scenario; if it is a trace, name it in workload.trace.path of a scenario"]
        )
    try:
        scenario = Scenario.model_validate(document, by_alias=True, by_name=False)
    except ValidationError as error:
        faults = [explain_error(each, Scenario) for each in error.errors()]
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
"""Formats of traces that contain their own nodes."""

MOST_SAMPLES = 100_000
"""The most points of a report's curves."""

MOST_EVENTS = 5_000_000
"""The most failures, and the most checks of autoscalers, in one simulation; with more, it would run for over a day."""


def _find_too_frequent(scenario: Scenario) -> list[str]:
    """Return faults for events that are so frequent within the horizon that the simulation would not end."""
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
