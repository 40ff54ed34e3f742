"""Defines the error of the Python interface for input that it cannot use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from poseidon.manifests.loader import ManifestError


class InputError(ValueError):
    """The error for input that cannot be used; ``lines`` name place, fault and remedy, as a command prints them."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join(self.lines))


@contextmanager
def input_errors() -> Iterator[None]:
    """Raise an ``InputError`` instead of a ``ManifestError`` of the enclosed code."""
    try:
        yield
    except ManifestError as error:
        raise InputError(error.lines) from None
