"""Computes rates, times and counts of a running bridge and its solver, from the metrics that both programs serve."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from protos.conventions.logs import one_line

Labels = tuple[tuple[str, str], ...]
Values = Mapping[tuple[str, Labels], float]
"""Values of samples by name and sorted labels."""

STAGES = ("snapshot", "network", "solve", "admit")


class Quantiles(NamedTuple):
    """Median (``median``) and 99th percentile (``most``) in seconds; NaN if nothing was measured."""

    median: float
    most: float


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of a running bridge and its solver, between two readings, or for all time after a single reading."""

    nodes: int
    """Number of nodes that the bridge knows."""
    leads: bool
    """Whether the bridge is the leader."""
    connected: bool
    """Whether the bridge has a stream to the solver."""
    refused: bool
    """Whether the solver refuses the bridge."""
    queues: Mapping[str, int]
    """Number of waiting pods by what they wait for."""
    in_flight: int
    """Number of bindings that have been sent and not been answered."""
    bound: float
    """Number of pods bound per second."""
    bound_in_all: int
    """Number of pods bound since the bridge started."""
    scheduling: Quantiles
    """Seconds from a pod's creation to its binding."""
    answer: Quantiles
    """Seconds from sending a pod to the solver to its placement."""
    binding: Quantiles
    """Seconds that a binding takes at the API server."""
    rounds: float
    """Number of rounds per second."""
    stages: Mapping[str, float]
    """Mean seconds of each stage of a round."""
    arcs: int
    """Number of arcs in the last round's network."""
    failures: int
    """Number of rounds that failed."""

    def as_json(self) -> dict[str, Any]:
        """Return the figures as the JSON object that the documents describe; times are null if nothing was measured."""
        return {
            "nodes": self.nodes,
            "leads": self.leads,
            "solver": {"connected": self.connected, "refused": self.refused, "roundFailures": self.failures},
            "waiting": dict(self.queues),
            "bindingsInFlight": self.in_flight,
            "boundPerSecond": round(self.bound, 3),
            "bound": self.bound_in_all,
            "seconds": {
                name: {"p50": _number(each.median), "p99": _number(each.most)}
                for name, each in (
                    ("scheduling", self.scheduling),
                    ("answer", self.answer),
                    ("binding", self.binding),
                )
            },
            "roundsPerSecond": round(self.rounds, 3),
            "stages": {name: _number(spent) for name, spent in self.stages.items()},
            "arcs": self.arcs,
        }


def parse_metrics(text: str) -> Values:
    """Return the finite samples of a page of metrics. Raises ``ValueError`` if the text is no page of metrics."""
    try:
        return {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if math.isfinite(sample.value)
        }
    # The parser raises many types of errors for faulty text.
    except (ValueError, LookupError, TypeError) as error:
        why = one_line(str(error))[:100] or "it ends too early"
        raise ValueError(f"the answer is no page of metrics ({why})") from error


def compute_figures(now: Values, before: Values | None, seconds: float) -> Figures:
    """Return the figures of two readings of both programs, ``seconds`` apart.

    ``before`` is None after the first reading.
    """
    change = _Change(now, before or {})
    since = seconds if before is not None and seconds > 0 else math.inf
    rounds = change.get_growth("firmament_round_duration_seconds_count", stage="total")
    stages = {
        stage: change.get_growth("firmament_round_duration_seconds_sum", stage=stage) / rounds
        if rounds
        else math.nan
        for stage in STAGES
    }
    bound = change.get_growth("poseidon_pods_bound_total")
    return Figures(
        nodes=int(_one(now, "poseidon_nodes")),
        leads=_one(now, "poseidon_leader") == 1,
        connected=_one(now, "poseidon_solver_connected") == 1,
        refused=_one(now, "poseidon_solver_refused") == 1,
        queues={
            queue: int(value)
            for (name, labels), value in sorted(now.items())
            if name == "poseidon_queue_pods" and (queue := dict(labels).get("queue"))
        },
        in_flight=int(_one(now, "poseidon_bind_queue_length")),
        bound=bound / since,
        bound_in_all=int(_one(now, "poseidon_pods_bound_total")),
        scheduling=change.quantiles("poseidon_pod_scheduling_sli_duration_seconds"),
        answer=change.quantiles("poseidon_solver_answer_duration_seconds"),
        binding=change.quantiles("poseidon_bind_duration_seconds"),
        rounds=rounds / since,
        stages=stages,
        arcs=int(_one(now, "firmament_network_arcs")),
        failures=int(_one(now, "firmament_round_failures_total")),
    )


class _Change:
    def __init__(self, now: Values, before: Values) -> None:
        self._now, self._before = now, before

    def get_growth(self, name: str, **labels: str) -> float:
        """Return by how much a counter grew between the readings; a counter that was reset counts from 0."""
        key = (name, tuple(sorted(labels.items())))
        now, before = self._now.get(key, 0.0), self._before.get(key, 0.0)
        return now - before if now >= before else now

    def quantiles(self, name: str) -> Quantiles:
        """Return quantiles of a histogram summed over its labels, computed as by Prometheus' histogram_quantile."""
        buckets: dict[float, float] = {}
        for key in self._now:
            if key[0] == f"{name}_bucket":
                labels = dict(key[1])
                with suppress(KeyError, ValueError):  # skip buckets whose ``le`` is missing or no number
                    edge = float(labels["le"])
                    buckets[edge] = buckets.get(edge, 0.0) + self.get_growth(key[0], **labels)
        ordered = sorted(buckets.items())
        return Quantiles(_quantile(ordered, 0.5), _quantile(ordered, 0.99))


def _quantile(buckets: list[tuple[float, float]], part: float) -> float:
    """Return the quantile ``part`` (0 to 1) of a histogram, NaN if it is empty.

    ``buckets`` has the upper edge of each bucket and the count up to that edge, in ascending order; the last edge is
    infinite.
    """
    if not buckets or not buckets[-1][1]:
        return math.nan
    wanted, low, counted = part * buckets[-1][1], 0.0, 0.0
    for edge, count in buckets:
        if count >= wanted:
            return (
                low
                if math.isinf(edge)
                else low + (edge - low) * (wanted - counted) / max(count - counted, 1e-12)
            )
        low, counted = edge, count
    return low


def _one(values: Values, name: str) -> float:
    return values.get((name, ()), 0.0)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 6)
