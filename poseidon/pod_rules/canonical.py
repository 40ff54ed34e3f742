"""One form for equal content, so that the way in which someone wrote it down does not split a class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from google.protobuf.message import Message


def canonical(message: Message) -> bytes:
    """Return bytes that are equal for equal content; they serve as keys and to put messages in order."""
    return message.SerializeToString(deterministic=True)


def one_of(words: Sequence[str]) -> str:
    """Return ``a, b or c``."""
    return f"{', '.join(words[:-1])} or {words[-1]}"
