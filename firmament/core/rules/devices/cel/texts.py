"""The functions of expressions about texts. Each takes `Spend` first, and says how much it is about to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firmament.core.rules.devices.cel.patterns import Pattern, PatternError
from firmament.core.rules.devices.cel.values import EvaluationError, are_equal, count_size, kind_of

Spend = Callable[[int], None]
"""Is called with the amount of work before it is done; raises `EvaluationError` if that is too much."""


def explain_unfit(name: str, *values: Any) -> EvaluationError:
    """Return the error for a call with values of types that the function does not take."""
    return EvaluationError(f"there is no {name}({', '.join(map(kind_of, values))})")


def check_text(value: Any, name: str) -> str:
    """Return a text; raises ``EvaluationError`` for any other value."""
    if not isinstance(value, str):
        raise explain_unfit(name, value)
    return value


def matches_pattern(spend: Spend, text: Any, pattern: Any) -> bool:
    """Return whether a text matches a regular expression somewhere."""
    text, pattern = check_text(text, "matches"), check_text(pattern, "matches")
    spend(1 + len(pattern))
    try:
        compiled = Pattern(pattern)
    except PatternError as error:
        raise EvaluationError(f"the pattern cannot be used: {error}") from error
    spend(compiled.steps * (1 + len(text)))
    return compiled.searches(text)


def find_first(spend: Spend, text: Any, part: Any, *start: Any) -> int:
    """Return where a part comes first in a text, or an item in a list; -1 for nowhere."""
    if isinstance(text, list):
        spend(count_size(text))
        return next((place for place, each in enumerate(text) if are_equal(each, part)), -1)
    spend(1 + len(check_text(text, "indexOf")) // 10)
    return text.find(check_text(part, "indexOf"), _place(text, start[0]) if start else 0)


def find_last(spend: Spend, text: Any, part: Any, *start: Any) -> int:
    """Return where a part comes last in a text, or an item in a list; -1 for nowhere."""
    if isinstance(text, list):
        spend(count_size(text))
        return max((place for place, each in enumerate(text) if are_equal(each, part)), default=-1)
    spend(1 + len(check_text(text, "lastIndexOf")) // 10)
    end = _place(text, start[0]) + len(check_text(part, "lastIndexOf")) if start else len(text)
    return text.rfind(check_text(part, "lastIndexOf"), 0, end)


def _place(text: str, place: Any) -> int:
    if kind_of(place) != "int" or not 0 <= place <= len(text):
        raise EvaluationError("a place is outside of the text")
    return int(place)


def cut_out(spend: Spend, text: Any, first: Any, *end: Any) -> str:
    """Return part of a text: from a place on, or up to another."""
    spend(1 + len(check_text(text, "substring")) // 10)
    begin, after = _place(text, first), _place(text, end[0]) if end else len(text)
    if begin > after:
        raise EvaluationError("a part of a text ends before it begins")
    return str(text[begin:after])


def get_character(_: Spend, text: Any, place: Any) -> str:
    """Return the character at a place, "" at the end."""
    at = _place(check_text(text, "charAt"), place)
    return str(text[at : at + 1])


def split_text(spend: Spend, text: Any, mark: Any, *most: Any) -> list[str]:
    """Return the parts of a text between marks, at most so many."""
    text, mark = check_text(text, "split"), check_text(mark, "split")
    limit = most[0] if most else -1
    spend(1 + len(text))
    if kind_of(limit) != "int":
        raise explain_unfit("split", text, mark, limit)
    if limit == 0:
        return []
    if not mark:
        parts = list(text)
        return (
            parts if limit < 0 or len(parts) <= limit else [*parts[: limit - 1], "".join(parts[limit - 1 :])]
        )
    return text.split(mark) if limit < 0 else text.split(mark, limit - 1)


def replace_text(spend: Spend, text: Any, old: Any, new: Any, *most: Any) -> str:
    """Return a text with parts replaced, at most so many times."""
    text, old, new = (check_text(each, "replace") for each in (text, old, new))
    limit = most[0] if most else -1
    spend(1 + len(text) * (1 + len(new)) // 10)
    return text.replace(old, new, limit if kind_of(limit) == "int" else -1)


def join_texts(spend: Spend, parts: Any, *mark: Any) -> str:
    """Return one text of many, with a mark between them."""
    if not isinstance(parts, list):
        raise explain_unfit("join", parts)
    between = check_text(mark[0], "join") if mark else ""
    spend(count_size(parts) + len(parts) * len(between) // 10)
    return between.join([check_text(each, "join") for each in parts])


def convert_ascii(change: Callable[[str], str]) -> Callable[..., str]:
    """Return the function that changes the ASCII characters of a text."""

    def change_each(spend: Spend, text: Any) -> str:
        spend(1 + len(check_text(text, "lowerAscii")) // 10)
        return "".join([change(c) if c.isascii() else c for c in text])

    return change_each


def trim_text(spend: Spend, text: Any) -> str:
    """Return a text without the white space around it."""
    spend(1 + len(check_text(text, "trim")) // 10)
    return str(text).strip()


def has_part(spend: Spend, text: Any, part: Any) -> bool:
    """Return whether a text has a part."""
    spend(1 + len(check_text(text, "contains")) // 10)
    return check_text(part, "contains") in text


def starts_with(_: Spend, text: Any, part: Any) -> bool:
    """Return whether a text begins with another."""
    return check_text(text, "startsWith").startswith(check_text(part, "startsWith"))


def ends_with(_: Spend, text: Any, part: Any) -> bool:
    """Return whether a text ends with another."""
    return check_text(text, "endsWith").endswith(check_text(part, "endsWith"))
