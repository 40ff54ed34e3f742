"""Keeps the solver's Prometheus metrics, on a registry of their own."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

import firmament

if TYPE_CHECKING:
    from firmament.core.results import RoundResult

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_STAGES = ("snapshot", "network", "solve", "admit")


class _RoundMetrics:
    """Metrics of rounds."""

    def __init__(self, registry: CollectorRegistry) -> None:
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        stages = Histogram(
            "firmament_round_duration_seconds",
            "Time that a round spends in each stage.",
            ["stage"],
            buckets=_SECONDS,
            registry=registry,
        )
        # Metrics are looked up once by their labels: the look-up takes as long as the decision of a round of one
        # task.
        self._stages = {f"{each}_seconds": stages.labels(each) for each in _STAGES}
        self._total = stages.labels("total")
        tasks = counter("firmament_round_tasks", "Tasks that took part in rounds, by outcome.", ["outcome"])
        self._placed, self._pending = tasks.labels("placed"), tasks.labels("pending")
        rounds = counter(
            "firmament_rounds", "Rounds with tasks, by whether their flow was proved optimal.", ["certified"]
        )
        self._rounds = {certified: rounds.labels(str(certified).lower()) for certified in (True, False)}
        self._gap = gauge(
            "firmament_round_gap_ratio",
            "Part of the last round's cost that could be saved at most, if there were no rules: 0 to 1.",
        )
        self._cost = gauge("firmament_round_cost_points", "What the last round's placements cost, in points.")
        self._arcs = gauge("firmament_network_arcs", "Arcs of the last round's largest network.")
        self._put_off = gauge(
            "firmament_put_off_tasks",
            "Tasks that wait for a round of their own, as their namespace asks for more than one may take.",
        )
        self._searches = counter(
            "firmament_search_changes",
            "Changes that searches for a better placement have looked at, by move and outcome.",
            ["move", "outcome"],
        )
        self._unsupported = counter(
            "firmament_search_unsupported_tasks",
            "Tasks that a search had to leave as they were, by move and reason; a task counts once per round.",
            ["move", "reason"],
        )

    def record(self, result: RoundResult, seconds: float) -> None:
        """Record a round that took ``seconds`` in all."""
        stats = result.stats
        for figure, series in self._stages.items():
            series.observe(getattr(stats, figure))
        self._total.observe(seconds)
        self._placed.inc(stats.placed)
        self._pending.inc(stats.pending)
        self._arcs.set(stats.arcs)
        self._put_off.set(result.put_off)
        if stats.tasks:
            self._rounds[bool(stats.certified)].inc()
            self._gap.set(stats.gap)
            self._cost.set(stats.cost)
        for search in result.searches:
            self._searches.labels(search.move, "kept").inc(search.accepted)
            self._searches.labels(search.move, "dropped").inc(search.tried - search.accepted)
            for reason, tasks in search.unsupported.items():
                self._unsupported.labels(search.move, reason).inc(tasks)


class Metrics:
    """The metrics of the server; safe to call from any thread.

    The code that restarts solvers and opens sessions updates ``solver_restarts`` and ``sessions`` itself.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._of_rounds = _RoundMetrics(self.registry)
        counter, gauge = partial(Counter, registry=self.registry), partial(Gauge, registry=self.registry)
        self._failures = counter("firmament_round_failures", "Rounds that ended with an error.")
        self._set_aside = counter(
            "firmament_classes_set_aside",
            "Classes of tasks with which rounds failed, and which take part in none until they are defined again.",
        )
        self._remarks = counter(
            "firmament_model_remarks",
            "Remarks of cost models on bad input, such as annotations that cannot be read; each text once.",
        )
        self.solver_restarts = counter(
            "firmament_solver_restarts",
            "Solver processes replaced because they died or were killed at the time limit.",
        )
        self._refused = counter(
            "firmament_refusals",
            "Calls that were turned away: beyond a limit, or streams that did not say hello in time.",
            ["reason"],
        )
        self.sessions = gauge("firmament_sessions", "Open sessions.")
        gauge("firmament_build_info", "Always 1; the label says which version runs.", ["version"]).labels(
            firmament.__version__
        ).set(1)

    def round_done(self, result: RoundResult, seconds: float) -> None:
        """Record a round that took ``seconds`` in all."""
        self._of_rounds.record(result, seconds)
        self._remarks.inc(len(result.notes))

    def round_failed(self, set_aside: int = 0) -> None:
        """Count a round that ended with an error, and the classes that were set aside because of it."""
        self._failures.inc()
        self._set_aside.inc(set_aside)

    def count_refused(self, reason: str) -> None:
        """Count a refused call."""
        self._refused.labels(reason).inc()
