"""What the Python interface raises for input that it cannot use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from poseidon.manifests.loader import ManifestError


class InputError(ValueError):
    """Input that cannot be used. ``lines`` are what a command would print: place, fault, remedy."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join(self.lines))


@contextmanager
def input_errors() -> Iterator[None]:
    """Raise ``InputError`` for what is found to be wrong only once the cluster is looked at as a whole."""
    try:
        yield
    except ManifestError as error:
        raise InputError(error.lines) from None
