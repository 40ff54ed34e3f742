"""Functions of CEL expressions for texts.

Each function's first argument is `Spend`, which it calls with its steps of work before it does the work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firmament.core.rules.devices.cel.patterns import Pattern, PatternError
from firmament.core.rules.devices.cel.values import EvaluationError, are_equal, count_size, kind_of

Spend = Callable[[int], None]
"""A function that is called with the steps of work before the work is done; it raises `EvaluationError` if there are
too many.
"""


def explain_unfit(name: str, *values: Any) -> EvaluationError:
    """Return the error for a call of the function ``name`` with values of types that it does not take."""
    return EvaluationError(f"there is no {name}({', '.join(map(kind_of, values))})")


def check_text(value: Any, name: str) -> str:
    """Return a value that is a text; raise ``EvaluationError`` for any other value."""
    if not isinstance(value, str):
        raise explain_unfit(name, value)
    return value


def matches_pattern(spend: Spend, text: Any, pattern: Any) -> bool:
    """Return whether some part of a text matches a regular expression."""
    text, pattern = check_text(text, "matches"), check_text(pattern, "matches")
    spend(1 + len(pattern))
    try:
        compiled = Pattern(pattern)
    except PatternError as error:
        raise EvaluationError(f"the pattern cannot be used: {error}") from error
    spend(compiled.steps * (1 + len(text)))
    return compiled.searches(text)


def find_first(spend: Spend, text: Any, part: Any, *start: Any) -> int:
    """Return the first index of a part in a text, or of an item in a list; -1 if there is none."""
    if isinstance(text, list):
        spend(count_size(text))
        return next((place for place, each in enumerate(text) if are_equal(each, part)), -1)
    spend(1 + len(check_text(text, "indexOf")) // 10)
    return text.find(check_text(part, "indexOf"), _place(text, start[0]) if start else 0)


def find_last(spend: Spend, text: Any, part: Any, *start: Any) -> int:
    """Return the last index of a part in a text, or of an item in a list; -1 if there is none."""
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
    """Return the part of a text from the index ``first`` on, up to ``end`` if given."""
    spend(1 + len(check_text(text, "substring")) // 10)
    begin, after = _place(text, first), _place(text, end[0]) if end else len(text)
    if begin > after:
        raise EvaluationError("a part of a text ends before it begins")
    return str(text[begin:after])


def get_character(_: Spend, text: Any, place: Any) -> str:
    """Return the character at an index; "" at the end of the text."""
    at = _place(check_text(text, "charAt"), place)
    return str(text[at : at + 1])


def split_text(spend: Spend, text: Any, mark: Any, *most: Any) -> list[str]:
    """Return the parts of a text between separators; ``most``: the maximum number of parts."""
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
    """Return a text with ``old`` replaced by ``new``; ``most``: the maximum number of replacements."""
    text, old, new = (check_text(each, "replace") for each in (text, old, new))
    limit = most[0] if most else -1
    spend(1 + len(text) * (1 + len(new)) // 10)
    return text.replace(old, new, limit if kind_of(limit) == "int" else -1)


def join_texts(spend: Spend, parts: Any, *mark: Any) -> str:
    """Return the concatenation of texts, with ``mark`` between them."""
    if not isinstance(parts, list):
        raise explain_unfit("join", parts)
    between = check_text(mark[0], "join") if mark else ""
    spend(count_size(parts) + len(parts) * len(between) // 10)
    return between.join([check_text(each, "join") for each in parts])


def convert_ascii(change: Callable[[str], str]) -> Callable[..., str]:
    """Return the function that applies ``change`` to the ASCII characters of a text."""

    def change_each(spend: Spend, text: Any) -> str:
        spend(1 + len(check_text(text, "lowerAscii")) // 10)
        return "".join([change(c) if c.isascii() else c for c in text])

    return change_each


def trim_text(spend: Spend, text: Any) -> str:
    """Return a text without the white space around it."""
    spend(1 + len(check_text(text, "trim")) // 10)
    return str(text).strip()


def has_part(spend: Spend, text: Any, part: Any) -> bool:
    """Return whether a text contains a part."""
    spend(1 + len(check_text(text, "contains")) // 10)
    return check_text(part, "contains") in text


def starts_with(_: Spend, text: Any, part: Any) -> bool:
    """Return whether a text begins with another text."""
    return check_text(text, "startsWith").startswith(check_text(part, "startsWith"))


def ends_with(_: Spend, text: Any, part: Any) -> bool:
    """Return whether a text ends with another text."""
    return check_text(text, "endsWith").endswith(check_text(part, "endsWith"))
