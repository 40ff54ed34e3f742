"""Reads a model's ``args``: every fault becomes one ``ModelArgumentError`` that says what is allowed."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from cost_models.interface import ModelArgumentError

Choice = TypeVar("Choice", bound=str)


class Arguments:
    """The ``args`` of one model. Read each by name with its default, then ``finish``, which refuses the rest."""

    def __init__(self, model: str, given: Mapping[str, Any]) -> None:
        self._model = model
        self._given = given
        self._known: list[str] = []

    def number(self, name: str, default: float, *, least: float = 0.0, most: float = math.inf) -> float:
        """Return a finite number from ``least`` to ``most``."""
        value = self._value(name, default)
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not (math.isfinite(value) and least <= value <= most):
            upper = f" to {most:g}" if math.isfinite(most) else " or more"
            raise self.error(name, value, f"a number, {least:g}{upper}")
        return float(value)

    def text(self, name: str, default: str) -> str:
        """Return a non-empty text."""
        value = self._value(name, default)
        if not isinstance(value, str) or not value:
            raise self.error(name, value, "a non-empty text")
        return value

    def texts(self, name: str, default: Sequence[str]) -> tuple[str, ...]:
        """Return a list of at least one non-empty text."""
        value = self._value(name, list(default))
        if (
            not isinstance(value, (list, tuple))
            or not value
            or not all(isinstance(entry, str) and entry for entry in value)
        ):
            raise self.error(name, value, "a list of at least one non-empty text")
        return tuple(value)

    def flag(self, name: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self._value(name, default)
        if not isinstance(value, bool):
            raise self.error(name, value, "true or false")
        return value

    def choice(self, name: str, allowed: Sequence[Choice]) -> Choice:
        """Return one of ``allowed``, of which the first is the default."""
        value = self._value(name, allowed[0])
        if value not in allowed:
            raise self.error(name, value, f"one of {', '.join(allowed)}")
        return cast("Choice", value)

    def choices(self, name: str, allowed: Sequence[str]) -> tuple[str, ...]:
        """Return a list of some of ``allowed``, none by default."""
        value = self._value(name, [])
        if not isinstance(value, (list, tuple)) or not all(entry in allowed for entry in value):
            raise self.error(name, value, f"a list of some of {', '.join(allowed)}")
        return tuple(value)

    def inner(self, name: str) -> Arguments:
        """Return the arguments in a map, none by default; to be finished by itself."""
        return Arguments(f"{self._model}: {name}", self.mapping(name))

    def mapping(self, name: str) -> Mapping[str, Any]:
        """Return a map with text keys, empty by default."""
        value = self._value(name, {})
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise self.error(name, value, "a map")
        return value

    def entries(self, name: str) -> tuple[Mapping[str, Any], ...]:
        """Return a list of maps with text keys, empty by default."""
        value = self._value(name, [])
        if not isinstance(value, (list, tuple)) or not all(
            isinstance(entry, Mapping) and all(isinstance(key, str) for key in entry) for entry in value
        ):
            raise self.error(name, value, "a list of maps")
        return tuple(value)

    def anything(self, name: str) -> Any:
        """Return whatever was given, None by default: for arguments of an upstream that have no effect here."""
        return self._value(name, None)

    def finish(self) -> None:
        """Refuse arguments that were given but never read."""
        unknown = sorted(set(self._given) - set(self._known))
        if unknown:
            raise unknown_argument(self._model, unknown[0], self._known)

    def _value(self, name: str, default: Any) -> Any:
        self._known.append(name)
        return self._given.get(name, default)

    def error(self, name: str, value: object, allowed: str) -> ModelArgumentError:
        """The error about a value that is none of those ``allowed``."""
        return ModelArgumentError(f"{self._model}: {name} is {value!r}; it must be {allowed}")


def unknown_argument(model: str, name: str, known: Sequence[str]) -> ModelArgumentError:
    """The error about an argument that a model does not know; names the one that was probably meant."""
    if not known:
        return ModelArgumentError(f"{model}: unknown argument {name!r}; the model takes none")
    by_letters = {each.lower(): each for each in known}
    close = difflib.get_close_matches(name.lower(), by_letters, n=1)
    meant = f"; did you mean {by_letters[close[0]]!r}?" if close else ""
    return ModelArgumentError(f"{model}: unknown argument {name!r}; known: {', '.join(known)}{meant}")
