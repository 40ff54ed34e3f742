"""The section of the configuration about what machines cost beside what models charge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, StrictInt

from protos.conventions.configuration import Section

if TYPE_CHECKING:
    from firmament.core.configuration import SpreadConstraint, WeightedModel
    from protos.conventions.configuration_shared import PodTopologySpreadSection


class ScarceResourceSection(Section):
    """Machines with extended resources that few offer (GPUs) cost more for tasks that ask for none of them.

    ``points`` (15): so much more, 0 to 100; 0: nothing.
    """

    points: Annotated[StrictInt, Field(ge=0, le=100)] = 15

    def model(self) -> WeightedModel | None:
        """Return what charges for it, None if nothing does."""
        from cost_models.firmament_policies.scarce_resources import ScarceResources
        from firmament.core.configuration import WeightedModel

        return WeightedModel(ScarceResources(self.points)) if self.points else None


def default_spread(section: PodTopologySpreadSection) -> tuple[SpreadConstraint, ...]:
    """Return the default constraints as the core takes them."""
    from firmament.core.configuration import SYSTEM_DEFAULTS, SpreadConstraint

    if section.defaulting_type == "System":
        return SYSTEM_DEFAULTS
    return tuple(SpreadConstraint(each.topology_key, each.max_skew) for each in section.default_constraints)
