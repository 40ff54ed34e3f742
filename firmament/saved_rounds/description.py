"""Writes and reads ``round.json``: what the rows of arrays mean, the round's options and models, and its figures."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from firmament.core.placement.outcome import PassOptions
from firmament.core.results import RoundStats
from firmament.saved_rounds import SavedRoundError

FILE = "round.json"
FORMAT = 5
"""Number of the format; it grows when saved rounds of an older release can no longer be read."""


@dataclass(frozen=True, slots=True)
class ModelUse:
    """A cost model that a round used, and the weight by which its points were multiplied."""

    name: str
    weight: int


@dataclass(frozen=True, slots=True)
class SavedClass:
    """A class of the problem: tasks of one shape and priority."""

    tasks: int
    """Number of the class's tasks."""
    shape: int
    """Row of the class's shape."""
    namespace: str
    """Namespace of the class's tasks."""
    labels: Mapping[str, str]
    """Labels of the class's tasks."""
    annotations: Mapping[str, str]
    """Annotations of the class's tasks."""
    requests: Mapping[str, int]
    """Requested amounts by resource, without zeros."""
    example: str
    """Name of the class's first task."""


@dataclass(frozen=True, slots=True)
class Description:
    """The content of ``round.json``, which describes a saved round."""

    cluster: str
    """Name of the cluster."""
    round: int
    """Number of the round."""
    machines: tuple[str, ...]
    """Names of machines, by row."""
    resources: tuple[str, ...]
    """Names of resources, by column."""
    classes: tuple[SavedClass, ...]
    """The classes of the problem, by row."""
    models: tuple[ModelUse, ...]
    """The cost models of the round and their arguments."""
    options: PassOptions
    """Options of the round's passes."""
    stats: RoundStats
    """Figures of the round."""
    bound: int | None
    """The first certified lower bound, in hundredths of a point; None without a network."""
    versions: Mapping[str, str]
    """Versions of packages that may change a result."""


def encode_description(description: Description) -> bytes:
    """Return a description as the content of ``round.json``."""
    return (json.dumps({"format": FORMAT, **asdict(description)}, indent=1) + "\n").encode()


def read_description(files: Mapping[str, bytes]) -> Description:
    """Return the description in a saved round's ``round.json``; raise ``SavedRoundError`` if it cannot be read."""
    if FILE not in files:
        raise SavedRoundError(f"{FILE} is missing; save the round again")
    return decode_description(files[FILE])


def decode_description(content: bytes) -> Description:
    """Return the description that ``encode_description`` wrote; raise ``SavedRoundError`` if it cannot be read."""
    try:
        document = json.loads(content)
    except ValueError as error:
        raise SavedRoundError(f"{FILE} is not JSON; save the round again") from error
    if not isinstance(document, dict):
        raise SavedRoundError(f"{FILE} is not a JSON object; save the round again")
    version = document.pop("format", None)
    if version != FORMAT:
        raise SavedRoundError(
            f"{FILE}: format is {version!r}, this release reads {FORMAT}; use the release that saved it"
        )
    try:
        described = msgspec.convert(document, Description)
    except msgspec.ValidationError as error:
        raise SavedRoundError(f"{FILE}: {error}; save the round again") from error
    for where in _strange(document, msgspec.to_builtins(described)):
        raise SavedRoundError(f"{FILE}: missing or unknown field: {where}; use the release that saved it")
    return described


def _strange(given: Any, known: Any, above: str = "") -> Iterator[str]:
    """Yield the paths of fields that only one of two documents has."""
    if isinstance(known, dict):
        for name in sorted(given.keys() ^ known.keys()):
            yield f"{above}{name}"
        for name in given.keys() & known.keys():
            yield from _strange(given[name], known[name], f"{above}{name}.")
    elif isinstance(known, (list, tuple)):
        for number, (one, other) in enumerate(zip(given, known, strict=True)):
            yield from _strange(one, other, f"{above}{number}.")


def name_classes(description: Description) -> list[str]:
    """Return a name for each class: its application if no other class has the same, otherwise its first task."""
    applications = [
        f"{each.namespace}/{application}" if (application := _read_application(each.labels)) else ""
        for each in description.classes
    ]
    number = Counter(applications)
    return [
        name if name and number[name] == 1 else each.example
        for name, each in zip(applications, description.classes, strict=True)
    ]


def _read_application(labels: Mapping[str, str]) -> str:
    return labels.get("app.kubernetes.io/name") or labels.get("app") or ""
