"""Defines independent sections of the configuration: scarce resources, fair shares, limits of clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from pydantic import Field, StrictBool, StrictInt, StrictStr

from firmament.core import defaults
from protos.configuration.sections import PositiveDuration, Section

if TYPE_CHECKING:
    from firmament.core.configuration import FairShare, SizeLimits, WeightedModel
    from firmament.core.rules.default_spread import SpreadConstraint
    from protos.configuration.shared_sections import PodTopologySpreadSection

_MIB = 2**20
Streams: TypeAlias = Annotated[StrictInt, Field(ge=1, le=10_000)]
Count: TypeAlias = Annotated[StrictInt, Field(ge=1, le=100_000_000)]
ShareWeight: TypeAlias = Annotated[float, Field(gt=0, le=1_000_000, strict=True, allow_inf_nan=False)]
NamespaceName: TypeAlias = Annotated[StrictStr, Field(min_length=1)]


class ScarceResourceSection(Section):
    """Makes machines with scarce extended resources, such as GPUs, dearer for tasks that request none of them.

    ``points`` (15): by how much dearer, 0 to 100; 0: not at all.
    """

    points: Annotated[StrictInt, Field(ge=0, le=100)] = defaults.SCARCE_RESOURCE_POINTS

    def model(self) -> WeightedModel | None:
        """Return the cost model that charges points for scarce resources; None if it would charge nothing."""
        from cost_models.firmament_policies.scarce_resources import ScarceResources
        from firmament.core.configuration import WeightedModel

        return WeightedModel(ScarceResources(self.points)) if self.points else None


def default_spread(section: PodTopologySpreadSection) -> tuple[SpreadConstraint, ...]:
    """Return the default topology spread constraints as the core takes them."""
    from firmament.core.rules.default_spread import SYSTEM_DEFAULTS, SpreadConstraint

    if section.defaulting_type == "System":
        return SYSTEM_DEFAULTS
    return tuple(SpreadConstraint(each.topology_key, each.max_skew) for each in section.default_constraints)


class FairShareSection(Section):
    """Says how an overloaded cluster is divided between namespaces.

    ``enabled`` (false): whether fair shares are used. ``weights``: by namespace. ``default_weight`` (1): the weight of
    all other namespaces.
    """

    enabled: StrictBool = False
    weights: dict[NamespaceName, ShareWeight] = Field(default_factory=dict)
    default_weight: ShareWeight = defaults.SHARE_WEIGHT

    def share(self) -> FairShare | None:
        """Return the core's settings of fair shares; None if fair shares are off."""
        from firmament.core.configuration import FairShare

        return FairShare(dict(self.weights), self.default_weight) if self.enabled else None


class LimitSection(Section):
    """Limits for clients.

    If a client exceeds a limit, the server refuses it with a message that names the limit; all other clients go on.
    """

    hello_timeout: PositiveDuration = defaults.HELLO_TIMEOUT
    """Time within which a client must say who it is on a new stream (10 s)."""
    streams: Streams = defaults.MOST_STREAMS
    """The most open streams of all clusters together (32)."""
    clusters: Streams = defaults.MOST_CLUSTERS
    """The most clusters with an open stream (32)."""
    questions: Streams = defaults.MOST_QUESTIONS
    """The most calls of `Explain`, `ListState`, `ExportNetwork` and `Schedule` at the same time (16)."""
    message_bytes: Annotated[StrictInt, Field(ge=_MIB, le=1024 * _MIB)] = defaults.MOST_MESSAGE_BYTES
    """The most bytes of a message (32 MiB); each stream may be transferring one message."""
    tasks: Count = defaults.MOST_TASKS
    """The most tasks per cluster, and the most jobs (2,000,000)."""
    machines: Count = defaults.MOST_MACHINES
    """The most machines per cluster (200,000)."""
    classes: Count = defaults.MOST_CLASSES
    """The most classes per cluster (500,000)."""
    records: Count = defaults.MOST_RECORDS
    """The most records per cluster (500,000)."""
    record_bytes: Annotated[StrictInt, Field(ge=1024, le=1024 * _MIB)] = defaults.MOST_RECORD_BYTES
    """The most bytes of a record (1 MiB); a larger one is kept without its content."""

    def limit_clusters(self) -> SizeLimits:
        """Return the limits that apply to each cluster separately, as the core takes them."""
        from firmament.core.configuration import SizeLimits

        return SizeLimits(self.tasks, self.machines, self.classes, self.records, self.record_bytes)
