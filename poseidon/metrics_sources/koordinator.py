"""Reads Koordinator's NodeMetric objects as its plugin ``LoadAwareScheduling`` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from poseidon.custom_records import NameIndex
from poseidon.kube.api.metadata import seconds
from poseidon.kube.api.other_projects.metrics import AggregatedUsage, NodeMetric, PodMetricInfo
from poseidon.kube.api.resource import Change
from poseidon.metrics_sources.amounts import amounts_in_use, parse_go_duration
from poseidon.metrics_sources.intake import Fault, Intake
from poseidon.metrics_sources.readings import PERCENTILES, NodeReading, PodReading, Window

DEFAULT_INTERVAL = 60.0
"""The seconds between two reports of a NodeMetric that states no interval."""

FUTURE_TOLERANCE = 60.0
"""The seconds by which the clock of a node may be ahead without being a fault."""


class NodeMetricTaker:
    """The source that passes changed NodeMetrics to ``intake``.

    ``wall`` returns seconds since the epoch, to detect reports whose time is in the future.
    """

    def __init__(self, intake: Intake, wall: Callable[[], float]) -> None:
        self._intake = intake
        self._wall = wall
        self._names = NameIndex()

    def take_changes(self, changes: Sequence[Change[NodeMetric]]) -> None:
        """Add the readings of changed NodeMetrics, and remove the readings of nodes whose NodeMetrics are deleted."""
        now = self._wall()
        for change in changes:
            if change.object is None:
                if name := self._names.remove(change.uid):
                    self._intake.forget_node(name)
            elif name := change.object.metadata.name:
                self._names.put(change.uid, name)
                self._intake.add_reading(*reading(change.object, now))


def reading(metric: NodeMetric, now: float) -> tuple[NodeReading, tuple[Fault, ...]]:
    """Return the reading of a NodeMetric, and its faults.

    Faulty entries are left out. As in Koordinator, a report whose time is in the future keeps this time, and so counts
    as current for longer. ``now`` is in seconds since the epoch.
    """
    faults: list[Fault] = []
    status = metric.status
    measured = status.node_metric
    taken = NodeReading(
        node=metric.metadata.name,
        time=parse_time(status.update_time, "status.updateTime", now, faults),
        interval=_interval(metric, faults),
        usage=None
        if measured is None
        else amounts_in_use(measured.node_usage.resources, "status.nodeMetric.nodeUsage", faults),
        windows=() if measured is None else tuple(_windows(measured.aggregated_node_usages, faults)),
        aggregates=True,
        system=None
        if measured is None or not measured.system_usage.resources
        else amounts_in_use(measured.system_usage.resources, "status.nodeMetric.systemUsage", faults),
        pods=tuple(_pods(status.pods_metric, faults)),
    )
    return taken, tuple(faults)


def parse_time(text: str | None, field: str, now: float, faults: list[Fault]) -> float:
    """Return a time in seconds since the epoch; for a missing or malformed time return 0, which counts as outdated."""
    if text is None:
        return 0.0
    time = seconds(text)
    if time is None or time < 0:
        faults.append(Fault("time", field, f"{text!r} is not an RFC 3339 time; it counts as missing"))
        return 0.0
    if time > now + FUTURE_TOLERANCE:
        faults.append(
            Fault("future", field, f"{text} lies {time - now:.0f} s ahead; correct the clock of the node")
        )
    return time


def _interval(metric: NodeMetric, faults: list[Fault]) -> float:
    given = metric.spec.metric_collect_policy.report_interval_seconds
    if given is None:
        return DEFAULT_INTERVAL
    if not 0 <= given <= 10**9:
        field = "spec.metricCollectPolicy.reportIntervalSeconds"
        faults.append(Fault("interval", field, f"{given} is out of range; {DEFAULT_INTERVAL:.0f} is assumed"))
        return DEFAULT_INTERVAL
    return float(given)


def _windows(given: Sequence[AggregatedUsage | None], faults: list[Fault]) -> Iterator[Window]:
    """Yield the statistics that have amounts; a statistic without samples has none."""
    for index, each in enumerate(given):
        if each is None:
            continue
        field = f"status.nodeMetric.aggregatedNodeUsages[{index}]"
        length = parse_go_duration(each.duration)
        if length is None:
            problem = f"{each.duration!r} is not a duration such as 5m0s; the window is left out"
            faults.append(Fault("duration", f"{field}.duration", problem))
            continue
        for statistic, usage in each.usage.items():
            if statistic not in PERCENTILES:
                problem = f"is not a known statistic ({', '.join(PERCENTILES)}); it is left out"
                faults.append(Fault("statistic", f"{field}.usage.{statistic}", problem))
                continue
            if usage.resources:
                used = amounts_in_use(usage.resources, f"{field}.usage.{statistic}", faults)
                if used:
                    yield Window(statistic, length, used)


def _pods(given: Sequence[PodMetricInfo | None], faults: list[Fault]) -> Iterator[PodReading]:
    """Yield one reading for each pod, from the pod's last entry with amounts."""
    last: dict[tuple[str, str], PodReading] = {}
    for index, each in enumerate(given):
        if each is None or not each.pod_usage.resources:
            continue
        used = amounts_in_use(each.pod_usage.resources, f"status.podsMetric[{index}].podUsage", faults)
        last[each.namespace, each.name] = PodReading(each.namespace, each.name, used, each.priority)
    yield from last.values()
