"""Reads a model's ``args``: every fault raises a ``ModelArgumentError`` that says what is allowed."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from cost_models.interface import ModelArgumentError

Choice = TypeVar("Choice", bound=str)


class Arguments:
    """Reads the ``args`` of one model, each by name with its default.

    ``finish`` then refuses arguments that were not read.
    """

    def __init__(self, model: str, given: Mapping[str, Any]) -> None:
        self._model = model
        self._given = given
        self._known: list[str] = []

    def number(self, name: str, default: float, *, least: float = 0.0, most: float = math.inf) -> float:
        """Return the finite number, from ``least`` to ``most``, that an argument states."""
        upper = f" to {most:g}" if math.isfinite(most) else " or more"
        found = self._read(
            name,
            default,
            lambda value: is_number(value) and math.isfinite(value) and least <= value <= most,
            f"a number, {least:g}{upper}",
        )
        return float(found)

    def whole(self, name: str, default: int, *, least: int = 0, most: int = 10**9) -> int:
        """Return the whole number, from ``least`` to ``most``, that an argument states."""
        value = self.number(name, default, least=least, most=most)
        if not value.is_integer():
            raise self.error(name, value, "a whole number")
        return int(value)

    def text(self, name: str, default: str) -> str:
        """Return the non-empty text that an argument states."""
        return str(self._read(name, default, _is_text, "a non-empty text"))

    def texts(self, name: str, default: Sequence[str]) -> tuple[str, ...]:
        """Return the list of at least one non-empty text that an argument states."""
        allowed = "a list of at least one non-empty text"
        return tuple(self._read(name, list(default), lambda it: it and _is_list(it, _is_text), allowed))

    def flag(self, name: str, *, default: bool) -> bool:
        """Return the boolean that an argument states."""
        return bool(self._read(name, default, lambda value: isinstance(value, bool), "true or false"))

    def choice(self, name: str, allowed: Sequence[Choice]) -> Choice:
        """Return the value of an argument that must be among ``allowed``; the first of these is the default."""
        found = self._read(name, allowed[0], lambda it: it in allowed, f"one of {', '.join(allowed)}")
        return cast("Choice", found)

    def choices(self, name: str, allowed: Sequence[str]) -> tuple[str, ...]:
        """Return the list of values of an argument that must all be among ``allowed``; none by default."""
        some = f"a list of some of {', '.join(allowed)}"
        return tuple(self._read(name, [], lambda it: _is_list(it, lambda entry: entry in allowed), some))

    def inner(self, name: str) -> Arguments:
        """Return a reader for an argument that is itself a map of arguments, by default empty; call its ``finish``
        too."""
        return Arguments(f"{self._model}: {name}", self.mapping(name))

    def mapping(self, name: str) -> Mapping[str, Any]:
        """Return the map with text keys that an argument states, empty by default."""
        return cast("Mapping[str, Any]", self._read(name, {}, _is_map, "a map"))

    def entries(self, name: str) -> tuple[Mapping[str, Any], ...]:
        """Return the list of maps with text keys that an argument states, empty by default."""
        return tuple(self._read(name, [], lambda value: _is_list(value, _is_map), "a list of maps"))

    def anything(self, name: str) -> Any:
        """Return an argument unchecked, None by default: for arguments of upstream plugins that have no effect here."""
        return self._read(name, None, lambda _: True, "")

    def finish(self) -> None:
        """Raise an error if the configuration has arguments that the model never read."""
        unknown = sorted(set(self._given) - set(self._known))
        if unknown:
            raise unknown_argument(self._model, unknown[0], self._known)

    def _read(self, name: str, default: Any, accepts: Callable[[Any], object], allowed: str) -> Any:
        self._known.append(name)
        value = self._given.get(name, default)
        if not accepts(value):
            raise self.error(name, value, allowed)
        return value

    def error(self, name: str, value: object, allowed: str) -> ModelArgumentError:
        """Return the error about an argument whose value is not among ``allowed``."""
        return ModelArgumentError(f"{self._model}: {name} is {value!r}; it must be {allowed}")


def is_number(value: object) -> bool:
    """Return whether a value is a number; true and false are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_list(value: object, accepts: Callable[[Any], object]) -> bool:
    return isinstance(value, (list, tuple)) and all(map(accepts, value))


def _is_map(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def unknown_argument(model: str, name: str, known: Sequence[str]) -> ModelArgumentError:
    """Return the error about an argument that a model does not have; it suggests the argument with the most similar
    name.
    """
    if not known:
        return ModelArgumentError(f"{model}: unknown argument {name!r}; the model takes none")
    by_letters = {each.lower(): each for each in known}
    close = difflib.get_close_matches(name.lower(), by_letters, n=1)
    meant = f"; did you mean {by_letters[close[0]]!r}?" if close else ""
    return ModelArgumentError(f"{model}: unknown argument {name!r}; known: {', '.join(known)}{meant}")
