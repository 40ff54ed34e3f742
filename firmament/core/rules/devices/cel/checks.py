"""Checks a parsed expression before evaluation: whether all names are known, and which attributes it reads."""

from __future__ import annotations

from collections.abc import Mapping

from firmament.core.rules.devices.cel.functions import FUNCTIONS, METHODS, SPACED
from firmament.core.rules.devices.cel.tree import (
    Call,
    ExpressionError,
    Field,
    Index,
    Literal,
    Name,
    Node,
    list_inner,
)

_LOOPS: Mapping[str, tuple[int, ...]] = {
    "all": (2,),
    "exists": (2,),
    "exists_one": (2,),
    "existsOne": (2,),
    "map": (2, 3),
    "filter": (2,),
}
"""CEL macros over the items of a list or the keys of a map, each with the possible numbers of arguments."""
OPERATORS = frozenset({"+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "-x", "!x"})


class NameCheck:
    """Checks that a parsed expression uses only variables, fields and functions that exist."""

    def __init__(self, fields: frozenset[str]) -> None:
        self._fields = fields

    def look_at(self, node: Node, known: frozenset[str]) -> None:
        """Raise ``ExpressionError`` for the first unknown name in a tree; ``known``: the variables in scope."""
        if isinstance(node, Call):
            self._look_at_call(node, known)
            return
        if isinstance(node, Name) and node.name not in known:
            raise ExpressionError(f"there is no variable {node.name!r}")
        if isinstance(node, Field) and node.of == Name("device") and node.name not in self._fields:
            raise ExpressionError(f"devices have no field {node.name!r}")
        for each in list_inner(node):
            self.look_at(each, known)

    def _look_at_call(self, node: Call, known: frozenset[str]) -> None:
        bound = find_bound(node)
        if bound is not None:
            self.look_at(bound.range, known)
            for each in bound.bodies:
                self.look_at(each, known | {bound.variable})
            return
        if node.of is None:
            if node.name == "has" and len(node.arguments) == 1:
                if not isinstance(node.arguments[0], Field):
                    raise ExpressionError("has() takes a field")
            elif node.name not in FUNCTIONS and node.name not in OPERATORS:
                raise ExpressionError(f"there is no function {node.name!r}")
        elif isinstance(node.of, Name) and node.of.name in SPACED and node.of.name not in known:
            if node.name not in SPACED[node.of.name]:
                raise ExpressionError(f"there is no function {node.of.name}.{node.name}")
        elif node.name not in METHODS:
            raise ExpressionError(f"there is no function {node.name!r}")
        else:
            self.look_at(node.of, known)
        for each in node.arguments:
            self.look_at(each, known)


def find_attributes(tree: Node) -> frozenset[str] | None:
    """Return the attributes of devices that a parsed expression may read: see `Expression.attributes`."""
    found: set[str] = set()
    waiting: list[tuple[Node, Mapping[str, str]]] = [(tree, {})]
    while waiting:
        node, domains = waiting.pop()
        if isinstance(node, Field | Index) and (domain := _domain_of(node.of, domains)) is not None:
            key = node.name if isinstance(node, Field) else node.key
            key = key.value if isinstance(key, Literal) else key
            found.add(f"{domain}/{key}" if isinstance(key, str) else f"{domain}/")
            if isinstance(node, Index):
                waiting.append((node.key, domains))
            continue
        if (domain := _domain_of(node, domains)) is not None:
            found.add(f"{domain}/")
            continue
        if node == Name("device") or (isinstance(node, Field) and node.of == Name("device")):
            if isinstance(node, Name) or node.name == "attributes":
                return None
            continue
        bound = find_bound(node) if isinstance(node, Call) else None
        if bound is None:
            waiting += [(each, domains) for each in list_inner(node)]
            continue
        if bound.variable == "device":
            return None
        inner = {name: domain for name, domain in domains.items() if name != bound.variable}
        named = _domain_of(bound.range, domains) if isinstance(node, Call) and node.name == "bind" else None
        if named is None:
            waiting.append((bound.range, domains))
        else:
            inner[bound.variable] = named
        waiting += [(each, inner) for each in bound.bodies]
    return frozenset(found)


def _domain_of(node: Node, domains: Mapping[str, str]) -> str | None:
    """Return the domain whose attributes a tree evaluates to.

    Return None if the tree evaluates to anything but attributes of a domain, or if the domain is unknown.
    """
    if isinstance(node, Name):
        return domains.get(node.name)
    if isinstance(node, Index) and node.of == Field(Name("device"), "attributes"):
        return node.key.value if isinstance(node.key, Literal) and isinstance(node.key.value, str) else None
    return None


class Bound:
    """A call of a CEL macro that binds ``variable`` to each value of ``range``, and evaluates ``bodies``."""

    __slots__ = ("bodies", "range", "variable")

    def __init__(self, variable: str, range_: Node, bodies: tuple[Node, ...]) -> None:
        self.variable, self.range, self.bodies = variable, range_, bodies


def find_bound(node: Call) -> Bound | None:
    """Return the variable, range and bodies of a macro call; None if the call is no macro that binds a variable."""
    if node.of is None:
        return None
    arguments = node.arguments
    named = bool(arguments) and isinstance(arguments[0], Name)
    if node.of == Name("cel") and node.name == "bind" and len(arguments) == 3 and named:
        return Bound(arguments[0].name, arguments[1], arguments[2:])  # type: ignore[union-attr]  # a Name
    if node.name == "optMap" and len(arguments) == 2 and named:
        return Bound(arguments[0].name, node.of, arguments[1:])  # type: ignore[union-attr]  # a Name
    if len(arguments) in _LOOPS.get(node.name, ()) and named:
        return Bound(arguments[0].name, node.of, arguments[1:])  # type: ignore[union-attr]  # a Name
    return None
