"""Defines the section ``devices`` of the configuration."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from protos.configuration.sections import PositiveDuration, Section

FeatureGate: TypeAlias = Literal[
    "DRAAdminAccess",
    "DRAConsumableCapacity",
    "DRADeviceBindingConditions",
    "DRADeviceTaints",
    "DRAExtendedResource",
    "DRAListTypeAttributes",
    "DRAPartitionableDevices",
    "DRAPrioritizedList",
]
"""Names of Kubernetes' feature gates for devices."""


class DeviceOptions(Section):
    """The section ``devices``: ``bind_timeout`` (10 m) is how long a placed pod waits for claims and their drivers.

    ``disabled_features``: Kubernetes' feature gates that are off in the cluster; without it, all are on. ``sharing``:
    the project (at most one) whose annotations for shared GPUs are supported.
    """

    bind_timeout: PositiveDuration = 600.0
    disabled_features: tuple[FeatureGate, ...] = ()
    sharing: Annotated[tuple[Literal["hami", "koordinator"], ...], Field(max_length=1)] = ()
