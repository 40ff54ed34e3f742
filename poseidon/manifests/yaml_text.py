"""Parses YAML as kubectl does.

Plain scalars become null, booleans, integers and floats, never dates or base-60 numbers. The library libyaml parses
if PyYAML was built with it. A mapping with the same key twice is an error, because one of the values would be lost.
Aliases that multiply the size of the text's values are an error, too.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import yaml

from protos.configuration.yaml_size import CountedDocuments, is_plain

if TYPE_CHECKING:
    from yaml._yaml import Mark as LibyamlMark
    from yaml.error import Mark

_BASE: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MOST_LEVELS = 1_000
"""Deepest nesting of values that is accepted.

PyYAML's binding of libyaml recurses in C, and 30,000 levels crash the process.
"""

_MOST_BRACKETS = 200
_NO_BRACKETS = re.compile(r"[^\[\]{}]+")
_DEEP_BLOCK = re.compile(r"[ \t?:-]{400}")
"""Matches the indentation of blocks. A nested block is indented further, except lists in mappings: two levels per
column.
"""


class YamlTextError(ValueError):
    """Raised if a text is not YAML. ``place`` is ``:line:column`` or ""; ``problem`` says what the parser found."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place}: {problem}")
        self.place = place
        self.problem = problem


def parse_yaml(text: str) -> list[Any]:
    """Return the values of all documents, None for an empty document.

    Raises ``YamlTextError`` if the text is not YAML.
    """
    try:
        if _may_be_deep(text):
            _check_levels(text)
        return list(yaml.load_all(text, Loader=_ManifestLoader if is_plain(text) else _CountingLoader))
    except yaml.MarkedYAMLError as error:
        place = _place(error.problem_mark or error.context_mark)
        raise YamlTextError(place, error.problem or error.context or "unreadable") from None
    except yaml.YAMLError as error:
        # A ReaderError spans several lines; its first line names the bad character.
        raise YamlTextError("", str(error).splitlines()[0]) from None
    except ValueError as error:
        # PyYAML passes on errors of its constructors of scalars, such as the limit on the digits of an integer.
        raise YamlTextError("", str(error)) from None


def _place(mark: Mark | LibyamlMark | None) -> str:
    return f":{mark.line + 1}:{mark.column + 1}" if mark else ""


def _may_be_deep(text: str) -> bool:
    """Return whether values may be nested deeper than ``MOST_LEVELS``.

    The function does not parse the text, and the answer is nearly always no.
    """
    if _DEEP_BLOCK.search(text):
        return True
    if text.count("[") + text.count("{") <= _MOST_BRACKETS:
        return False
    # Brackets in quotes and comments are counted, too, so the check may raise a false alarm.
    brackets = _NO_BRACKETS.sub("", text)
    return max(accumulate(1 if each in "[{" else -1 for each in brackets)) > _MOST_BRACKETS


def _check_levels(text: str) -> None:
    """Raise ``YamlTextError`` if values are nested too deep; this only scans, and may raise ``yaml.YAMLError``."""
    level = 0
    for event in yaml.parse(text, Loader=_BASE):
        if isinstance(event, yaml.CollectionStartEvent):
            level += 1
            if level > MOST_LEVELS:
                raise YamlTextError(_place(event.start_mark), f"nested more than {MOST_LEVELS:,} levels deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            level -= 1


class _ManifestLoader(_BASE):  # type: ignore[misc]  # the base is chosen at run time
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own hook

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Return a mapping, and refuse repeated keys; only keys that ``<<`` merges may be overridden."""
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                continue
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key.value!r} is given twice; remove one of them", key.start_mark
                )
            seen.add(key.value)
        found: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return found


class _CountingLoader(CountedDocuments, _ManifestLoader):
    """A loader for texts with aliases, which counts the values that the aliases repeat."""


def _resolve(tag: str, pattern: str, first: str) -> None:
    _ManifestLoader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))


_resolve("null", r"^(?:~|null|Null|NULL|)$", "~nN")
_ManifestLoader.yaml_implicit_resolvers.setdefault("", []).append(
    ("tag:yaml.org,2002:null", re.compile(r"^$"))
)
_resolve(
    "bool", r"^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$", "yYnNtTfFoO"
)
_resolve("int", r"^[-+]?(?:0|[1-9][0-9]*|0x[0-9a-fA-F]+)$", "-+0123456789")
_resolve("float", r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$", "-+.0123456789")
_resolve("float", r"^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$", "-+.")
_resolve("merge", r"^<<$", "<")
