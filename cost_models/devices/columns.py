"""Gives models one view of devices, whether drivers publish them or nodes state only their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cost_models.arguments import Arguments
from cost_models.devices.usable_shares import Room, UsualTasks
from cost_models.devices.usual_pods import StatedPods, read_usual_pods
from cost_models.interface import Float64, Int64, MachineColumns, ShapeBatch

DRIVERS = ("gpu.nvidia.com", "gpu.amd.com", "gpu.intel.com", "hami.io", "gpu.koordinator.sh")
"""The drivers whose devices count unless a configuration says otherwise."""
RESOURCES = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe")
"""The resources that count unless a configuration says otherwise: whole devices, of which a node states the number."""
_STATED_AT_MOST = 64
"""A machine that states more devices counts as having this many."""


class DeviceNames(NamedTuple):
    """The arguments of a model for devices: the drivers, and the resources that are counts of devices."""

    drivers: tuple[str, ...]
    resources: tuple[str, ...]


def read_names(model: str, args: Mapping[str, Any]) -> DeviceNames:
    """Read the arguments of a model that needs no usual tasks. Raises ``ModelArgumentError``."""
    read = Arguments(model, args)
    names = _read_names(read)
    read.finish()
    return names


def read_names_and_usual_pods(model: str, args: Mapping[str, Any]) -> tuple[DeviceNames, StatedPods]:
    """Read the arguments of a model that judges free devices by usual tasks. Raises ``ModelArgumentError``."""
    read = Arguments(model, args)
    names = _read_names(read)
    stated = read_usual_pods(model, read, names.resources)
    read.finish()
    return names, stated


def _read_names(read: Arguments) -> DeviceNames:
    return DeviceNames(read.texts("drivers", DRIVERS), read.texts("resources", RESOURCES))


@dataclass(frozen=True, slots=True)
class DeviceView:
    """The devices of machines, by kind: N kinds that drivers publish, and a further kind for each resource."""

    rows: Int64
    """int64[D], machines with devices, ascending."""
    room: Room
    """The amounts that these machines have left; shares of devices in ascending order."""
    size: Int64
    """int64[D], how many devices each has."""
    columns: tuple[int, ...]
    """Columns of resources that are no devices."""
    resources: tuple[int, ...]
    """Columns of resources that count devices."""
    published: int
    """N, the number of kinds that drivers publish."""

    def find_demand(self, shapes: ShapeBatch) -> tuple[Int64, Float64]:
        """Return how many devices a task of each shape takes of each kind, and which share of each: [S, N + resources].

        A task finds only devices of the kind that it requests; other kinds do not serve it.
        """
        count = np.zeros((shapes.count, self.published + len(self.resources)), dtype=np.int64)
        share = np.zeros(count.shape)
        if shapes.devices is not None:
            # The rows may also contain a kind of devices that no machine of this round has.
            count[:, : self.published] = shapes.devices.count[:, : self.published]
            share[:, : self.published] = shapes.devices.share[:, : self.published]
        for place, column in enumerate(self.resources, start=self.published):
            count[:, place] = shapes.requests[:, column]
            share[:, place] = count[:, place] > 0
        elsewhere = (count > 0).any(axis=1, keepdims=True) & (count == 0)
        share[elsewhere] = np.inf
        count[elsewhere] = 1
        return count, share

    def describe_usual(self, typical: ShapeBatch) -> UsualTasks:
        """Return the tasks that the cluster has most of, for machines with devices."""
        count, share = self.find_demand(typical)
        allowed = np.ones((typical.count, len(self.rows)), dtype=np.bool_)
        if typical.allowed is not None:
            for row, open_to in enumerate(typical.allowed):
                allowed[row] = open_to[self.rows]
        total = max(1, int(typical.counts.sum()))
        return UsualTasks(
            typical.counts / total, typical.requests[:, list(self.columns)], count, share, allowed
        )


def make_device_view(machines: MachineColumns, resources: Sequence[str]) -> DeviceView:
    """Return the devices of all machines; of a machine with devices of several kinds, only the first kind
    is considered.
    """
    known = [column for column in map(machines.column, resources) if column is not None]
    published = machines.devices
    kinds = 0 if published is None else int(published.kind.max(initial=-1)) + 1
    kind = np.full(machines.count, -1, dtype=np.int64) if published is None else published.kind.copy()
    size = np.zeros(machines.count, dtype=np.int64) if published is None else published.count.copy()
    free = np.zeros((machines.count, 0)) if published is None else published.free
    stated = np.zeros(machines.count, dtype=np.int64)
    for place, column in enumerate(known, start=kinds):
        new = (kind < 0) & (machines.capacity[:, column] > 0)
        kind[new] = place
        size[new] = np.minimum(machines.capacity[new, column], _STATED_AT_MOST)
        stated[new] = np.minimum(machines.free[new, column], size[new])
    rows = np.flatnonzero(kind >= 0)
    most = max(free.shape[1], int(stated.max(initial=0)), 1)
    shares = np.zeros((len(rows), most))
    shares[:, : free.shape[1]] = free[rows]
    shares = np.maximum(shares, (np.arange(most) < stated[rows, None]).astype(np.float64))
    shares.sort(axis=1)
    others = tuple(column for column in range(len(machines.resources)) if column not in known)
    return DeviceView(
        rows,
        Room(machines.free[rows][:, list(others)], kind[rows], shares),
        size[rows],
        others,
        tuple(known),
        kinds,
    )
