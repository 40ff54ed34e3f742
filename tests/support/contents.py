"""Everything that an object holds, so that a test can say that nothing of it has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

_PLAIN = (int, float, str, bytes, bool, type(None), Enum, np.generic)
_CODE = (FunctionType, MethodType, BuiltinFunctionType, type)


def contents(given: object, ignored: frozenset[tuple[str, str]] = frozenset()) -> dict[str, str]:
    """By path, what ``given`` and all that can be reached from it holds; ``ignored``: (class, attribute) left out."""
    return dict(_parts(given, ignored, {}, ""))


def differences(ours: dict[str, str], theirs: dict[str, str]) -> list[str]:
    """Paths at which two contents differ."""
    return sorted(path for path in ours.keys() | theirs.keys() if ours.get(path) != theirs.get(path))


def _parts(
    given: Any, ignored: frozenset[tuple[str, str]], seen: dict[int, tuple[str, object]], path: str
) -> Iterator[tuple[str, str]]:
    if isinstance(given, _PLAIN):
        yield path, repr(given)
    elif isinstance(given, _CODE):
        yield path, "code"
    elif id(given) in seen:
        yield path, f"as {seen[id(given)][0]}"
    else:
        seen[id(given)] = path, given  # kept alive, so that no other object gets its id
        if isinstance(given, np.ndarray):
            content = hashlib.sha256(np.ascontiguousarray(given).tobytes()).hexdigest()
            yield path, f"{given.dtype} {given.shape} {content}"
            return
        yield path, type(given).__qualname__
        for name, value in _held(given, ignored):
            yield from _parts(value, ignored, seen, f"{path}.{name}")


def _held(given: Any, ignored: frozenset[tuple[str, str]]) -> Iterator[tuple[str, Any]]:
    if isinstance(given, Mapping):
        for key, value in given.items():
            yield f"[{key!r}]", value
    elif isinstance(given, AbstractSet):
        for index, value in enumerate(sorted(given, key=repr)):
            yield f"{{{index}}}", value
    elif isinstance(given, (list, tuple)):
        for index, value in enumerate(given):
            yield f"[{index}]", value
    for kind in type(given).__mro__:
        for name in getattr(kind, "__slots__", ()):
            if (type(given).__name__, name) not in ignored and hasattr(given, name):
                yield name, getattr(given, name)
    for name, value in getattr(given, "__dict__", {}).items():
        if (type(given).__name__, name) not in ignored:
            yield name, value
