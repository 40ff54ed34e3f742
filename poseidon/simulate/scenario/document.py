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
    """Nodes of a pool come while pods wait, and go when they are empty."""

    least: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    """Nodes that always stay."""
    most: Count
    """Nodes at most."""
    delay: Span = 180.0
    """Seconds from the decision until a node is ready."""
    idle: PositiveSpan = 600.0
    """Seconds after which an empty node goes."""
    every: PositiveSpan = 30.0
    """Seconds between looks."""


class NodePool(Section):
    """Nodes that are alike."""

    name: Name
    """Begins the names of its nodes."""
    count: Annotated[int, Field(ge=0, le=1_000_000)] = 1
    """Nodes at the beginning."""
    allocatable: dict[str, str | int | float]
    """What a node offers, as in ``status.allocatable``; 110 pods unless it says otherwise."""
    labels: dict[str, str] = Field(default={})
    """Labels, beside the name and the zone."""
    taints: tuple[dict[str, str], ...] = ()
    """Taints, as in ``spec.taints``."""
    zones: tuple[str, ...] = ()
    """Zones over which nodes are dealt in turn."""
    autoscaling: Autoscaling | None = None
    """How the pool grows and shrinks; None: it stays as it is."""


class Failures(Section):
    """Nodes fail by themselves, independently of each other."""

    every: PositiveSpan
    """Mean seconds between failures of one node."""
    repair: Durations = Durations(mean=3600.0)
    """How long one is away."""


class Drain(Section):
    """Nodes are emptied for maintenance."""

    at: Span
    """When, in seconds from the beginning."""
    nodes: Count
    """How many, the first of the pool by name."""
    pool: Name
    """The pool whose nodes are emptied."""
    lasts: PositiveSpan = 3600.0
    """Seconds until they come back."""


class ClusterPart(Section):
    """The cluster at the beginning."""

    files: tuple[str, ...] = ()
    """Manifests: nodes, pods that run or wait, priority classes, budgets, anything that ``poseidon plan`` reads."""
    pools: tuple[NodePool, ...] = ()
    """Nodes by the number."""
    failures: Failures | None = None
    """How nodes fail; None: they do not."""
    drains: tuple[Drain, ...] = ()
    """When nodes are emptied."""


class WorkKind(Section):
    """Tasks that are alike: a pod template, and how long they run."""

    name: Name
    """Begins the names of its pods, and stands in the report."""
    share: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    """Part of the load, beside those of the other kinds; the parts need not add up to 1."""
    duration: Durations
    """How long a task runs."""
    requests: dict[str, str | int | float] = Field(default={})
    """Requests of the one container, where ``pod`` says nothing."""
    pod: dict[str, Any] = Field(default={})
    """A pod template: metadata and spec, as in Kubernetes."""
    priority: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] | None = None
    """Its priority, where the template says nothing."""
    members: Count = 1
    """Tasks that come, are placed and end together: a gang."""
    within: str = ""
    """Label of nodes: all members go to nodes with one value of it, such as topology.kubernetes.io/zone; "" for any."""
    rather_within: str = ""
    """The same as a wish."""


class Generator(Section):
    """Work drawn from distributions: each kind arrives as a Poisson process."""

    load: Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)]
    """Offered work, as a part of ``capacity``: arrivals per second times mean duration times request."""
    capacity: str | int | float | None = None
    """The amount of ``resource`` that ``load`` is a part of, such as 640 cores; None: what the nodes offer at first."""
    resource: str = "cpu"
    """The resource by which the load is counted."""
    kinds: Annotated[tuple[WorkKind, ...], Field(min_length=1)]
    """What arrives."""
    daily: Annotated[float, Field(ge=0, le=1)] = 0.0
    """How much more arrives at the busiest time of the day, and less at the quietest, as a part of the mean."""
    warm: bool = True
    """Whether the work that would be under way at the beginning of such a day waits then; else the cluster is idle."""


