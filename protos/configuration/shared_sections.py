"""The sections of the configuration that both programs heed."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, StrictBool, StrictInt, StrictStr, model_validator

from protos.configuration.sections import Duration, PositiveDuration, Section

_HOSTNAME = "kubernetes.io/hostname"
Weight: TypeAlias = Annotated[StrictInt, Field(ge=1, le=1000)]


class ModelSection(Section):
    """A cost model by name, its weight (1..1000) and its arguments as the model names them."""

    name: StrictStr
    weight: Weight = 1
    args: dict[StrictStr, Any] = Field(default_factory=dict)


class ProfileSection(Section):
    """How pods are placed that name one scheduler: ``scheduler_name``, as in their spec.

    ``policy``, ``cost_models``: its own; what is left out is as at the top of the file.
    """

    scheduler_name: Annotated[StrictStr, Field(min_length=1)]
    policy: ModelSection | None = None
    cost_models: tuple[ModelSection, ...] | None = None


class GangSection(Section):
    """What becomes of gangs that are decided and not whole in time, or that restart.

    ``timeout`` (10 m): how long a gang may take, from the decision until enough of its pods are bound, where its own
    object does not say. ``evict_failed`` (true): bound pods of a gang that was given up leave their nodes.
    ``keep_room`` (0): for how long the room of a group's pod that is gone is kept for the pod that replaces it, where
    neither the pod nor its group says. ``keep_room_at_most`` (0): longest time that these may ask for; 0: what they say
    does not count.
    """

    timeout: PositiveDuration = 600.0
    evict_failed: StrictBool = True
    keep_room: Duration = 0.0
    keep_room_at_most: Duration = 0.0


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
