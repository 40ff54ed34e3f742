"""Parses an expression of the Common Expression Language into a tree.

The grammar is that of the language's definition, but without messages (protocol buffers), as device selectors have
none. The length of texts and the depth of trees are bounded.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from firmament.core.rules.devices.cel.tree import (
    Call,
    Conditional,
    ExpressionError,
    Field,
    Index,
    ListOf,
    Literal,
    Logic,
    MapOf,
    Name,
    Node,
    UInt,
    list_inner,
)

LONGEST = 10 * 1024
"""The most characters of an expression that the API allows."""
DEEPEST = 60
"""The most brackets and conditions within each other; usual expressions have a handful."""
LONGEST_CHAIN = 150
"""The most operators or fields in a row without brackets."""
DEEPEST_TREE = 90
"""The most levels of a tree; evaluation uses some frames of Python's stack for each level."""


class _Token(NamedTuple):
    kind: str
    text: str
    value: Any = None


_TOKEN = re.compile(
    r"""
    (?P<space>(?:\s|//[^\n]*)+)
  | (?P<string>[rRbB]{0,2}(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''
      |"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))
  | (?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
  | (?P<int>0[xX][0-9a-fA-F]+[uU]?|\d+[uU]?)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<sign>&&|\|\||[=!<>]=|[-+*/%<>!?:.,()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_DIGITS = {"x": 2, "X": 2, "u": 4, "U": 8}
# The reserved words stand in one text, because a column of words is no easier to read.
_RESERVED = frozenset(
    "as break const continue else for function if import let loop package namespace return var void while".split()  # noqa: SIM905
)
_MOST_DIGITS = 40
_CONSTANTS = {"true": True, "false": False, "null": None}


def _split(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ExpressionError(f"syntax error at {text[place : place + 20]!r}")
        place, kind, found = match.end(), str(match.lastgroup), match.group()
        if kind == "string":
            tokens.append(_Token("literal", found, _read_text(found)))
        elif kind == "float":
            tokens.append(_Token("literal", found, float(found)))
        elif kind == "int":
            tokens.append(_Token("literal", found, _read_number(found)))
        elif kind != "space":
            tokens.append(_Token(kind, found))
    tokens.append(_Token("end", "its end"))
    return tokens


def _read_number(text: str) -> int:
    digits = text.rstrip("uU")
    if len(digits) > _MOST_DIGITS:  # Python's int() refuses texts of thousands of digits.
        raise ExpressionError(f"the number {text[:_MOST_DIGITS]}… is too large")
    value = int(digits, 16) if digits[:2] in {"0x", "0X"} else int(digits)
    if value >= (2**64 if digits != text else 2**63 + 1):
        raise ExpressionError(f"the number {text} is too large")
    return UInt(value) if digits != text else value


def _read_text(text: str) -> str | bytes:
    prefix = text[: len(text) - len(text.lstrip("rRbB"))].lower()
    body = text[len(prefix) :]
    marks = 3 if body[:3] in {'"""', "'''"} else 1
    body = body[marks:-marks]
    value = body if "r" in prefix else _unescape(body)
    return value.encode() if "b" in prefix else value


def _unescape(body: str) -> str:
    parts: list[str] = []
    place = 0
    while (found := body.find("\\", place)) >= 0:
        parts.append(body[place:found])
        mark = body[found + 1]
        if mark in _DIGITS:
            start, digits, base = found + 2, _DIGITS[mark], 16
        elif mark in "0123":
            start, digits, base = found + 1, 3, 8
        elif mark in _ESCAPES or mark in "\\?\"'`":
            parts.append(_ESCAPES.get(mark, mark))
            place = found + 2
            continue
        else:
            raise ExpressionError(f"\\{mark} is no escape sequence")
        place = start + digits
        code = body[start:place]
        try:
            parts.append(_read_character(code, digits, base))
        except (ValueError, OverflowError) as error:
            raise ExpressionError(f"\\{mark}{code} is no character") from error
    parts.append(body[place:])
    return "".join(parts)


def _read_character(code: str, digits: int, base: int) -> str:
    """Return the character with the code that ``digits`` state; raise ``ValueError`` if there is none."""
    if len(code) < digits or not (code.isascii() and code.isalnum()):
        raise ValueError("the code has other characters than digits, or too few")
    found = chr(int(code, base))
    found.encode()  # Encoding raises ValueError for halves of surrogate pairs.
    return found


_RELATIONS = frozenset({"<", "<=", ">", ">=", "==", "!=", "in"})
_LEVELS = (_RELATIONS, frozenset("+-"), frozenset("*/%"))


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _split(text)
        self._place = 0
        self._depth = 0

    def parse(self) -> Node:
        found = self._expression()
        if self._tokens[self._place].kind != "end":
            raise self._explain_unexpected()
        return found

    def _explain_unexpected(self) -> ExpressionError:
        return ExpressionError(f"{self._tokens[self._place].text!r} is not expected there")

    def _takes(self, *signs: str) -> str:
        """If the next token is one of ``signs``, skip it and return its text; else return ""."""
        token = self._tokens[self._place]
        if token.kind in {"sign", "name"} and token.text in signs:
            self._place += 1
            return token.text
        return ""

    def _demand(self, sign: str) -> None:
        if not self._takes(sign):
            raise self._explain_unexpected()

    def _name(self) -> str:
        token = self._tokens[self._place]
        if token.kind != "name":
            raise self._explain_unexpected()
        self._place += 1
        return token.text

    def _expression(self) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ExpressionError("it is nested too deeply")
        found = self._logic("||")
        if self._takes("?"):
            then = self._logic("||")
            self._demand(":")
            found = Conditional(found, then, self._expression())
        self._depth -= 1
        return found

    def _logic(self, sign: str) -> Node:
        parts = [self._logic("&&") if sign == "||" else self._binary(0)]
        while self._takes(sign):
            parts.append(self._logic("&&") if sign == "||" else self._binary(0))
        return parts[0] if len(parts) == 1 else Logic(sign, tuple(parts))

    def _binary(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._unary()
        found = self._binary(level + 1)
        chain = 0
        while sign := self._takes(*_LEVELS[level]):
            found = Call(sign, (found, self._binary(level + 1)))
            chain = self._lengthen(chain)
        return found

    def _lengthen(self, chain: int) -> int:
        if chain >= LONGEST_CHAIN:
            raise ExpressionError(f"it has more than {LONGEST_CHAIN} operators or fields in a row")
        return chain + 1

    def _unary(self) -> Node:
        signs = []
        while sign := self._takes("!", "-"):
            signs.append(sign)
            self._lengthen(len(signs))
        found = self._member()
        for sign in reversed(signs):
            number = isinstance(found, Literal) and type(found.value) in {int, float}
            if sign == "-" and number and isinstance(found, Literal):
                found = Literal(-found.value)
            else:
                found = Call(f"{sign}x", (found,))
        if isinstance(found, Literal) and type(found.value) is int and found.value == 2**63:
            raise ExpressionError(f"the number {found.value} is too large")
        return found

    def _member(self) -> Node:
        found = self._primary()
        chain = 0
        while sign := self._takes(".", "["):
            chain = self._lengthen(chain)
            optional = bool(self._takes("?"))
            if sign == "[":
                found = Index(found, self._expression(), optional)
                self._demand("]")
                continue
            name = self._name()
            if not optional and self._takes("("):
                found = Call(name, self._list(")"), found)
            else:
                found = Field(found, name, optional)
        return found

    def _primary(self) -> Node:
        token = self._tokens[self._place]
        if token.kind == "literal":
            self._place += 1
            return Literal(token.value)
        if self._takes("("):
            found = self._expression()
            self._demand(")")
            return found
        if self._takes("["):
            return ListOf(self._list("]"))
        if self._takes("{"):
            return MapOf(self._entries())
        self._takes(".")
        name = self._name()
        if name in _CONSTANTS:
            return Literal(_CONSTANTS[name])
        if name in _RESERVED:
            raise ExpressionError(f"{name!r} is a reserved word")
        return Call(name, self._list(")")) if self._takes("(") else Name(name)

    def _list(self, end: str) -> tuple[Node, ...]:
        items: list[Node] = []
        while not self._takes(end):
            items.append(self._expression())
            if not self._takes(","):
                self._demand(end)
                break
        return tuple(items)

    def _entries(self) -> tuple[tuple[Node, Node], ...]:
        items: list[tuple[Node, Node]] = []
        while not self._takes("}"):
            key = self._expression()
            self._demand(":")
            items.append((key, self._expression()))
            if not self._takes(","):
                self._demand("}")
                break
        return tuple(items)


def parse_expression(text: str) -> Node:
    """Return the tree of an expression; raise ``ExpressionError`` if it cannot be read, or is too long."""
    if len(text) > LONGEST:
        raise ExpressionError(f"it has {len(text)} characters; at most {LONGEST} are allowed")
    found = _Parser(text).parse()
    level: list[Node] = [found]
    for _ in range(DEEPEST_TREE):
        level = [inner for node in level for inner in list_inner(node)]
        if not level:
            return found
    raise ExpressionError("it is nested too deeply")
