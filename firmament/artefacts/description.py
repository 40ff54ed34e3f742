"""``round.json``: what the rows of the arrays mean, with what the round was run, and its figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from types import MappingProxyType
from typing import Any

from firmament.artefacts.errors import ArtefactError
from firmament.core.flow.column_generation import GenerationOptions
from firmament.core.placement.outcome import PassOptions
from firmament.core.results import RoundStats

FILE = "round.json"
FORMAT = 2
"""Grows when a saved round of an older release can no longer be read."""

_ACCEPTED: Mapping[type, tuple[type, ...]] = MappingProxyType(
    {bool: (bool,), int: (int,), float: (int, float), type(None): (int, float, type(None))}
)
"""Kinds of JSON values that a field takes, by the kind of its default; None stands for a figure that may be missing."""


@dataclass(frozen=True, slots=True)
class ModelUse:
    """A cost model that took part, and what its points were multiplied by."""

    name: str
    weight: int


@dataclass(frozen=True, slots=True)
class SavedClass:
    """A class of the problem: tasks of one shape and priority. ``requests`` by resource, those that are not 0."""

    tasks: int
    shape: int
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    requests: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Description:
    """A round in words: cluster and number, names of rows and columns, options, models and figures.

    ``bound``: the first certified bound in units, None if there was no network; ``versions``: of the packages whose
    release may change a result.
    """

    cluster: str
    round: int
    machines: tuple[str, ...]
    resources: tuple[str, ...]
    classes: tuple[SavedClass, ...]
    models: tuple[ModelUse, ...]
    options: PassOptions
    stats: RoundStats
    bound: int | None
    versions: Mapping[str, str]


def encode_description(description: Description) -> bytes:
    """Return the content of ``round.json``."""
    return (json.dumps({"format": FORMAT, **asdict(description)}, indent=1) + "\n").encode()


def decode_description(content: bytes) -> Description:
    """Return what ``encode_description`` was given; raises ``ArtefactError``."""
    try:
        document = json.loads(content)
    except ValueError as error:
        raise ArtefactError(f"{FILE}: is not JSON; save the round again") from error
    if not isinstance(document, dict):
        raise ArtefactError(f"{FILE}: is not a JSON object; save the round again")
    version = document.pop("format", None)
    if version != FORMAT:
        raise ArtefactError(
            f"{FILE}: format is {version!r}, this release reads {FORMAT}; use the release that saved it"
        )
    try:
        return _described(document)
    except ArtefactError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise ArtefactError(
            f"{FILE}: field {error} is missing or of the wrong kind; save the round again"
        ) from error


def _described(document: dict[str, Any]) -> Description:
    """Return the description; raises ``ArtefactError``, or another error that names a field."""
    return Description(
        **{
            **_part(Description, document),
            "cluster": str(document["cluster"]),
            "round": int(document["round"]),
            "machines": tuple(document["machines"]),
            "resources": tuple(document["resources"]),
            "classes": tuple(SavedClass(**_part(SavedClass, each)) for each in document["classes"]),
            "models": tuple(ModelUse(**_part(ModelUse, each)) for each in document["models"]),
            "options": _options(dict(document["options"])),
            "stats": RoundStats(**_figures(RoundStats(), document["stats"])),
            "versions": dict(document["versions"]),
        }
    )


def _options(options: dict[str, Any]) -> PassOptions:
    generation = GenerationOptions(**_figures(GenerationOptions(), options.pop("generation")))
    limit = options.pop("solve_time_limit")
    if limit is not None and type(limit) not in _ACCEPTED[float]:
        raise TypeError("solve_time_limit")
    plain = _figures(PassOptions(), options, beside=("generation", "solve_time_limit"))
    return PassOptions(**plain, solve_time_limit=limit, generation=generation)


def _figures(default: Any, value: Any, beside: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return ``value`` as arguments of the class of ``default``, whose values say what kind each has to be.

    ``beside``: fields that are left out. Raises ``ArtefactError``, or ``TypeError`` with a field's name.
    """
    figures = _part(type(default), value, beside)
    for name, figure in figures.items():
        if type(figure) not in _ACCEPTED[type(getattr(default, name))]:
            raise TypeError(name)
    return figures


def _part(kind: type[Any], value: Any, beside: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return ``value`` as arguments of ``kind``; raises ``ArtefactError`` unless it has exactly its fields."""
    names = {each.name for each in fields(kind)}.difference(beside)
    if not isinstance(value, dict) or set(value) != names:
        found = sorted(set(value) ^ names) if isinstance(value, dict) else [repr(value)]
        raise ArtefactError(
            f"{FILE}: missing or unknown fields in {kind.__name__}: {', '.join(found)}; use the release that saved it"
        )
    return dict(value)
