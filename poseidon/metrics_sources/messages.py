"""Readings as messages of the protocol: one sample per node, with what its pods use as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from poseidon.metrics_sources.readings import Amounts, NodeReading, PodReading

PROD = "koord-prod"


def machine_sample(reading: NodeReading, uid_of: Callable[[str, str, str], str]) -> pb.MachineSample:
    """Return the sample that a reading amounts to.

    ``uid_of`` gives the uid of the pod (namespace, name) on a node, "" if there is none; such pods are left out.
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