class Trace(Section):
    """Work as it was recorded."""

    format: Literal[
        "openb", "swf", "azure-llm", "kueue", "google-2011", "google-2019", "alibaba-2018", "philly", "helios"
    ]
    """How the file is written."""
    path: str
    """The file, or the folder of openb, relative to the scenario."""
    first: Annotated[int, Field(ge=1)] | None = None
    """How many tasks are taken; None: all."""
    faster: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    """How many times faster work arrives than it did."""
    kind: WorkKind | None = None
    """What a task is, for formats that say only when it came and how long it took."""


class WorkPart(Section):
    """What arrives: drawn, recorded, or nothing."""

    generator: Generator | None = None
    """Work drawn from distributions."""
    trace: Trace | None = None
    """Work as recorded."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if self.generator is not None and self.trace is not None:
            raise ValueError("generator and trace are both given; keep one")
        return self


class RequestLimit(Section):
    """How fast the API server is written to: what is placed begins once that has been written."""

    per_second: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    """Requests per second."""
    burst: Count = 1
    """Requests that may go at once after a pause."""
    per_pod: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """Requests for each pod that is placed."""
    per_gang: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """Requests beside those, for each gang and each pod that is in none."""
    per_eviction: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """Requests for each pod that is evicted for a more important one."""


class Scenario(Section):
    """A whole simulation."""

    api_version: Literal["firmament.io/v1alpha1"] = API_VERSION
    """Version of the form."""
    kind: Literal["Simulation"] = KIND
    """What the file is."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    """Decides everything that is drawn."""
    horizon: PositiveSpan
    """Seconds that are simulated."""
    round_every: PositiveSpan = 1.0
    """Seconds for which events are gathered before the solver decides."""
    sample_every: PositiveSpan = 600.0
    """Seconds between points of the report's curves."""
    configuration: str | None = None
    """The scheduler's configuration, relative to the scenario; None: the defaults."""
    restart: Literal["anew", "where-it-was"] = "anew"
    """Whether what was evicted, or was on a node that failed, has lost its work."""
    run_times: Literal["learnt", "random"] = "learnt"
    """What models are told about run times: what tasks of the same kind took, or times that are drawn and wrong."""
    requests: RequestLimit | None = None
    """How fast placements are written; None: at once."""
    cluster: ClusterPart
    """The cluster at the beginning."""
    workload: WorkPart = WorkPart()
    """What arrives."""


def load_scenario(path: Path) -> Scenario:
    """Read and check a scenario. Raises ``ConfigurationError`` with a line per fault."""
    return check_scenario(read_document(path, KIND), str(path))


def check_scenario(document: Mapping[str, Any], where: str) -> Scenario:
    """Check a scenario that is read already, and is called ``where``. Raises ``ConfigurationError``."""
    faults = []
    scenario = None
    try:
        scenario = Scenario.model_validate(document, by_alias=True, by_name=False)
    except ValidationError as error:
        faults = [schema_fault(each, Scenario) for each in error.errors()]
    header = (("apiVersion", API_VERSION), ("kind", KIND))
    faults += [f"{key}: is missing; write {key}: {value}" for key, value in header if key not in document]
    if scenario is not None:
        faults += list(_contradictions(scenario))
    if faults or scenario is None:
        raise ConfigurationError(f"{where}: {fault}" for fault in faults)
    return scenario


def _contradictions(scenario: Scenario) -> list[str]:
    """Return what single fields do not show to be wrong."""
    names = [pool.name for pool in scenario.cluster.pools]
    found = [
        f"cluster.pools: {name} is there twice; rename one"
        for name in sorted({*names})
        if names.count(name) > 1
    ]
    found += _too_often(scenario)
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
    trace = scenario.workload.trace
    if trace is not None and trace.format in ("swf", "azure-llm") and trace.kind is None:
        found.append(
            f"workload.trace.kind: is missing; {trace.format} says only when work came: say what a task is"
        )
    return found


MOST_SAMPLES = 100_000
"""Points of a report's curves."""

MOST_EVENTS = 5_000_000
"""Failures, and looks of autoscaling, in one simulation: beyond, it would not end within a day."""


def _too_often(scenario: Scenario) -> list[str]:
    """Return what would come too often within the horizon for the simulation to end."""
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
