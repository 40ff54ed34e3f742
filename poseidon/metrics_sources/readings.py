"""Readings of nodes' use in one form for all sources, and the message to the solver made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from protos.firmament.v1 import scheduler_pb2 as pb

Amounts: TypeAlias = dict[str, int]
"""Amount in use by resource: milli-cores for cpu, else whole units, rounded up."""

PERCENTILES = ("avg", "p50", "p90", "p95", "p99")
"""The statistics over windows that koordlet knows."""


PROD = "koord-prod"


class Window(NamedTuple):
    """A statistic of a node's use over the ``seconds`` before the reading. ``usage`` is never empty."""

    statistic: str
    seconds: float
    usage: Amounts


class PodReading(NamedTuple):
    """The measured use of a pod.

    ``priority``: priority class of the pod as the source states it, "" for none; None if the source knows no classes.
    """

    namespace: str
    name: str
    usage: Amounts
    priority: str | None = None


@dataclass(frozen=True, slots=True)
class NodeReading:
    """The measured use of a node from one source."""

    node: str
    """Name of the node."""
    time: float
    """When it was measured, in seconds since the epoch, 0 if the source does not say."""
    interval: float
    """Seconds between two readings of the node."""
    usage: Amounts | None
    """Use by resource; missing resources count as unused. None: the source knows the node, but has measured
    nothing.
    """
    windows: tuple[Window, ...] = ()
    """Statistics over windows of time."""
    aggregates: bool = False
    """Whether the source computes statistics itself; then those that it leaves out are unavailable."""
    system: Amounts | None = None
    """Use by the system: neither by pods nor by host applications."""
    pods: tuple[PodReading, ...] | None = None
    """Use of pods; a missing pod was not measured. None: the source says nothing about pods."""


def machine_sample(reading: NodeReading, uid_of: Callable[[str, str, str], str]) -> pb.MachineSample:
    """Return the message to the solver for a reading.

    ``uid_of`` returns the uid of the pod (namespace, name) on a node, "" if there is none; such pods are left out.
    """
    message = pb.MachineSample(
        machine=reading.node,
        time=reading.time,
        usage=_usage(reading.usage or {}),
        report_interval=reading.interval,
        no_usage=reading.usage is None,
        windows=[
            pb.WindowUsage(type=each.statistic, seconds=each.seconds, usage=_usage(each.usage))
            for each in reading.windows
        ],
        own_windows=reading.aggregates,
        system=_usage(reading.system or {}),
    )
    if reading.pods is not None:
        message.tasks.CopyFrom(_tasks(reading.node, reading.pods, uid_of))
    return message


def _usage(amounts: Amounts) -> list[pb.Usage]:
    return [pb.Usage(resource=resource, amount=used) for resource, used in amounts.items()]


def _tasks(node: str, pods: Sequence[PodReading], uid_of: Callable[[str, str, str], str]) -> pb.TaskUsages:
    found = {uid: pod for pod in pods if (uid := uid_of(pod.namespace, pod.name, node))}
    resources = list(dict.fromkeys(resource for pod in found.values() for resource in pod.usage))
    return pb.TaskUsages(
        tasks=found,
        resources=resources,
        amounts=[pod.usage.get(resource, 0) for pod in found.values() for resource in resources],
        prod=[pod.priority == PROD for pod in found.values()]
        if any(pod.priority is not None for pod in found.values())
        else (),
    )
