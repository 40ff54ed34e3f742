"""Defines the solver's part of the configuration.

``load`` reads the YAML document, and ``build_core`` turns it into what the core takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PrivateAttr, StrictInt, model_validator

from cost_models.interface import ModelArgumentError, ModelDeclarationError
from cost_models.registry import NONE, UnknownModelError, list_available, load_model, model_class
from firmament.configuration.sections import (
    FairShareSection,
    LimitSection,
    ScarceResourceSection,
    default_spread,
)
from firmament.core import defaults
from protos.configuration.file import ConfigurationError, load_part
from protos.configuration.sections import Document, Duration, PositiveDuration, Section
from protos.configuration.shared_sections import (
    GangSection,
    ModelSection,
    PodTopologySpreadSection,
    ProfileSection,
)
from protos.conventions.durations import duration_schema, parse_duration

if TYPE_CHECKING:
    from pathlib import Path

    from firmament.core.configuration import CoreConfiguration, RoundOptions

BASE_POLICIES: tuple[str, ...] = (
    "cpu_mem", "trivial", "random", "sjf", "quincy", "whare_map", "coco", "octopus", "net", "void",
    "most_allocated", "requested_to_capacity_ratio",
)  # fmt: skip


def parse_time_limit(value: object) -> float | None:
    """Return seconds as ``parse_duration`` does, above 0; None stays None and means no limit."""
    if value is None:
        return None
    seconds = parse_duration(value)
    if not 0 < seconds <= 3600:
        raise ValueError(
            f"{value!r} is out of range; write more than 0 s and at most 1h, or null for no limit"
        )
    return seconds


class RoundSection(Section):
    """Settings of how rounds run. Durations are seconds, or text such as ``20ms``."""

    batching_window: Duration = defaults.BATCHING_WINDOW
    """Longest wait for more events once there is work for a round (20 ms)."""
    solve_time_limit: Annotated[
        float | None,
        BeforeValidator(parse_time_limit),
        duration_schema(or_null=True, exclusiveMinimum=0, maximum=3600),
    ] = defaults.SOLVE_TIME_LIMIT
    """Time after which a solve is stopped, and the remaining tasks of its round are placed greedily (10 s; null:
    never)."""
    max_passes: Annotated[StrictInt, Field(ge=1, le=100)] = defaults.MAX_PASSES
    """The most passes (solving and admission) of a round; then the remaining tasks are placed greedily (8)."""
    seed: Annotated[StrictInt, Field(ge=0, lt=2**63)] = defaults.SEED
    """Seed that changes the order among machines of equal cost (0)."""
    reserve_after_rounds: Annotated[StrictInt, Field(ge=1, le=1_000_000)] = defaults.RESERVE_AFTER_ROUNDS
    """If this many rounds have passed over a task, a machine is reserved for it (8)."""
    reserve_for_rounds: Annotated[StrictInt, Field(ge=1, le=1_000_000)] = defaults.RESERVE_FOR_ROUNDS
    """Number of rounds after which a reservation ends (256), if ``reserve_for`` has not ended it."""
    reserve_after: Duration = defaults.RESERVE_AFTER
    """For how long rounds must have passed over a task before a machine is reserved for it (60 s)."""
    reserve_for: PositiveDuration = defaults.RESERVE_FOR
    """Time after which a reservation ends (300 s), if ``reserve_for_rounds`` has not ended it."""
    first_backoff: PositiveDuration = defaults.FIRST_BACKOFF
    """Pause after the first failed binding of a task (1 s); at most ``last_backoff``."""
    last_backoff: PositiveDuration = defaults.LAST_BACKOFF
    """Longest pause after failed bindings of a task (60 s)."""
    refresh_reasons_after: PositiveDuration = defaults.REFRESH_REASONS_AFTER
    """When machines have changed, the reasons of pending tasks are computed again after this time (60 s)."""

    @model_validator(mode="after")
    def _backs_off_longer(self) -> RoundSection:
        if self.first_backoff > self.last_backoff:
            raise ValueError(
                f"firstBackoff ({self.first_backoff:g} s) is longer than lastBackoff ({self.last_backoff:g} s); "
                "lower the first or raise the last"
            )
        return self

    def options(self, gangs: GangSection) -> RoundOptions:
        """Return these settings, and those of ``gangs``, as the core takes them."""
        from firmament.core.configuration import RoundOptions
        from firmament.core.placement.outcome import PassOptions

        return RoundOptions(
            passes=PassOptions(max_passes=self.max_passes, solve_time_limit=self.solve_time_limit),
            seed=self.seed,
            reserve_after_rounds=self.reserve_after_rounds,
            reserve_for_rounds=self.reserve_for_rounds,
            reserve_after=self.reserve_after,
            reserve_for=self.reserve_for,
            first_backoff=self.first_backoff,
            last_backoff=self.last_backoff,
            gang_seconds=gangs.timeout,
            evict_failed_gangs=gangs.evict_failed,
            refresh_seconds=self.refresh_reasons_after,
        )


class SchedulerConfiguration(Document):
    """The solver's part of the configuration.

    ``queue_sort``: which tasks come first if capacity is scarce. ``topological`` (default, needs the overlay
    ``network_overhead``): by priority, quality of service and wait. ``priority``: by priority and wait alone, as
    without the overlay. With both settings, workloads of an AppGroup keep their topology order.
    """

    policy: ModelSection = Field(default_factory=lambda: ModelSection(name="cpu_mem"))
    cost_models: tuple[ModelSection, ...] = ()
    profiles: tuple[ProfileSection, ...] = ()
    queue_sort: Literal["topological", "priority"] = "topological"
    round: RoundSection = Field(default_factory=RoundSection)
    gangs: GangSection = Field(default_factory=GangSection)
    fair_share: FairShareSection = Field(default_factory=FairShareSection)
    scarce_resources: ScarceResourceSection = Field(default_factory=ScarceResourceSection)
    limits: LimitSection = Field(default_factory=LimitSection)
    pod_topology_spread: PodTopologySpreadSection = Field(default_factory=PodTopologySpreadSection)
    _classes: Mapping[str, Any] = PrivateAttr(default_factory=dict)

    @property
    def classes(self) -> Mapping[str, Any]:
        """Classes of models that an embedding program provides, by name; a file cannot define any."""
        return self._classes

    def bring_classes(self, classes: Mapping[str, Any]) -> None:
        """Use these classes of models instead of installed classes of the same name."""
        self._classes = classes


def load(path: Path | None) -> SchedulerConfiguration:
    """Read and check the solver's part of a configuration file; None gives the defaults.

    Raise ``ConfigurationError`` if the file cannot be read or is invalid.
    """
    return load_part(path, SchedulerConfiguration, model_faults)


def build_core(configuration: SchedulerConfiguration) -> CoreConfiguration:
    """Load the models and return the core's configuration. Raise ``ConfigurationError`` if a model cannot be loaded."""
    classes = configuration.classes
    faults = list(model_faults(configuration.model_dump(by_alias=True, mode="json"), classes))
    if faults:
        raise ConfigurationError(f"configuration: {fault}" for fault in faults)
    base = _with_models(configuration, configuration.policy, configuration.cost_models)
    profiles = {
        each.scheduler_name: _with_models(
            configuration,
            configuration.policy if each.policy is None else each.policy,
            configuration.cost_models if each.cost_models is None else each.cost_models,
        )
        for each in configuration.profiles
    }
    return replace(base, profiles=profiles) if profiles else base


