"""How much a YAML document stands for, counted before it is made: aliases and merge keys may multiply it."""

from __future__ import annotations

from typing import Any

import yaml

PER_WRITTEN, SPARE = 10, 200_000
"""A stream may stand for so many values per value that is written, and for so many more. A million take seconds."""


class SizeGuard:
    """Counts what the documents of one stream stand for."""

    def __init__(self) -> None:
        self._left = SPARE

    def check(self, document: yaml.Node) -> None:
        """Raise ``yaml.constructor.ConstructorError`` if the documents so far stand for too much."""
        written, total = count_values(document)
        self._left -= max(total - PER_WRITTEN * written, 0)
        if self._left < 0:
            raise yaml.constructor.ConstructorError(
                None,
                None,
                f"aliases and merge keys (<<) make {_format_count(total)} values of {written:,}; write fewer of them",
                document.start_mark,
            )


class CountedDocuments(yaml.constructor.BaseConstructor):
    """To be mixed into a loader: counts each document of its stream before anything is made of it."""

    def __init__(self, *stream: Any) -> None:
        super().__init__(*stream)
        self._guard = SizeGuard()

    def construct_document(self, node: yaml.Node) -> Any:
        """Make what a document stands for. Raises ``yaml.constructor.ConstructorError`` if that is too much."""
        self._guard.check(node)
        return super().construct_document(node)


def is_plain(text: str) -> bool:
    """Return whether text can hold no alias, so that nothing in it is multiplied."""
    return "*" not in text or "&" not in text


def count_values(document: yaml.Node) -> tuple[int, int]:
    """Return how many values a document has, and for how many it stands if each alias is written out.

    What contains itself counts once in itself. The time that it takes grows with the document, not with what it stands
    for.
    """
    totals: dict[int, int] = {}
    waiting: list[tuple[yaml.Node, bool]] = [(document, False)]
    while waiting:
        node, is_ready = waiting.pop()
        if is_ready:
            totals[id(node)] = 1 + sum(totals[id(each)] for each in _parts(node))
        elif id(node) not in totals:
            totals[id(node)] = 1
            waiting.append((node, True))
            waiting.extend((each, False) for each in _parts(node))
    return len(totals), totals[id(document)]


def _parts(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _format_count(count: int) -> str:
    return f"{count:,}" if count < 10**15 else "countless"
