"""The sections of the configuration about batch work: gangs, and fair shares between namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from pydantic import Field, StrictBool, StrictStr

from firmament.configuration.sections import PositiveDuration, Section

if TYPE_CHECKING:
    from firmament.core.configuration import FairShare

ShareWeight: TypeAlias = Annotated[float, Field(gt=0, le=1_000_000, strict=True, allow_inf_nan=False)]
NamespaceName: TypeAlias = Annotated[StrictStr, Field(min_length=1)]


class EvictionSection(Section):
    """How many pods the bridge lets make way: ``per_second`` over time, ``burst`` at once after a quiet time.

    A solver that has gone wrong can do no more harm than that.
    """

    per_second: Annotated[float, Field(gt=0, le=100_000, allow_inf_nan=False)] = 50.0
    burst: Annotated[int, Field(ge=1, le=1_000_000)] = 1000


class GangSection(Section):
    """What becomes of gangs that are decided and not whole in time.

    ``timeout`` (10 m): how long a gang may take, from the decision until enough of its pods are bound, where its own
    object does not say. ``evict_failed`` (true): bound pods of a gang that was given up leave their nodes.
    """

    timeout: PositiveDuration = 600.0
    evict_failed: StrictBool = True


class FairShareSection(Section):
    """How an overloaded cluster is divided between namespaces.

    ``enabled`` (false). ``weights`` by namespace, ``default_weight`` (1) for all others.
    """

    enabled: StrictBool = False
    weights: dict[NamespaceName, ShareWeight] = Field(default_factory=dict)
    default_weight: ShareWeight = 1.0

    def share(self) -> FairShare | None:
        """Return them as the core takes them, None if they are off."""
        from firmament.core.configuration import FairShare

        return FairShare(dict(self.weights), self.default_weight) if self.enabled else None
