"""Evaluates parsed CEL expressions, and bounds the work of each evaluation.

Before its first evaluation, an expression is checked once: its names and functions must be known. An evaluation takes
one step for each operation, and more steps for operations on whole texts and lists. An error on one side of ``&&`` or
``||`` does not count if the other side decides the result; equally for the items of ``all`` and ``exists``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from firmament.core.rules.devices.cel.checks import OPERATORS, Bound, NameCheck, find_attributes, find_bound
from firmament.core.rules.devices.cel.functions import (
    FUNCTIONS,
    METHODS,
    SPACED,
    add,
    calculate,
    is_in,
    negate,
)
from firmament.core.rules.devices.cel.limits import MOST_WORK
from firmament.core.rules.devices.cel.syntax import parse_expression
from firmament.core.rules.devices.cel.tree import (
    Call,
    Conditional,
    Field,
    Index,
    ListOf,
    Literal,
    Logic,
    MapOf,
    Name,
    Node,
)
from firmament.core.rules.devices.cel.values import (
    DomainMap,
    EvaluationError,
    Optional,
    are_equal,
    compare,
    count_size,
    kind_of,
)

Scope = Mapping[str, Any]


class Expression:
    """An expression about a variable ``device``, whose fields are ``fields``.

    The constructor raises ``ExpressionError`` if the text is no expression, or uses unknown names.
    """

    def __init__(self, text: str, fields: frozenset[str]) -> None:
        self.text = text
        self._tree = parse_expression(text)
        NameCheck(fields).look_at(self._tree, frozenset({"device"}))

    @property
    def attributes(self) -> frozenset[str] | None:
        """Return the attributes that the expression may read: ``domain/name``, or ``domain/`` for a whole domain.

        Return None if the expression may read any attribute.
        """
        return find_attributes(self._tree)

    def evaluate(self, device: Mapping[str, Any], most_work: int = MOST_WORK) -> tuple[Any, int]:
        """Return the value for a device, and the number of steps; raise ``EvaluationError``, which states steps too."""
        evaluator = _Evaluator(most_work)
        try:
            value = evaluator.value(self._tree, {"device": device})
        except RecursionError as error:
            fault = WorkError("it is nested too deeply")
            fault.work = most_work - evaluator.left
            raise fault from error
        except EvaluationError as error:
            error.work = most_work - evaluator.left
            raise
        return value, most_work - evaluator.left


class _Evaluator:
    def __init__(self, most_work: int) -> None:
        self.left = most_work
        self._by_kind: Mapping[type, Callable[[Any, Scope], Any]] = {
            Literal: self._literal,
            Name: self._name,
            Field: self._field,
            Index: self._index,
            Conditional: self._choice,
            Logic: self._logic,
            ListOf: self._list,
            MapOf: self._map,
            Call: self._call,
        }

    def spend(self, work: int) -> None:
        """Count steps of work; raise ``WorkError`` if there are too many."""
        self.left -= work
        if self.left < 0:
            raise WorkError("it takes too much work")

    def value(self, node: Node, scope: Scope) -> Any:
        """Return the value of a parsed expression or a part of one."""
        self.spend(1)
        return self._by_kind[type(node)](node, scope)

    def _literal(self, node: Literal, _: Scope) -> Any:
        return node.value

    def _name(self, node: Name, scope: Scope) -> Any:
        return scope[node.name]

    def _field(self, node: Field, scope: Scope) -> Any:
        return self._look_up(self.value(node.of, scope), node.name, optional=node.optional)

    def _index(self, node: Index, scope: Scope) -> Any:
        return self._look_up(self.value(node.of, scope), self.value(node.key, scope), optional=node.optional)

    def _look_up(self, place: Any, key: Any, *, optional: bool) -> Any:
        """Return the value at a key of a map or an index of a list.

        The value returned is optional if ``optional`` is True or the map itself is optional.
        """
        if isinstance(place, Optional):
            return self._look_up(place.value, key, optional=True) if place.has_value else place
        if isinstance(place, dict):
            if isinstance(key, str | int) and key in place:
                return Optional(place[key], True) if optional else place[key]
            if isinstance(place, DomainMap) and isinstance(key, str):
                return Optional({}, True) if optional else {}
            fault = f"no such key: {str(key)[:60]}"
        elif isinstance(place, list) and kind_of(key) in {"int", "uint"}:
            if 0 <= key < len(place):
                return Optional(place[key], True) if optional else place[key]
            fault = f"index {key} is outside of the list"
        else:
            raise EvaluationError(f"a {kind_of(place)} has nothing called {str(key)[:60]}")
        if optional:
            return Optional()
        raise EvaluationError(fault)

    def _choice(self, node: Conditional, scope: Scope) -> Any:
        condition = self.value(node.condition, scope)
        if not isinstance(condition, bool):
            raise EvaluationError("a condition is neither true nor false")
        return self.value(node.then if condition else node.other, scope)

    def _logic(self, node: Logic, scope: Scope) -> bool:
        deciding = node.sign == "||"
        return self._decide([partial(self.value, part, scope) for part in node.parts], deciding=deciding)

    def _decide(self, parts: Sequence[Callable[[], Any]], *, deciding: bool) -> bool:
        """Return ``deciding`` (a truth value) if some operand has it as its value, otherwise its negation.

        An error in one operand of ``&&`` or ``||`` counts only if no other operand decides the result.
        """
        failed: EvaluationError | None = None
        for part in parts:
            try:
                if self._is_true(part()) == deciding:
                    return deciding
            except WorkError:
                raise
            except EvaluationError as error:
                failed = failed or error
        if failed is not None:
            raise failed
        return not deciding

    def _list(self, node: ListOf, scope: Scope) -> list[Any]:
        return [self.value(each, scope) for each in node.items]

    def _map(self, node: MapOf, scope: Scope) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, value in node.items:
            name = self.value(key, scope)
            if kind_of(name) not in {"string", "int", "uint", "bool"} or name in found:
                raise EvaluationError("a key of a map is given twice, or cannot be one")
            found[name] = self.value(value, scope)
        return found

    def _call(self, node: Call, scope: Scope) -> Any:
        bound = find_bound(node)
        if bound is not None:
            return self._evaluate_bound(node.name, bound, scope)
        arguments: list[Any] = []
        if node.of is None:
            if node.name in OPERATORS:
                return self._operate(node.name, [self.value(each, scope) for each in node.arguments])
            if node.name == "has":
                return self._has(node.arguments[0], scope)
            function = FUNCTIONS[node.name]
        elif isinstance(node.of, Name) and node.of.name in SPACED and node.of.name not in scope:
            function = SPACED[node.of.name][node.name]
        else:
            function = METHODS[node.name]
            arguments.append(self.value(node.of, scope))
        arguments += [self.value(each, scope) for each in node.arguments]
        try:
            return function(self.spend, *arguments)
        except TypeError as error:
            raise EvaluationError(f"{node.name} does not take {len(arguments)} arguments") from error

    def _has(self, node: Node, scope: Scope) -> bool:
        assert isinstance(node, Field)  # `NameCheck` has made sure that the argument is a field.
        place = self.value(node.of, scope)
        if isinstance(place, Optional):
            place = place.value if place.has_value else {}
        if not isinstance(place, dict):
            raise EvaluationError(f"a {kind_of(place)} has no fields")
        return node.name in place

    def _operate(self, sign: str, values: list[Any]) -> Any:
        if sign in {"==", "!="}:
            self.spend(count_size(values[0]))
            return are_equal(*values) == (sign == "==")
        if sign in {"+", "in"}:
            return (add if sign == "+" else is_in)(self.spend, *values)
        if sign in {"!x", "-x"}:
            return negate(sign, values[0])
        return _ORDERS[sign](compare(*values)) if sign in _ORDERS else calculate(sign, *values)

    def _evaluate_bound(self, name: str, bound: Bound, scope: Scope) -> Any:
        place = self.value(bound.range, scope)
        if name == "bind":
            return self.value(bound.bodies[0], {**scope, bound.variable: place})
        if name == "optMap":
            if not isinstance(place, Optional):
                raise EvaluationError("optMap is for optional values")
            if not place.has_value:
                return place
            return Optional(self.value(bound.bodies[0], {**scope, bound.variable: place.value}), True)
        if not isinstance(place, list | dict):
            raise EvaluationError(f"a {kind_of(place)} has no items")
        self.spend(len(place))

        return self._go_through(name, bound, place, scope)

    def _go_through(self, name: str, bound: Bound, place: list[Any] | dict[Any, Any], scope: Scope) -> Any:
        """Return the value of a macro over the items of a list, or the keys of a map."""

        def ask(item: Any, body: Node) -> Any:
            return self.value(body, {**scope, bound.variable: item})

        first = bound.bodies[0]
        if name in {"all", "exists"}:
            return self._decide([partial(ask, item, first) for item in place], deciding=name == "exists")
        if name in {"exists_one", "existsOne"}:
            return sum(self._is_true(ask(item, first)) for item in place) == 1
        if name == "filter":
            return [item for item in place if self._is_true(ask(item, first))]
        chosen = len(bound.bodies) > 1
        return [
            ask(item, bound.bodies[-1]) for item in place if not chosen or self._is_true(ask(item, first))
        ]

    def _is_true(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise EvaluationError("a condition is neither true nor false")
        return value


class WorkError(EvaluationError):
    """The evaluation took too much work.

    Unlike other errors, this error counts even if another operand decides the result.
    """


_ORDERS: Mapping[str, Callable[[int], bool]] = {
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}
