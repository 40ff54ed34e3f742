"""Builds a simulation from a scenario: the cluster of its files and pools, the arriving work, and the solver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from poseidon.embedding import load_configuration
from poseidon.kube.api.nodes import Node
from poseidon.kube.parsing.defects import Defect
from poseidon.manifests.documents import Given, GivenObject
from poseidon.manifests.loader import ManifestError, Manifests, load_manifests
from poseidon.nodes.machines import machine
from poseidon.offline.cluster import OfflineCluster, build_offline_cluster
from poseidon.pods.learnt_run_times import KIND as HISTORY
from poseidon.pods.requests_and_limits import amounts
from poseidon.pods.tasks import workload_of
from poseidon.simulate.classes import TaskKinds, TemplateError, request_row, translate_templates
from poseidon.simulate.engine import BEGIN, Clock, Simulation
from poseidon.simulate.measurements import Record
from poseidon.simulate.node_events import NodeEvents
from poseidon.simulate.nodes import PoolError, SimulatedMachines, check_pool, nodes_of
from poseidon.simulate.rounds.queue_heads import QueueHeads
from poseidon.simulate.rounds.request_limit import RequestBucket
from poseidon.simulate.run_time_records import RunTimeRecords
from poseidon.simulate.scenario.document import Generator, NodePool, Scenario
from poseidon.simulate.tasks import TaskColumns
from poseidon.simulate.workloads.columns import ALONE, Work, no_work
from poseidon.simulate.workloads.generator import generate, template_of
from poseidon.simulate.workloads.traces import Recorded, TraceError, read_trace
from protos.configuration.file import ConfigurationError


class SimulationError(ValueError):
    """Raised if a scenario cannot be run. ``lines`` has one line per fault."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join(lines))


def set_up(scenario: Scenario, folder: Path) -> Simulation:
    """Return the simulation of a scenario at its beginning; the scenario's paths are relative to ``folder``.

    Raises ``SimulationError`` if the scenario cannot be run.
    """
    try:
        return _set_up(scenario, folder)
    except (ConfigurationError, ManifestError) as error:
        raise SimulationError(error.lines) from error
    except (TraceError, PoolError, TemplateError, ValueError) as error:
        raise SimulationError([str(error)]) from error


def _set_up(scenario: Scenario, folder: Path) -> Simulation:
    named = scenario.configuration
    configuration = load_configuration(folder / named if named else None)
    trace = scenario.workload.trace
    recorded = read_trace(trace, folder) if trace is not None else Recorded(no_work())
    for pool in scenario.cluster.pools:
        check_pool(pool)
    manifests = _describe_cluster(scenario, folder, recorded)
    clock = Clock()
    cluster = build_offline_cluster(manifests, configuration, BEGIN, clock=clock, simulated=True)
    return assemble(scenario, cluster, manifests, clock, recorded.work)


def assemble(
    scenario: Scenario,
    cluster: OfflineCluster,
    manifests: Manifests,
    clock: Clock,
    recorded: Work,
) -> Simulation:
    """Return a simulation of a cluster that has been read, with the scenario's work and ``recorded`` work.

    Raises ``ValueError`` if the work cannot be drawn.
    """
    messages = [machine(node)[0] for node in manifests.nodes]
    machines = SimulatedMachines(
        messages, (name for pool in scenario.cluster.pools for name in pool.allocatable)
    )
    random = np.random.default_rng(scenario.seed)
    generator = scenario.workload.generator
    templates = recorded.templates if generator is None else [template_of(kind) for kind in generator.kinds]
    kinds = translate_templates(templates, cluster.state, machines.resources)
    if generator is None:
        work = recorded.come_before(scenario.horizon)
    else:
        work = _draw_work(generator, scenario, machines, kinds, random)
    work, kinds, running = _add_running_pods(cluster, work, kinds, machines)
    tasks = TaskColumns(work)
    counts = np.bincount(work.template, minlength=len(kinds.names)).astype(np.float64)
    record = Record(scenario.sample_every, kinds, counts / max(counts.sum(), 1.0))
    pools = {pool.name: pool for pool in scenario.cluster.pools}
    events = NodeEvents(
        pools, _find_members(pools, machines), scenario.cluster.failures, scenario.cluster.drains, random
    )
    reads_runs = HISTORY in cluster.state.classes.visibility.records
    simulation = Simulation(
        cluster.scheduler, clock, machines, kinds, tasks,
        uids=dict(enumerate(uid for uid, _, _ in running)),
        jobs={place: job for place, (_, job, _) in enumerate(running) if job},
        node_events=events, record=record, horizon=scenario.horizon, round_every=scenario.round_every,
        keeps_work=scenario.restart == "where-it-was", arrived=len(running), warnings=list(cluster.warnings),
        requests=RequestBucket(scenario.requests) if scenario.requests is not None else None,
        told_runs=RunTimeRecords(scenario.run_times, scenario.seed, cluster.state.history) if reads_runs else None,
        heads=QueueHeads(kinds, _find_roots(cluster), scenario.requeue_after) if scenario.one_per_queue else None,
    )  # fmt: skip
    for place, (_, _, where) in enumerate(running):
        if where:
            tasks.place(place, machines.number[where], 0.0)
        else:
            tasks.arrive(np.array([place]))
            simulation.wakes = 0.0
    return simulation


