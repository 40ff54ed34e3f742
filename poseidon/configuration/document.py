"""Reads the bridge's part of the configuration, whose sections are defined next to the code that uses them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import BeforeValidator, Field, StrictStr, ValidationError, WithJsonSchema

from poseidon.app_network.options import NetworkArguments, NetworkOptions
from poseidon.devices.options import DeviceOptions
from poseidon.group_trees.spec.trees import TreeArguments
from poseidon.kube.watch_options import WatchOptions
from poseidon.leadership.options import LeaderElectionOptions
from poseidon.lifecycle.evictions.rate import EvictionLimits
from poseidon.lifecycle.failed_scheduling_timing import AnnouncementOptions
from poseidon.lifecycle.kept_places import MoveOptions
from poseidon.lifecycle.refused_pods import RecoveryOptions
from poseidon.metrics_sources.options import UtilisationOptions
from poseidon.queues.options import QueueOptions
from poseidon.volumes.binding import VolumeOptions
from protos.configuration.file import load_part
from protos.configuration.sections import Document, Section
from protos.configuration.shared_sections import (
    GangSection,
    ModelSection,
    PodTopologySpreadSection,
    ProfileSection,
)
from protos.conventions.durations import duration_schema, parse_duration

Arguments = TypeVar("Arguments", bound=Section)

_MODEL_BY_ARGUMENTS: Mapping[type[Section], str] = MappingProxyType(
    {NetworkArguments: "network_overhead", TreeArguments: "topology"}
)
"""The arguments of cost models that the bridge also uses, with their cost models.

The arguments name objects that only the bridge reads.
"""

_ANY = "*"
"""The entry of ``scheduler_names`` that means every name."""

SchedulerName: TypeAlias = Annotated[StrictStr, Field(min_length=1)]


_NAMES = WithJsonSchema(
    {
        "anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}},
        ]
    }
)


def _accept_shorthand(value: object) -> object:
    """Return a list with the value if the configuration gives a single text, such as ``schedulerNames: "*"``."""
    return [value] if isinstance(value, str) else value


class StreamOptions(Section):
    """The section ``stream``: when the bridge replaces its stream to the solver.

    ``silence_timeout`` (60 s): how long the solver may take to acknowledge the oldest batch of events. After this time
    the bridge assumes that the solver hangs, and opens a new stream with a full snapshot. The timeout is at least 1 s,
    because opening a large round takes some time.
    """

    silence_timeout: Annotated[
        float,
        BeforeValidator(parse_duration),
        Field(ge=1, le=3600, allow_inf_nan=False),
        duration_schema(minimum=1, maximum=3600),
    ] = 60.0


class BridgeConfiguration(Document):
    """The parts of the configuration that the bridge uses; ``scheduler_names`` may contain ``*`` for every name."""

    scheduler_names: Annotated[
        tuple[SchedulerName, ...], BeforeValidator(_accept_shorthand), Field(min_length=1), _NAMES
    ] = ("poseidon",)
    cost_models: tuple[ModelSection, ...] = ()
    profiles: tuple[ProfileSection, ...] = ()
    utilisation: UtilisationOptions = Field(default_factory=UtilisationOptions)
    leader_election: LeaderElectionOptions = Field(default_factory=LeaderElectionOptions)
    recovery: RecoveryOptions = Field(default_factory=RecoveryOptions)
    announcements: AnnouncementOptions = Field(default_factory=AnnouncementOptions)
    stream: StreamOptions = Field(default_factory=StreamOptions)
    watch: WatchOptions = Field(default_factory=WatchOptions)
    volumes: VolumeOptions = Field(default_factory=VolumeOptions)
    devices: DeviceOptions = Field(default_factory=DeviceOptions)
    network: NetworkOptions = Field(default_factory=NetworkOptions)
    gangs: GangSection = Field(default_factory=GangSection)
    evictions: EvictionLimits = Field(default_factory=EvictionLimits)
    moves: MoveOptions = Field(default_factory=MoveOptions)
    queues: QueueOptions = Field(default_factory=QueueOptions)
    pod_topology_spread: PodTopologySpreadSection = Field(default_factory=PodTopologySpreadSection)

    @property
    def all_cost_models(self) -> tuple[ModelSection, ...]:
        """The cost models that profiles add to their policies, after those for pods without a profile."""
        own = (each for profile in self.profiles for each in profile.cost_models or ())
        return (*self.cost_models, *own)

    def arguments(self, kind: type[Arguments]) -> Arguments:
        """Return the arguments of the cost model that ``kind`` belongs to, the defaults if it is not configured."""
        models = (each.args for each in self.all_cost_models if each.name == _MODEL_BY_ARGUMENTS[kind])
        return _read(kind, next(models, {}))


def load(path: Path | None) -> BridgeConfiguration:
    """Read and check the bridge's part of a configuration file; return the defaults for None.

    Cost models need not be installed, and are not checked. Raises ``ConfigurationError``.
    """
    return load_part(path, BridgeConfiguration, argument_faults)


def argument_faults(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the faults of a document in the profiles' scheduler names, and in the arguments that the bridge uses.

    The cost models of these arguments need not be installed.
    """
    profiles = [each for each in _list(document.get("profiles")) if isinstance(each, Mapping)]
    places = {
        "costModels": document,
        **{f"profiles[{at}].costModels": each for at, each in enumerate(profiles)},
    }
    for kind, name in _MODEL_BY_ARGUMENTS.items():
        first: tuple[str, Section] | None = None
        for where, args in _list_arguments(places, name):
            faults = list(_faults(kind, args))
            yield from (f"{where}: {name}: {fault}" for fault in faults)
            if faults:
                continue
            read = _read(kind, args)
            first = first or (where, read)
            if read != first[1]:
                what = "args name other objects than those in"
                yield f"{where}: {name}: {what} {first[0]}; write the same"
    names = document.get("schedulerNames", ["poseidon"])
    known = [names] if isinstance(names, str) else _list(names)
    for at, each in enumerate(profiles):
        own = each.get("schedulerName")
        if isinstance(own, str) and own not in known and _ANY not in known:
            yield f"profiles[{at}].schedulerName: {own} is not among schedulerNames; add it there"


def _list_arguments(
    places: Mapping[str, Mapping[str, Any]], model: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the place and the arguments of each use of a cost model in the parts of a document."""
    for where, part in places.items():
        for each in _list(part.get("costModels")):
            if isinstance(each, Mapping) and each.get("name") == model:
                args = each.get("args", {})
                if isinstance(args, Mapping):
                    yield where, args


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _faults(kind: type[Section], args: Mapping[str, Any]) -> Iterator[str]:
    try:
        _read(kind, args)
    except ValidationError as error:
        found = error.errors()
        texts = {each["loc"][0] for each in found if each["loc"][1:] or each["type"] == "tuple_type"}
        for key in dict.fromkeys(each["loc"][0] for each in found):
            wanted = "a list of texts" if key in texts else "a text"
            yield f"args.{key}: is {args[str(key)]!r}; write {wanted}"


def _read(kind: type[Arguments], given: Mapping[str, Any]) -> Arguments:
    stated = {key: each for key, each in given.items() if each not in (None, "", [])}
    return kind.model_validate(stated, by_alias=True, by_name=False)
