"""Reads JSON that people write into ConfigMaps and annotations, and reports its defects."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from poseidon.kube.parsing.defects import Defect
from poseidon.kube.parsing.strict_json import JsonError, loads

_MAX_SHOWN = 60

S_co = TypeVar("S_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Reading(Generic[S_co]):
    """What was read from a text or an object; ``spec`` may be used only if ``defects`` is empty.

    ``remarks`` are messages for people, such as about parts without effect.
    """

    spec: S_co
    defects: tuple[Defect, ...] = ()
    remarks: tuple[str, ...] = ()


def parse_json(text: str, path: str, kind: type, defects: list[Defect]) -> Any:
    """Return the JSON value of a text; None, with a defect at ``path``, if the text is malformed or not a ``kind``."""
    try:
        value = loads(text, _refuse_duplicates)
    except JsonError as error:
        defects.append(Defect(path, str(error)))
        return None
    if isinstance(value, kind):
        return value
    wanted = "a list, such as [...]" if kind is list else "a map, such as {...}"
    defects.append(Defect(path, f"{format_json(value)} is not what is expected here; write {wanted}"))
    return None


def names(text: str, path: str, defects: list[Defect]) -> tuple[str, ...]:
    """Return the distinct names of a JSON list; (), with a defect, for anything else."""
    given = parse_json(text, path, list, defects)
    if given is None:
        return ()
    for each in given:
        if not isinstance(each, str) or not each:
            defects.append(Defect(path, f"{format_json(each)} is not a name; write names in quotes"))
            return ()
    twice = next((each for each, times in Counter(given).items() if times > 1), None)
    if twice is not None or not given:
        problem = (
            f"gives {twice!r} twice; give each name once" if given else "is empty; give at least one name"
        )
        defects.append(Defect(path, problem))
        return ()
    return tuple(given)


def format_json(value: Any) -> str:
    """Return a value as JSON, shortened for people."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        given = [name for name, _ in pairs]
        twice = next(name for name, times in Counter(given).items() if times > 1)
        # Plain JSON readers silently keep the last of the values.
        raise JsonError(f"{twice!r} is given twice in one map; names are unique there")
    return found