def _find_roots(cluster: OfflineCluster) -> dict[str, str]:
    """Return, by name of quota, the root of its tree, for all quotas that the solver enforces.

    Raises ``ValueError`` if the configuration reads no queues.
    """
    queues = cluster.state.queues
    if queues is None:
        raise ValueError(
            "onePerQueue: no queues are read; name their project in queues.source of the configuration"
        )
    return {each.name: queues.find_root(each) for each in queues.quotas.values()}


def _describe_cluster(scenario: Scenario, folder: Path, recorded: Recorded) -> Manifests:
    """Return all manifests: those of the scenario's files, the nodes of its pools, and the objects of its trace."""
    given: list[Given] = [str(folder / each) for each in scenario.cluster.files]
    given += [GivenObject("workload.trace", each) for each in recorded.objects]
    manifests = load_manifests(given) if given else Manifests((), (), (), (), ())
    made = [node for pool in scenario.cluster.pools for node in nodes_of(pool, 0, pool.count)]
    own = made or manifests.nodes
    traced = [] if own else [msgspec.convert(node, Node) for node in recorded.nodes]
    found = replace(manifests, nodes=(*manifests.nodes, *made, *traced))
    if not found.nodes and not any(pool.autoscaling for pool in scenario.cluster.pools):
        raise ValueError("cluster: has no nodes, so that nothing could be placed; give files or pools")
    return found


def _draw_work(
    generator: Generator,
    scenario: Scenario,
    machines: SimulatedMachines,
    kinds: TaskKinds,
    random: np.random.Generator,
) -> Work:
    """Return work drawn from distributions; its load is a share of what the nodes offer at the beginning."""
    if generator.resource not in machines.resources:
        raise ValueError(f"workload.generator.resource: no node offers {generator.resource}; name another")
    column = machines.resources.index(generator.resource)
    offered = float(machines.offered[:, column].sum())
    if generator.capacity is not None:
        defects: list[Defect] = []
        given: dict[str, str | int | float] = {generator.resource: str(generator.capacity)}
        offered = float(amounts(given, "workload.generator.capacity", defects).get(generator.resource, 0))
        for defect in defects:
            raise ValueError(str(defect))
    return generate(
        generator, kinds.requests[:, column].astype(np.float64), offered, scenario.horizon, random
    )


def _add_running_pods(
    cluster: OfflineCluster, work: Work, kinds: TaskKinds, machines: SimulatedMachines
) -> tuple[Work, TaskKinds, list[tuple[str, str, str]]]:
    """Put the pods of the cluster's files in front of the work: running pods, which never end, and waiting pods.

    Returns the work, and the uids, jobs and nodes ("" for none) of the added pods.
    """
    running: list[tuple[str, str, str]] = []
    places: list[int] = []
    classes, names = list(kinds.classes), list(kinds.names)
    priorities, spread, requests = list(kinds.priorities), list(kinds.spread), list(kinds.requests)
    known: dict[tuple[int, int, str], int] = {}
    for record in cluster.state.records():
        each, node = record.task, record.node if record.node in machines.number else ""
        if not node and not record.schedulable:
            continue
        key = each.task_class, each.priority, each.spread
        if key not in known:
            known[key] = len(classes)
            message = cluster.state.classes.message(each.task_class)
            classes.append(message)
            names.append(workload_of(cluster.pods[each.uid]))
            priorities.append(each.priority)
            spread.append(each.spread)
            requests.append(request_row(message, machines.resources))
        places.append(known[key])
        running.append((each.uid, each.job, node))
    if not running:
        return work, kinds, []
    ever = np.full(len(running), np.inf)
    first = np.array(places, dtype=np.int64)
    whole = Work(
        work.templates,
        np.concatenate([np.zeros(len(running)), work.arrival]),
        np.concatenate([ever, work.duration]),
        np.concatenate([first, work.template]),
        np.concatenate([np.full(len(running), ALONE, dtype=np.int64), work.gang]),
    )
    rows = np.array(requests, dtype=np.int64).reshape(len(classes), len(machines.resources))
    groups = (*kinds.groups, *([None] * (len(classes) - len(kinds.groups))))
    found = TaskKinds(tuple(names), tuple(classes), tuple(priorities), tuple(spread), rows, groups)
    return whole, found, running


def _find_members(pools: Mapping[str, NodePool], machines: SimulatedMachines) -> dict[str, list[int]]:
    """Return the numbers of the machines of each pool, by name of the pool."""
    return {
        name: [machines.number[f"{name}-{place}"] for place in range(pool.count)]
        for name, pool in pools.items()
    }
