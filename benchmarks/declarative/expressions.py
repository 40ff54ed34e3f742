"""Evaluates small expressions in workloads: integers, names, + - * // % and a few functions, and no others.

``rand(low, high)`` is a whole number from ``low`` to ``high - 1`` that depends on the seed, the object's index and the
place of the call alone, so that a workload is the same at every run.
"""

from __future__ import annotations

import ast
import operator
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Value = int | str

_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_MASK = 2**64 - 1


class ExpressionError(ValueError):
    """An expression that cannot be used; the text says what is wrong and what is allowed."""


@dataclass(slots=True)
class Scope:
    """The values of names: ``values`` by name, ``node_names`` for ``node(i)`` (round robin), and the seed."""

    values: dict[str, Value]
    node_names: list[str] = field(default_factory=list)
    seed: int = 1

    def node(self, index: int) -> str:
        """Return the name of a node, round robin; raises ``ExpressionError`` if there are no nodes yet."""
        if not self.node_names:
            raise ExpressionError("node() is used before any node exists; put createNodes first")
        return self.node_names[index % len(self.node_names)]


Evaluator = Callable[[Scope], Value]


def compile_expression(text: str, names: frozenset[str]) -> Evaluator:
    """Return a function that evaluates ``text`` in a scope with ``names``; raises ``ExpressionError``."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise ExpressionError(f"cannot be read: {text!r}; use whole numbers, names, + - * // %") from None
    return _compile(tree, names, zlib.crc32(text.encode()))


def whole_number(value: Value, text: str) -> int:
    """Return ``value`` if it is a number; raises ``ExpressionError``."""
    if not isinstance(value, int):
        raise ExpressionError(f"{text!r} is {value!r}, a text; a whole number is needed")
    return value


def _compile(node: ast.expr, names: frozenset[str], salt: int) -> Evaluator:
    match node:
        case ast.Constant(value=int() as number):
            return lambda _: number
        case ast.Name(id=name):
            if name not in names:
                raise ExpressionError(f"unknown name {name!r}; known here: {', '.join(sorted(names))}")
            return lambda scope: scope.values[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            negated = _compile(operand, names, salt)
            return lambda scope: -_number(negated, scope)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _binary(_OPERATORS[type(op)], _compile(left, names, salt), _compile(right, names, salt))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            compiled = [_compile(argument, names, salt) for argument in arguments]
            return _call(name, compiled, salt + node.col_offset)
        case _:
            raise ExpressionError(f"not allowed: {ast.unparse(node)!r}; use whole numbers, names, + - * // %")


def _binary(apply: Callable[[int, int], int], left: Evaluator, right: Evaluator) -> Evaluator:
    def evaluate(scope: Scope) -> Value:
        try:
            return apply(_number(left, scope), _number(right, scope))
        except ZeroDivisionError:
            raise ExpressionError("division by zero") from None

    return evaluate


def _call(name: str, arguments: list[Evaluator], salt: int) -> Evaluator:
    match name, arguments:
        case "min", [_, *_]:
            return lambda scope: min(_number(each, scope) for each in arguments)
        case "max", [_, *_]:
            return lambda scope: max(_number(each, scope) for each in arguments)
        case "node", [index]:
            return lambda scope: scope.node(_number(index, scope))
        case "rand", [low, high]:
            return lambda scope: _random(scope, _number(low, scope), _number(high, scope), salt)
        case _:
            known = "min(a, ...), max(a, ...), node(i), rand(low, high)"
            raise ExpressionError(
                f"unknown function {name}() with {len(arguments)} arguments; known: {known}"
            )


def _number(evaluate: Evaluator, scope: Scope) -> int:
    value = evaluate(scope)
    if not isinstance(value, int):
        raise ExpressionError(f"{value!r} is a text and cannot be calculated with")
    return value


def _random(scope: Scope, low: int, high: int, salt: int) -> int:
    """Return a number drawn by splitmix64 (Steele, Lea and Flood 2014) from seed, index and place."""
    if high <= low:
        raise ExpressionError(f"rand({low}, {high}) has nothing to choose from; high must be above low")
    index = scope.values["index"]
    mixed = (scope.seed * 0x9E3779B97F4A7C15 + int(index) * 0xD1342543DE82EF95 + salt) & _MASK
    mixed = (mixed + 0x9E3779B97F4A7C15) & _MASK
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    return low + (mixed ^ (mixed >> 31)) % (high - low)
