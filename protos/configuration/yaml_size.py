"""Limits the size of YAML documents before they are constructed, since aliases and merge keys may multiply it."""

from __future__ import annotations

from typing import Any

import yaml

PER_WRITTEN, SPARE = 10, 200_000
"""Limits of a stream: values after expansion per written value, and additional ones. A million values take seconds."""


class SizeGuard:
    """Counts the values of one stream's documents after expansion of aliases."""

    def __init__(self) -> None:
        self._left = SPARE

    def check(self, document: yaml.Node) -> None:
        """Raise ``yaml.constructor.ConstructorError`` if the documents so far have too many values after expansion."""
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
    """A mixin for loaders that checks each document's size before it is constructed."""

    def __init__(self, *stream: Any) -> None:
        super().__init__(*stream)
        self._guard = SizeGuard()

    def construct_document(self, node: yaml.Node) -> Any:
        """Construct a document. Raises ``yaml.constructor.ConstructorError`` if it has too many values."""
        self._guard.check(node)
        return super().construct_document(node)


def is_plain(text: str) -> bool:
    """Return whether a text surely has no alias, so that its size is not multiplied."""
    return "*" not in text or "&" not in text


def count_values(document: yaml.Node) -> tuple[int, int]:
    """Return how many values a document has as written, and how many after expansion of aliases.

    A value that contains itself counts once in itself. The time taken grows with the written size.
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
