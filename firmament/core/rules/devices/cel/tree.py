"""The nodes of the trees into which expressions of the Common Expression Language are parsed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class ExpressionError(ValueError):
    """The expression cannot be read; the message says why."""


class UInt(int):
    """A number of the type ``uint``, which the language keeps apart from ``int``."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    value: Any


@dataclass(frozen=True, slots=True)
class Name:
    """The name of a variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Field:
    """``of.name``; ``optional``: ``of.?name``."""

    of: Node
    name: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    """``of[key]``; ``optional``: ``of[?key]``."""

    of: Node
    key: Node
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """``name(...)``, ``of.name(...)``, or an operator, whose name is its sign; unary ones are ``-x`` and ``!x``."""

    name: str
    arguments: tuple[Node, ...]
    of: Node | None = None


@dataclass(frozen=True, slots=True)
class Conditional:
    """``condition ? then : other``."""

    condition: Node
    then: Node
    other: Node


@dataclass(frozen=True, slots=True)
class Logic:
    """``&&`` or ``||`` of several parts."""

    sign: str
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    """``[...]``."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class MapOf:
    """``{key: value, ...}``."""

    items: tuple[tuple[Node, Node], ...]


Node = Literal | Name | Field | Index | Call | Conditional | Logic | ListOf | MapOf


def list_inner(node: Node) -> tuple[Node, ...]:
    """Return the parts of a tree that are trees themselves."""
    found: tuple[Node | None, ...] = ()
    match node:
        case Field(of):
            found = (of,)
        case Index(of, key):
            found = of, key
        case Call(_, arguments, target):
            found = target, *arguments
        case Conditional(condition, then, other):
            found = condition, then, other
        case Logic(_, parts) | ListOf(parts):
            found = parts
        case MapOf(items):
            found = tuple(each for pair in items for each in pair)
        case _:
            pass
    return tuple([each for each in found if each is not None])
