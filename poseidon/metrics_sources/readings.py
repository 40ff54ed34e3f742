"""Defines readings of nodes' use in one form for all sources, and makes messages to the solver from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from protos.firmament.v1 import scheduler_pb2 as pb

Amounts: TypeAlias = dict[str, int]
"""The amounts in use by resource: milli-cores for cpu, whole units for other resources, rounded up."""

PERCENTILES = ("avg", "p50", "p90", "p95", "p99")
"""The statistics over windows that koordlet reports."""


PROD = "koord-prod"


class Window(NamedTuple):
    """A statistic of a node's use over the ``seconds`` before the reading; ``usage`` is never empty."""

    statistic: str
    seconds: float
    usage: Amounts


class PodReading(NamedTuple):
    """The measured use of a pod.

    ``priority``: the priority class of the pod in the source, "" for none; None if the source knows no classes.
    """

    namespace: str
    name: str
    usage: Amounts
    priority: str | None = None


@dataclass(frozen=True, slots=True)
class NodeReading:
    """The measured use of a node from one source."""

    node: str
    """The name of the node."""
    time: float
    """The time of the measurement, in seconds since the epoch, 0 if the source does not state it."""
    interval: float
    """The seconds between two readings of the node."""
    usage: Amounts | None
    """The use by resource; missing resources count as unused.

    None if the source knows the node but has no figures of its use.
    """
    windows: tuple[Window, ...] = ()
    """The statistics of the node's use over windows of time."""
    aggregates: bool = False
    """Whether the source computes statistics itself, so that statistics that it leaves out are unavailable."""
    system: Amounts | None = None
    """The use by the system, which is neither the use by pods nor the use by host applications."""
    pods: tuple[PodReading, ...] | None = None
    """The use of pods; a missing pod was not measured. None if the source does not measure pods."""


def machine_sample(reading: NodeReading, uid_of: Callable[[str, str, str], str]) -> pb.MachineSample:
    """Return the message to the solver for a reading.

    ``uid_of`` returns the uid of the pod (namespace, name) on a node, "" if the node has no such pod; the reading of
    such a pod is left out.
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
