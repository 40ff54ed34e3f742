"""The section of the configuration about fair shares between namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from pydantic import Field, StrictBool, StrictStr

from protos.conventions.configuration import Section

if TYPE_CHECKING:
    from firmament.core.configuration import FairShare

ShareWeight: TypeAlias = Annotated[float, Field(gt=0, le=1_000_000, strict=True, allow_inf_nan=False)]
NamespaceName: TypeAlias = Annotated[StrictStr, Field(min_length=1)]


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
