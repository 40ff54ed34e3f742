"""The section of the configuration about what machines cost beside what models charge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, StrictInt, StrictStr, model_validator

from firmament.configuration.sections import Section

if TYPE_CHECKING:
    from firmament.core.configuration import SpreadConstraint, WeightedModel

_HOSTNAME = "kubernetes.io/hostname"


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


class DefaultConstraint(Section):
    """A default constraint as kube-scheduler has it; it has no labelSelector."""

    max_skew: Annotated[StrictInt, Field(ge=1, le=1_000_000)]
    topology_key: Annotated[StrictStr, Field(min_length=1)]
    when_unsatisfiable: Literal["ScheduleAnyway"]


class PodTopologySpreadSection(Section):
    """How pods of one owner or service are spread that state no topologySpreadConstraints (PodTopologySpreadArgs).

    ``defaulting_type`` (System): kube-scheduler's own constraints, over hosts with maxSkew 3 and over zones with
    maxSkew 5; with List those of ``default_constraints``, none of which turns it off. All are ScheduleAnyway; one may
    be by kubernetes.io/hostname, and one by another key.
    """

    defaulting_type: Literal["System", "List"] = "System"
    default_constraints: tuple[DefaultConstraint, ...] = ()

    @model_validator(mode="after")
    def _goes_together(self) -> PodTopologySpreadSection:
        keys = [each.topology_key for each in self.default_constraints]
        if self.defaulting_type == "System" and keys:
            raise ValueError("defaultConstraints are for defaultingType List; write that, or remove them")
        if len(set(keys)) < len(keys):
            raise ValueError("defaultConstraints name a topologyKey twice; remove one")
        if len([key for key in keys if key != _HOSTNAME]) > 1:
            raise ValueError(
                f"defaultConstraints have more than one topologyKey besides {_HOSTNAME}; keep one of them"
            )
        return self

    @property
    def enabled(self) -> bool:
        """Whether there are any constraints."""
        return self.defaulting_type == "System" or bool(self.default_constraints)

    def constraints(self) -> tuple[SpreadConstraint, ...]:
        """Return them as the core takes them."""
        from firmament.core.configuration import SYSTEM_DEFAULTS, SpreadConstraint

        if self.defaulting_type == "System":
            return SYSTEM_DEFAULTS
        return tuple(SpreadConstraint(each.topology_key, each.max_skew) for each in self.default_constraints)