def _with_models(
    configuration: SchedulerConfiguration, policy: ModelSection, cost_models: Sequence[ModelSection]
) -> CoreConfiguration:
    """Return the core's configuration with this policy and these cost models, without profiles."""
    from firmament.core.configuration import CoreConfiguration, WeightedModel

    classes = configuration.classes
    base, *overlays = (
        WeightedModel(load_model(each.name, each.args, classes), each.weight)
        for each in (policy, *cost_models)
    )
    by_quality = configuration.queue_sort == "topological" and any(
        each.model.promises.pairs for each in overlays
    )
    return CoreConfiguration(
        policy=base,
        overlays=tuple(overlays),
        options=replace(configuration.round.options(configuration.gangs), by_quality=by_quality),
        fair_share=configuration.fair_share.share(),
        scarce=configuration.scarce_resources.model(),
        limits=configuration.limits.limit_clusters(),
        spread=default_spread(configuration.pod_topology_spread),
    )


# --- faults of a document -----------------------------------------------------------------------------------


def model_faults(document: Mapping[str, Any], classes: Mapping[str, Any] = NONE) -> Iterator[str]:
    """Return what is wrong with a document's models: names, roles, repetitions and arguments.

    The check works on the raw document, so that these faults are listed together with those of the schema.
    ``classes``: models that are not installed, by name.
    """
    yield from _section_faults("", document, classes)
    profiles = document.get("profiles")
    named: dict[str, str] = {}
    for index, profile in enumerate(profiles if isinstance(profiles, (list, tuple)) else ()):
        if not isinstance(profile, Mapping):
            continue
        field = f"profiles[{index}]"
        yield from _section_faults(f"{field}.", profile, classes)
        yield from _constraint_faults(field, profile, classes)
        name = profile.get("schedulerName")
        if isinstance(name, str) and named.setdefault(name, field) != field:
            yield f"{field}.schedulerName: {name} is already that of {named[name]}; remove one of them"


