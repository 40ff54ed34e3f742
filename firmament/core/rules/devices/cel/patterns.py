"""Regular expressions whose search takes time proportional to the text times the pattern, as CEL promises.

The syntax is the commonly used part of RE2: literals, classes, groups, alternatives, repetitions, anchors, word
borders and the flags ``i`` and ``s``. A pattern is compiled to instructions, and all alternatives go through the text
side by side (Thompson's construction), so no pattern takes exponential time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from firmament.core.rules.devices.cel.limits import MOST_REPETITIONS, MOST_STEPS

_CLASSES: dict[str, Callable[[str], bool]] = {
    "d": lambda c: c in "0123456789",
    "w": lambda c: c.isascii() and (c.isalnum() or c == "_"),
    "s": lambda c: c in "\t\n\f\r ",
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_NAMED = {
    "alpha": str.isalpha,
    "digit": str.isdigit,
    "alnum": str.isalnum,
    "upper": str.isupper,
    "lower": str.islower,
    "space": str.isspace,
}


class PatternError(ValueError):
    """The regular expression cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class _One:
    """An instruction of a compiled pattern: reads one character, for which ``takes`` must return True."""

    takes: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class _At:
    """A condition on a position in the text: ``^`` start, ``$`` end, ``b`` a word border, ``B`` no word border."""

    place: str


@dataclass(frozen=True, slots=True)
class _Row:
    parts: tuple[_Part, ...]


@dataclass(frozen=True, slots=True)
class _Either:
    parts: tuple[_Part, ...]


@dataclass(frozen=True, slots=True)
class _Repeat:
    part: _Part
    least: int
    most: int | None


_Part = _One | _At | _Row | _Either | _Repeat


class _PatternReader:
    def __init__(self, pattern: str) -> None:
        self._text, self._place, self._depth = pattern, 0, 0
        self._ignores_case = self._dot_takes_all = False

    def read(self) -> _Part:
        found = self._either()
        if self._place < len(self._text):
            raise PatternError("a bracket is closed that was not opened")
        return found

    def _peek(self) -> str:
        return self._text[self._place : self._place + 1]

    def _next(self) -> str:
        if self._place >= len(self._text):
            raise PatternError("it ends too early")
        self._place += 1
        return self._text[self._place - 1]

    def _either(self) -> _Part:
        self._depth += 1
        if self._depth > 50:
            raise PatternError("it is nested too deeply")
        parts = [self._row()]
        while self._peek() == "|":
            self._next()
            parts.append(self._row())
        self._depth -= 1
        return parts[0] if len(parts) == 1 else _Either(tuple(parts))

    def _row(self) -> _Part:
        parts: list[_Part] = []
        while (mark := self._peek()) and mark not in "|)":
            parts.append(self._read_repeats(self._atom()))
        return _Row(tuple(parts))

    def _read_repeats(self, part: _Part) -> _Part:
        while (mark := self._peek()) and mark in "*+?{":
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1), "{": (-1, None)}[mark]
            if mark == "{":
                end = self._text.find("}", self._place)
                numbers = self._text[self._place + 1 : end].split(",") if end > 0 else []
                if (
                    not 1 <= len(numbers) <= 2
                    or not numbers[0].isdigit()
                    or not all(number == "" or number.isdigit() for number in numbers)
                ):
                    return part  # A brace that begins no repetition is an ordinary character.
                least = int(numbers[0])
                most = least if len(numbers) == 1 else int(numbers[1]) if numbers[1] else None
                self._place = end
            self._next()
            if max(least, most or 0) > MOST_REPETITIONS or (most is not None and most < least):
                raise PatternError("so many repetitions are not supported")
            part = _Repeat(part, least, most)
            if self._peek() == "?":
                self._next()  # A lazy repetition matches the same texts as a greedy one.
        return part

    def _atom(self) -> _Part:
        mark = self._next()
        if mark in "([":
            return self._group() if mark == "(" else _One(self._any_case(self._set()))
        if mark == ".":
            return _One(_is_any if self._dot_takes_all else _is_no_line_end)
        if mark in "^$":
            return _At(mark)
        if mark == "\\":
            mark = self._next()
            if mark in "bBAz":
                return _At({"A": "^", "z": "$"}.get(mark, mark))
            return _One(self._any_case(self._read_escape(mark)))
        if mark in "*+?":
            raise PatternError(f"{mark} has nothing to repeat")
        return _One(self._any_case(_equals(mark)))

    def _group(self) -> _Part:
        flags = self._ignores_case, self._dot_takes_all
        if self._text.startswith("?P<", self._place) or self._text.startswith("?<", self._place):
            self._place = self._text.find(">", self._place) + 1 or len(self._text)
        elif self._peek() == "?":
            self._next()
            on = True
            while (mark := self._next()) not in ":)":
                if mark not in "-ism":
                    raise PatternError(f"(?{mark} is not supported")
                on = on and mark != "-"
                self._ignores_case = on if mark == "i" else self._ignores_case
                self._dot_takes_all = on if mark == "s" else self._dot_takes_all
            if mark == ")":
                return _Row(())
        found = self._either()
        if self._next() != ")":
            raise PatternError("a bracket is not closed")
        self._ignores_case, self._dot_takes_all = flags
        return found

    def _read_escape(self, mark: str) -> Callable[[str], bool]:
        if mark.lower() in _CLASSES:
            takes = _CLASSES[mark.lower()]
            return takes if mark.islower() else lambda c: not takes(c)
        if mark in _ESCAPES:
            return _equals(_ESCAPES[mark])
        if mark.isalnum():
            raise PatternError(f"\\{mark} is not supported")
        return _equals(mark)

    def _set(self) -> Callable[[str], bool]:
        negated = self._peek() == "^"
        if negated:
            self._next()
        kinds: list[Callable[[str], bool]] = []
        first = True
        while first or self._peek() != "]":
            kinds.append(self._parse_set_member())
            first = False
        self._next()
        return lambda c: any(kind(c) for kind in kinds) != negated

    def _parse_set_member(self) -> Callable[[str], bool]:
        if self._text.startswith("[:", self._place):
            name, end, _ = self._text[self._place + 2 :].partition(":]")
            if not end or name not in _NAMED:
                raise PatternError(f"[:{name[:20]}:] is not supported")
            self._place += len(name) + 4
            named = _NAMED[name]
            return lambda c: c.isascii() and named(c)
        mark = self._next()
        if mark == "\\":
            mark = self._next()
            if mark.lower() in _CLASSES:
                return self._read_escape(mark)
            mark = _ESCAPES.get(mark, mark)
        if self._peek() == "-" and self._text[self._place + 1 : self._place + 2] not in ("", "]"):
            self._next()
            last = self._next()
            if last == "\\":
                last = self._next()
            return _make_range(mark, last)
        return _equals(mark)

    def _any_case(self, takes: Callable[[str], bool]) -> Callable[[str], bool]:
        if not self._ignores_case:
            return takes
        return lambda c: takes(c) or takes(c.lower()) or takes(c.upper())


