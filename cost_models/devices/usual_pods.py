"""Reads which pods an operator expects, and combines them with the pods that the cluster has.

Models for devices judge room by what usual tasks could make of it. Models learn what is usual from the tasks that the
cluster has, waiting and on machines: little at first. An operator who knows which mixture of pods will come can state
it. The stated pods count as `count` pods among those of the cluster: they decide while the cluster has few pods, and
have less effect the more it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cost_models.api.quantities import whole_amount
from cost_models.arguments import Arguments
from cost_models.devices.usable_shares import UsualTasks
from cost_models.interface import Bool, Float64, Int64, MachineColumns, ModelArgumentError

PODS = "pods"
"""The resource of which each pod takes one unit."""
COUNT = 1000
"""As how many pods of the cluster statements count unless a configuration says otherwise."""
NEGLIGIBLE = 10_000
"""How many times as many as the cluster's tasks stated pods have to count for them to decide alone.

As long as they do, what is usual does not change, and losses that are known stay valid (`known_losses`).
"""
_MOST_PODS = 1000
"""Most kinds of pods that may be stated."""


@dataclass(frozen=True, slots=True)
class StatedPod:
    """A kind of pod that the operator expects to arrive often."""

    weight: float
    """How often such pods come, relative to the others; above 0."""
    requests: Mapping[str, int]
    """Amounts by resource."""
    gpus: int
    """How many devices a pod takes."""
    share: float
    """Which share of each device a pod takes, above 0 to 1.

    A pod with a share below 1 takes only devices that drivers publish.
    """
    labels: Mapping[str, tuple[str, ...]]
    """Labels that the pod's machines must have, each with one of these values."""


@dataclass(frozen=True, slots=True)
class StatedPods:
    """All pods that the operator has stated; false if none are stated."""

    pods: tuple[StatedPod, ...] = ()
    """The kinds of pods."""
    count: int = COUNT
    """As how many pods of the cluster all pods of the kind count together."""

    def __bool__(self) -> bool:
        return bool(self.pods)

    def describe(
        self, machines: MachineColumns, rows: Int64, columns: Sequence[int], published: int, kinds: int
    ) -> UsualTasks:
        """Return the stated pods as usual tasks, for the machines in ``rows`` and the resources in ``columns``.

        The first ``published`` of the ``kinds`` of devices come from drivers; devices of the other kinds are taken as
        wholes. A pod that asks for a resource that no machine has may come to none.
        """
        names = [machines.resources[column] for column in columns]
        requests = [[each.requests.get(name, int(name == PODS)) for name in names] for each in self.pods]
        count = np.repeat([[each.gpus] for each in self.pods], kinds, axis=1)
        share = np.repeat([[each.share if each.gpus else 0.0] for each in self.pods], kinds, axis=1)
        whole_only = np.arange(kinds) >= published
        share[(share > 0) & (share < 1) & whole_only] = np.inf
        allowed = self._find_open([machines.labels[row] for row in rows.tolist()])
        allowed[[not each.requests.keys() <= set(machines.resources) for each in self.pods]] = False
        weights = np.array([each.weight for each in self.pods])
        return UsualTasks(
            weights / weights.sum(),
            np.array(requests, dtype=np.int64).reshape(len(self.pods), len(names)),
            count,
            share,
            allowed,
        )

    def _find_open(self, labels: Sequence[Mapping[str, str]]) -> Bool:
        """Return on which machines with these labels each kind of pod may run: bool[T, M]."""
        found = np.ones((len(self.pods), len(labels)), dtype=np.bool_)
        for key in sorted({key for each in self.pods for key in each.labels}):
            number: dict[str | None, int] = {}
            own = np.array([number.setdefault(label.get(key), len(number)) for label in labels], np.int64)
            values = [
                [key not in each.labels or value in each.labels[key] for value in number]
                for each in self.pods
            ]
            found &= np.array(values, dtype=np.bool_).reshape(len(self.pods), len(number))[:, own]
        return found

    def outweighs(self, tasks: int) -> bool:
        """Return whether ``tasks`` of the cluster have so little weight that they may be left out."""
        return self.count >= NEGLIGIBLE * tasks

    def join(self, stated: UsualTasks, learned: UsualTasks, tasks: int) -> UsualTasks:
        """Return stated and learned pods merged, with the learned ones weighted by ``tasks``.

        Equal kinds become one kind.
        """
        part = self.count / (self.count + tasks)
        return merge_alike(
            UsualTasks(
                np.concatenate((learned.popularity * (1 - part), stated.popularity * part)),
                np.concatenate((learned.requests, stated.requests)),
                np.concatenate((learned.count, stated.count)),
                np.concatenate((learned.share, stated.share)),
                np.concatenate((learned.allowed, stated.allowed)),
            )
        )


def merge_alike(usual: UsualTasks) -> UsualTasks:
    """Return the tasks with equal kinds merged into one, in the order of their first occurrence."""
    parts = zip(usual.requests, usual.count, usual.share, np.packbits(usual.allowed, axis=1), strict=True)
    first: dict[bytes, int] = {}
    place = [first.setdefault(b"".join(part.tobytes() for part in row), len(first)) for row in parts]
    kept = np.unique(place, return_index=True)[1]
    popularity: Float64 = np.bincount(place, weights=usual.popularity).astype(np.float64)
    return UsualTasks(
        popularity, usual.requests[kept], usual.count[kept], usual.share[kept], usual.allowed[kept]
    )


def read_usual_pods(model: str, read: Arguments, device_resources: Sequence[str]) -> StatedPods:
    """Read ``usualPods`` and ``usualPodsCount``. Raises ``ModelArgumentError``."""
    entries = read.entries("usualPods")
    if len(entries) > _MOST_PODS:
        raise ModelArgumentError(f"{model}: usualPods has {len(entries)} entries; it may have {_MOST_PODS}")
    pods = tuple(_read_pod(model, number, entry, device_resources) for number, entry in enumerate(entries))
    return StatedPods(pods, read.whole("usualPodsCount", COUNT, least=1))


def _read_pod(
    model: str, number: int, entry: Mapping[str, Any], device_resources: Sequence[str]
) -> StatedPod:
    read = Arguments(f"{model}: usualPods[{number}]", entry)
    weight = read.number("weight", 1.0)
    if not weight:
        raise read.error("weight", weight, "a number above 0")
    gpus = read.whole("gpus", 0, most=64)
    share = read.number("share", 1.0, most=1.0)
    if not share:
        raise read.error("share", share, "a number above 0, at most 1: of each GPU")
    if share < 1 and not gpus:
        raise read.error("share", share, "left out where gpus is 0; did you mean gpus: 1?")
    requests = {}
    for name, value in read.mapping("requests").items():
        if name in device_resources:
            raise read.error(f"requests.{name}", value, "stated as gpus")
        amount = whole_amount(name, value)
        if amount is None:
            raise read.error(f"requests.{name}", value, "an amount such as 2, 500m or 4Gi")
        requests[name] = amount
    labels = {}
    for key, value in read.mapping("nodeLabels").items():
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not values or not all(isinstance(each, str) for each in values):
            raise read.error(f"nodeLabels.{key}", value, "a text, or a list of texts of which any will do")
        labels[key] = tuple(values)
    read.finish()
    return StatedPod(weight, requests, gpus, share, labels)
