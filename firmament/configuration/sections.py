"""Sections of the configuration that stand by themselves: scarce resources, fair shares, limits of clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from pydantic import Field, StrictBool, StrictInt, StrictStr

from firmament.core import defaults
from protos.conventions.configuration import PositiveDuration, Section

if TYPE_CHECKING:
    from firmament.core.configuration import FairShare, SizeLimits, WeightedModel
    from firmament.core.rules.default_spread import SpreadConstraint
    from protos.conventions.configuration_shared import PodTopologySpreadSection

_MIB = 2**20
Streams: TypeAlias = Annotated[StrictInt, Field(ge=1, le=10_000)]
Count: TypeAlias = Annotated[StrictInt, Field(ge=1, le=100_000_000)]
ShareWeight: TypeAlias = Annotated[float, Field(gt=0, le=1_000_000, strict=True, allow_inf_nan=False)]
NamespaceName: TypeAlias = Annotated[StrictStr, Field(min_length=1)]


class ScarceResourceSection(Section):
    """How many points more a machine with scarce extended resources, such as GPUs, costs for tasks that request none of
    them.

    ``points`` (15): so much more, 0 to 100; 0: nothing.
    """

    points: Annotated[StrictInt, Field(ge=0, le=100)] = 15

    def model(self) -> WeightedModel | None:
        """Return the cost model that charges these points, None if there are none."""
        from cost_models.firmament_policies.scarce_resources import ScarceResources
        from firmament.core.configuration import WeightedModel

        return WeightedModel(ScarceResources(self.points)) if self.points else None


def default_spread(section: PodTopologySpreadSection) -> tuple[SpreadConstraint, ...]:
    """Return the default constraints as the core takes them."""
    from firmament.core.rules.default_spread import SYSTEM_DEFAULTS, SpreadConstraint

    if section.defaulting_type == "System":
        return SYSTEM_DEFAULTS
    return tuple(SpreadConstraint(each.topology_key, each.max_skew) for each in section.default_constraints)


class FairShareSection(Section):
    """How an overloaded cluster is divided between namespaces.

    ``enabled`` (false). ``weights`` by namespace, ``default_weight`` (1) for all others.
    """

    enabled: StrictBool = False
    weights: dict[NamespaceName, ShareWeight] = Field(default_factory=dict)
    default_weight: ShareWeight = defaults.SHARE_WEIGHT

    def share(self) -> FairShare | None:
        """Return the core's settings of fair shares, None if they are off."""
        from firmament.core.configuration import FairShare

        return FairShare(dict(self.weights), self.default_weight) if self.enabled else None


class LimitSection(Section):
    """Limits for clients. A client beyond one is refused with a message that names the limit; all others go
    on.
    """

    hello_timeout: PositiveDuration = 10.0
    """Time within which a new stream must say who it is (10 s)."""
    streams: Streams = 32
    """Open streams of all clusters (32)."""
    clusters: Streams = 32
    """Clusters with an open stream (32)."""
    questions: Streams = 16
    """`Explain`, `ListState`, `ExportNetwork` and `Schedule` calls at the same time (16)."""
    message_bytes: Annotated[StrictInt, Field(ge=_MIB, le=1024 * _MIB)] = 32 * _MIB
    """Bytes of a message (32 MiB); each stream may have one under way."""
    tasks: Count = defaults.MOST_TASKS
    """Tasks per cluster, and as many jobs (2,000,000)."""
    machines: Count = defaults.MOST_MACHINES
    """Machines per cluster (200,000)."""
    classes: Count = defaults.MOST_CLASSES
    """Classes per cluster (500,000)."""
    records: Count = defaults.MOST_RECORDS
    """Records per cluster (500,000)."""
    record_bytes: Annotated[StrictInt, Field(ge=1024, le=1024 * _MIB)] = defaults.MOST_RECORD_BYTES
    """Bytes of a record (1 MiB); a larger one is set aside."""

    def limit_clusters(self) -> SizeLimits:
        """Return the limits that hold for each cluster by itself, as the core takes them."""
        from firmament.core.configuration import SizeLimits

        return SizeLimits(self.tasks, self.machines, self.classes, self.records, self.record_bytes)