def _section_faults(prefix: str, document: Mapping[str, Any], classes: Mapping[str, Any]) -> Iterator[str]:
    """Return what is wrong with the models of a part of a document; ``prefix``: the beginning of its fields' paths."""
    policy = document.get("policy")
    if isinstance(policy, Mapping):
        yield from _one_model_fault(f"{prefix}policy", policy, classes, base=True)
    overlays = document.get("costModels")
    seen: dict[str, str] = {}
    for index, overlay in enumerate(overlays if isinstance(overlays, (list, tuple)) else ()):
        if not isinstance(overlay, Mapping):
            continue
        field = f"{prefix}costModels[{index}]"
        yield from _one_model_fault(field, overlay, classes, base=False)
        name = overlay.get("name")
        if isinstance(name, str) and seen.setdefault(name, field) != field:
            yield f"{field}.name: {name} is already given as {seen[name]}; remove one of them"


def _constraint_faults(field: str, profile: Mapping[str, Any], classes: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each model of a profile that would also restrict tasks of other profiles."""
    overlays = profile.get("costModels")
    for index, overlay in enumerate(overlays if isinstance(overlays, (list, tuple)) else ()):
        name = overlay.get("name") if isinstance(overlay, Mapping) else None
        with suppress(UnknownModelError, ModelDeclarationError, AttributeError):
            if isinstance(name, str) and model_class(name, classes).promises.constraints:
                what = "has constraints between pods, which hold for pods of all profiles"
                yield f"{field}.costModels[{index}].name: {name} {what}; move it to costModels"


def _one_model_fault(
    field: str, section: Mapping[str, Any], classes: Mapping[str, Any], *, base: bool
) -> Iterator[str]:
    """Yield what is wrong with one model section, if anything."""
    name, args = section.get("name"), section.get("args", {})
    if not isinstance(name, str):
        return
    wanted, elsewhere = ("policy", "costModels") if base else ("overlay", "policy")
    with suppress(UnknownModelError, ModelDeclarationError):
        if model_class(name, classes).kind != wanted:
            role = "a base policy" if base else "an overlay"
            yield f"{field}.name: {name} is not {role}; move it to {elsewhere}"
            return
    readable = isinstance(args, Mapping) and all(isinstance(key, str) for key in args)
    try:
        load_model(name, args, classes) if readable else model_class(name, classes)
    except UnknownModelError:
        usable = ", ".join(each for each, kind in list_available(classes).items() if kind == wanted)
        yield f"{field}.name: {name!r} is not a known model; " + (
            f"use one of: {usable}" if usable else "remove it"
        )
    except ModelDeclarationError as error:
        yield f"{field}.name: {error}"
    except ModelArgumentError as error:
        yield f"{field}.args: {error}"
