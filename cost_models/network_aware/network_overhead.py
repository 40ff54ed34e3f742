"""Network overhead: the parts of an application go where talking to each other costs least.

Source: the NetworkOverhead plugin of kubernetes-sigs/scheduler-plugins (KEP 260), whose filter, raw cost and score
`verdict` states. It looks at one pod, its own dependencies, and what is placed already; scheduled in
topology order, none of those ever is. Here the model only says which kinds of tasks depend on each other and what a
pair of domains costs; the scheduler charges pairs to whole rounds, both ends at a time:

* a pair costs its figure once, 1 point per unit of the network's cost, whichever end is placed first;
* the vote on ``maxNetworkCost`` is held against what is placed when a task's turn comes, in topology order;
* as hard limits, ``maxNetworkCost`` (``strictMaxNetworkCost``) and the capacity of links (``enforceBandwidth``) hold
  for both ends.

Objects that are missing count as the proposal says: without the NetworkTopology, or the pod's AppGroup, all machines
are alike. A list of weights that does not exist is empty: every pair of domains is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

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
from cost_models.network_aware.arguments import MODEL_NAME, read_options
from cost_models.network_aware.domains import costs_between, domains_of, links_between
from cost_models.network_aware.records import APP_GROUP, TOPOLOGY, AppGroupRecord, NetworkReader
from cost_models.network_aware.verdict import indifferent, judge_against_placed
from cost_models.pairs import PairTerms, PairVerdict, PlacedKinds

GROUP_LABEL = "appgroup.diktyo.x-k8s.io"
WORKLOAD_LABEL = "appgroup.diktyo.x-k8s.io.workload"

OUTVOTED = "node(s) did not meet the network requirements of most workload dependencies"
EXCEEDED = "node(s) exceeded the maxNetworkCost of a workload dependency"
LINK_FULL = "node(s) lacked bandwidth between zones or regions for workload dependencies"


class NetworkOverhead(BaseModel):
    """Says what dependencies between workloads cost; `arguments` says what the arguments are."""

    name = MODEL_NAME
    kind = "overlay"
    range = Range(best=0.0, worst=100.0, bounded=False)
    needs = Needs(kind_labels=(GROUP_LABEL, WORKLOAD_LABEL), qos=True, records=(APP_GROUP, TOPOLOGY))
    promises = Promises(pairs=True)

    def __init__(self, **args: Any) -> None:
        self._options = read_options(args)
        self._reader = NetworkReader(self._options)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return 0: what a task costs depends on where others are; what is wrong with the records is told here."""
        return Assessment(raw=np.zeros((shapes.count, 1)), notes=self._reader.read(machines.records).notes)

    def pair_terms(self, machines: MachineColumns, kinds: Sequence[ShapeRow]) -> PairTerms | None:
        """Return the dependencies between ``kinds``; None without a NetworkTopology or any dependency."""
        options, known = self._options, self._reader.read(machines.records)
        topology = known.topology
        if topology is None or not machines.count:
            return None
        pairs = _Pairs(kinds, known.groups)
        if not pairs.rows:
            return None
        rows = np.array(pairs.rows, dtype=np.int64).reshape(-1, 4)
        domains = domains_of(machines.labels)
        cost, rating = costs_between(domains, topology.weights.get(options.weights_name, {}))
        link, link_limit = links_between(domains, topology)
        return PairTerms(
            domain=domains.of,
            cost=cost,
            rating=rating,
            group=np.array(pairs.group, dtype=np.int64),
            stage=np.array(pairs.stage, dtype=np.int64),
            source=rows[:, 0],
            target=rows[:, 1],
            limit=rows[:, 2].astype(np.float64),
            amount=rows[:, 3],
            link=link,
            link_limit=link_limit,
            both_ways=options.both_directions,
            strict=options.strict,
            bounded=options.bandwidth,
            improve=options.joint_improvement,
            steers=not options.observe_only,
            names=tuple(kind.labels.get(WORKLOAD_LABEL, "") for kind in kinds),
            outvoted=OUTVOTED,
            exceeded=EXCEEDED,
            link_full=LINK_FULL,
        )

    def pair_verdict(
        self, machines: MachineColumns, terms: PairTerms | None, kind: int, placed: PlacedKinds
    ) -> PairVerdict:
        """Judge all machines for one more task of a kind, to upstream's letter."""
        if terms is None or kind < 0 or terms.group[kind] < 0:
            return indifferent(machines.count)
        return judge_against_placed(terms, kind, placed)


class _Pairs:
    """Dependencies between kinds. ``group``, ``stage``: of each kind; ``rows``: source, target, limit, bandwidth."""

    def __init__(self, kinds: Sequence[ShapeRow], groups: Mapping[str, AppGroupRecord]) -> None:
        number_of = {name: number for number, name in enumerate(groups)}
        members: dict[str, dict[str, int]] = {}
        self.group, self.stage = [-1] * len(kinds), [0] * len(kinds)
        for index, kind in enumerate(kinds):
            name, workload = kind.labels.get(GROUP_LABEL, ""), kind.labels.get(WORKLOAD_LABEL, "")
            record = groups.get(name)
            if record is not None and workload:
                members.setdefault(name, {})[workload] = index
                self.group[index] = number_of[name]
                self.stage[index] = record.order.get(workload, 0)
        self.rows: list[tuple[int, int, int, int]] = []
        for name, by_workload in members.items():
            for each in groups[name].dependencies:
                source, target = by_workload.get(each.workload), by_workload.get(each.dependency)
                if source is not None and target is not None:
                    self.rows.append((source, target, each.limit, each.bandwidth))
