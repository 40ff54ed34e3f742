"""Network overhead: places the workloads of an application where traffic between them costs least.

Source: the NetworkOverhead plugin of kubernetes-sigs/scheduler-plugins (KEP 260), whose filter, raw cost and score
`verdict` states. The plugin looks at one pod, its own dependencies, and the pods placed already; in topology order,
none of the pod's dependencies has been placed by then. In this model, the cost model only says which kinds of tasks
depend on each other, and what a pair of domains costs. The scheduler charges each pair of tasks of a round, whichever
end is placed first:

* a pair costs its figure once, 1 point per unit of network cost;
* tasks are placed in topology order, and ``maxNetworkCost`` judges each task against the tasks placed so far: the
  task is refused where more of its dependencies violate their limit than satisfy it;
* the hard limits, ``maxNetworkCost`` with ``strictMaxNetworkCost`` and the capacity of links with ``enforceBandwidth``,
  hold for both ends.

As in the proposal, all machines are alike if the NetworkTopology or the pod's AppGroup is missing. If the list of
weights is missing, the cost of every pair of domains is unknown.

Arguments. Arguments of upstream (apis/config/v1):

* ``namespaces`` (["default"]): where to look for AppGroups and the NetworkTopology, in this order.
* ``weightsName`` ("UserDefined"): the list of costs to use.
* ``networkTopologyName`` ("nt-default").

Further ones:

* ``bothDirections`` (true): a task is also charged for the tasks that depend on it.
* ``jointImprovement`` (true): applications are placed anew as long as that lowers the cost.
* ``strictMaxNetworkCost`` (false): no dependency may exceed its ``maxNetworkCost``.
* ``enforceBandwidth`` (false): on each link the ``minBandwidth`` of all dependencies together stays within the link's
  capacity.
* ``observeOnly`` (false): costs are reported, but do not affect placement.
* ``percentile`` (p90; or p50, p99): which measured latencies become costs. The driver computes the costs; the model
  only checks the word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cost_models.api.parsed_records import RecordParser
from cost_models.arguments import Arguments
from cost_models.interface import (
    Assessment,
    BaseModel,
    MachineColumns,
    Needs,
    Promises,
    Range,
    ShapeBatch,
    ShapeRow,
)
from cost_models.network_aware.network_costs import costs_between, domains_of, links_between
from cost_models.network_aware.records import (
    APP_GROUP,
    TOPOLOGY,
    AppGroupRecord,
    TopologyRecord,
    parse_app_group,
    parse_topology,
)
from cost_models.network_aware.verdict import indifferent, judge_against_placed
from cost_models.pairs import PairTerms, PairVerdict, PlacedKinds

PERCENTILES = ("p90", "p50", "p99")

GROUP_LABEL = "appgroup.diktyo.x-k8s.io"
WORKLOAD_LABEL = "appgroup.diktyo.x-k8s.io.workload"

OUTVOTED = "node(s) did not meet the network requirements of most workload dependencies"
EXCEEDED = "node(s) exceeded the maxNetworkCost of a workload dependency"
LINK_FULL = "node(s) lacked bandwidth between zones or regions for workload dependencies"


@dataclass(frozen=True, slots=True)
class NetworkRecords:
    """The records that the model uses.

    ``topology``: the NetworkTopology, or None; ``groups``: AppGroups by name, in order of names; ``notes``: what is
    wrong or missing.
    """

    topology: TopologyRecord | None
    groups: Mapping[str, AppGroupRecord]
    notes: tuple[str, ...]


class NetworkOverhead(BaseModel):
    """Charges for dependencies between workloads; the module's docstring lists the arguments."""

    name = "network_overhead"
    kind = "overlay"
    range = Range(best=0.0, worst=100.0, bounded=False)
    needs = Needs(kind_labels=(GROUP_LABEL, WORKLOAD_LABEL), qos=True, records=(APP_GROUP, TOPOLOGY))
    promises = Promises(pairs=True)

    def __init__(self, **args: Any) -> None:
        self._groups, self._topologies = RecordParser(parse_app_group), RecordParser(parse_topology)
        given = Arguments(self.name, args)
        self._namespaces = given.texts("namespaces", ("default",))
        self._topology = given.text("networkTopologyName", "nt-default")
        self._weights = given.text("weightsName", "UserDefined")
        self._how = {
            "both_ways": given.flag("bothDirections", default=True),
            "improve": given.flag("jointImprovement", default=True),
            "strict": given.flag("strictMaxNetworkCost", default=False),
            "bounded": given.flag("enforceBandwidth", default=False),
            "steers": not given.flag("observeOnly", default=False),
        }
        given.choice("percentile", PERCENTILES)
        given.finish()

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return a cost of 0, because a task's cost depends only on where its partners are.

        Notes name faulty records.
        """
        return Assessment(raw=np.zeros((shapes.count, 1)), notes=self._read(machines.records).notes)

    def pair_terms(self, machines: MachineColumns, kinds: Sequence[ShapeRow]) -> PairTerms | None:
        """Return the dependencies between ``kinds``; None without a NetworkTopology or any dependency."""
        known = self._read(machines.records)
        topology = known.topology
        if topology is None or not machines.count:
            return None
        group, stage, pairs = _pairs(kinds, known.groups)
        if not pairs:
            return None
        rows = np.array(pairs, dtype=np.int64)
        domains = domains_of(machines.labels)
        cost, rating = costs_between(domains, topology.weights.get(self._weights, {}))
        link, link_limit = links_between(domains, topology)
        return PairTerms(
            domain=domains.by_machine,
            cost=cost,
            rating=rating,
            group=np.array(group, dtype=np.int64),
            stage=np.array(stage, dtype=np.int64),
            source=rows[:, 0],
            target=rows[:, 1],
            limit=rows[:, 2].astype(np.float64),
            amount=rows[:, 3],
            link=link,
            link_limit=link_limit,
            names=tuple(kind.labels.get(WORKLOAD_LABEL, "") for kind in kinds),
            outvoted=OUTVOTED,
            exceeded=EXCEEDED,
            link_full=LINK_FULL,
            **self._how,
        )

    def pair_verdict(
        self, machines: MachineColumns, terms: PairTerms | None, kind: int, placed: PlacedKinds
    ) -> PairVerdict:
        """Judge all machines for one more task of a kind, exactly as upstream's plugin does."""
        if terms is None or kind < 0 or terms.group[kind] < 0:
            return indifferent(machines.count)
        return judge_against_placed(terms, kind, placed)

    def _read(self, records: Mapping[str, Mapping[str, bytes]]) -> NetworkRecords:
        """Return the records that the model uses: of several objects with one name, the one in the first of
        ``namespaces``."""
        applications = self._groups.read(records.get(APP_GROUP, {}))
        topologies = self._topologies.read(records.get(TOPOLOGY, {}))
        named = [f"{namespace}/{self._topology}" for namespace in self._namespaces]
        topology = next((topologies.good.get(name) for name in named if name in topologies.payloads), None)
        groups: dict[str, AppGroupRecord] = {}
        for namespace in self._namespaces:
            prefix = f"{namespace}/"
            for name, record in applications.good.items():
                if name.startswith(prefix):
                    groups.setdefault(name[len(prefix) :], record)
        faults = [(APP_GROUP, *each) for each in sorted(applications.faults.items())]
        faults += [(TOPOLOGY, *each) for each in sorted(topologies.faults.items())]
        notes = [f"{self.name}: {kind} {name}: {fault}; it is ignored" for kind, name, fault in faults]
        what = f"{self.name}: NetworkTopology {self._topology}"
        if groups and topology is None:
            where = ", ".join(self._namespaces)
            notes.append(f"{what}: not found in namespace {where}; all machines are alike")
        elif topology is not None and self._weights not in topology.weights:
            notes.append(f"{what}: no weights named {self._weights}; all costs are unknown")
        return NetworkRecords(topology, dict(sorted(groups.items())), tuple(notes))


def _pairs(
    kinds: Sequence[ShapeRow], groups: Mapping[str, AppGroupRecord]
) -> tuple[list[int], list[int], list[tuple[int, int, int, int]]]:
    """Return application and stage of each kind of task, and dependencies between kinds: source, target, limit,
    bandwidth."""
    number_of = {name: number for number, name in enumerate(groups)}
    members: dict[str, dict[str, int]] = {}
    group, stage = [-1] * len(kinds), [0] * len(kinds)
    for index, kind in enumerate(kinds):
        name, workload = kind.labels.get(GROUP_LABEL, ""), kind.labels.get(WORKLOAD_LABEL, "")
        record = groups.get(name)
        if record is not None and workload:
            members.setdefault(name, {})[workload] = index
            group[index], stage[index] = number_of[name], record.order.get(workload, 0)
    rows = []
    for name, by_workload in members.items():
        for each in groups[name].dependencies:
            source, target = by_workload.get(each.workload), by_workload.get(each.dependency)
            if source is not None and target is not None:
                rows.append((source, target, each.limit, each.bandwidth))
    return group, stage, rows