def _is_any(_: str) -> bool:
    return True


def _is_no_line_end(char: str) -> bool:
    return char != "\n"


def _equals(mark: str) -> Callable[[str], bool]:
    return lambda c: c == mark


def _make_range(first: str, last: str) -> Callable[[str], bool]:
    return lambda c: first <= c <= last


class Pattern:
    """A compiled regular expression.

    ``steps``: the number of its instructions, which bounds the work for each character.
    """

    def __init__(self, pattern: str) -> None:
        """Compile a regular expression; raise ``PatternError`` if it cannot be read."""
        self._ones: list[_One | _At | None] = []
        self._nexts: list[tuple[int, ...]] = []
        end = self._add(None, ())
        self._end, self._start = end, self._compile(_PatternReader(pattern).read(), end)

    @property
    def steps(self) -> int:
        """The number of instructions."""
        return len(self._nexts)

    def _add(self, one: _One | _At | None, nexts: tuple[int, ...]) -> int:
        if len(self._nexts) >= MOST_STEPS:
            raise PatternError("it is too large")
        self._ones.append(one)
        self._nexts.append(nexts)
        return len(self._nexts) - 1

    def _compile(self, part: _Part, then: int) -> int:
        """Add the instructions for a part of the pattern, after which the text is matched from instruction ``then`` on.

        The function returns the number of the first instruction.
        """
        if isinstance(part, _One | _At):
            return self._add(part, (then,))
        if isinstance(part, _Row):
            for each in reversed(part.parts):
                then = self._compile(each, then)
            return then
        if isinstance(part, _Either):
            return self._add(None, tuple(self._compile(each, then) for each in part.parts))
        if part.most is None:
            loop = self._add(None, ())
            self._nexts[loop] = (self._compile(part.part, loop), then)
            then = loop
        else:
            last = then
            for _ in range(part.most - part.least):
                then = self._add(None, (self._compile(part.part, then), last))
        for _ in range(part.least):
            then = self._compile(part.part, then)
        return then

    def searches(self, text: str) -> bool:
        """Return whether the pattern matches some part of a text."""
        threads: set[int] = set()
        for place in range(len(text) + 1):
            threads = self._follow(threads | {self._start}, text, place)
            if self._end in threads:
                return True
            if place < len(text):
                threads = self._step(threads, text[place])
        return False

    def _step(self, threads: set[int], char: str) -> set[int]:
        found: set[int] = set()
        for thread in threads:
            one = self._ones[thread]
            if isinstance(one, _One) and one.takes(char):
                found.update(self._nexts[thread])
        return found

    def _follow(self, threads: set[int], text: str, place: int) -> set[int]:
        """Return the instructions that ``threads`` reach at the position ``place`` without reading a character."""
        found: set[int] = set()
        waiting = list(threads)
        while waiting:
            thread = waiting.pop()
            if thread in found:
                continue
            found.add(thread)
            one = self._ones[thread]
            if one is None or (isinstance(one, _At) and _is_at(one.place, text, place)):
                waiting.extend(self._nexts[thread])
        return found


def _is_at(kind: str, text: str, place: int) -> bool:
    if kind == "^":
        return place == 0
    if kind == "$":
        return place == len(text)
    is_word = _CLASSES["w"]
    before = place > 0 and is_word(text[place - 1])
    after = place < len(text) and is_word(text[place])
    return (before != after) == (kind == "b")
