"""The nodes of the trees into which expressions of the Common Expression Language are parsed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class ExpressionError(ValueError):
    """The expression cannot be read; the message says why."""


class UInt(int):
    """A number of CEL's type ``uint``, which differs from ``int``."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant in an expression."""

    value: Any


@dataclass(frozen=True, slots=True)
class Name:
    """The name of a variable in an expression."""

    name: str


@dataclass(frozen=True, slots=True)
class Field:
    """Access to a field, ``of.name``; ``optional``: ``of.?name``."""

    of: Node
    name: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    """Access to a list or map, ``of[key]``; ``optional``: ``of[?key]``."""

    of: Node
    key: Node
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call, ``name(...)`` or ``of.name(...)``, or an operator, whose name is its sign.

    Unary operators are named ``-x`` and ``!x``.
    """

    name: str
    arguments: tuple[Node, ...]
    of: Node | None = None


@dataclass(frozen=True, slots=True)
class Conditional:
    """A condition with two results, ``condition ? then : other``."""

    condition: Node
    then: Node
    other: Node


@dataclass(frozen=True, slots=True)
class Logic:
    """``&&`` or ``||`` between several parts."""

    sign: str
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list, ``[...]``."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class MapOf:
    """A map, ``{key: value, ...}``."""

    items: tuple[tuple[Node, Node], ...]


Node = Literal | Name | Field | Index | Call | Conditional | Logic | ListOf | MapOf


def list_inner(node: Node) -> tuple[Node, ...]:
    """Return the parts of a node that are nodes themselves."""
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
