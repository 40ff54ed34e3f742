"""What a solver is to know, against what the current stream's solver has been sent; and objects by uid and by name."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Outbox(Generic[K, V]):
    """Desired values by key. The difference to what was last sent is taken, once: any order and any repetition of the
    changes that led to it leaves the same.

    Values are kept and compared, never changed: whoever has another one puts another object.
    """

    def __init__(self) -> None:
        self._desired: dict[K, V] = {}
        self._sent: dict[K, V] = {}
        self._changed: dict[K, None] = {}

    def __len__(self) -> int:
        return len(self._desired)

    def __contains__(self, key: K) -> bool:
        return key in self._desired

    def __iter__(self) -> Iterator[V]:
        return iter(self._desired.values())

    def get(self, key: K) -> V | None:
        """Return what the solver is to know under a key, or None."""
        return self._desired.get(key)

    def put(self, key: K, value: V) -> None:
        """Have the solver know this; nothing changes if it is to know an equal value already."""
        if key not in self._desired or self._desired[key] != value:
            self._desired[key] = value
            self._changed[key] = None

    def drop(self, key: K) -> None:
        """Have the solver know nothing under a key any more."""
        if key in self._desired:
            del self._desired[key]
            self._changed[key] = None

    def begin_stream(self) -> None:
        """The solver of the stream that begins knows nothing."""
        self._sent.clear()
        self._changed = dict.fromkeys(self._desired)

    def take_gone(self) -> list[K]:
        """Return the keys that have been sent and are gone, once."""
        gone = [key for key in self._changed if key not in self._desired]
        for key in gone:
            del self._changed[key]
        return [key for key in gone if self._sent.pop(key, None) is not None]

    def take_changed(self) -> list[tuple[K, V]]:
        """Return what is new to the solver, or other than what it was sent last, once."""
        changed = [(key, self._desired[key]) for key in self._changed if key in self._desired]
        self._changed = {key: None for key in self._changed if key not in self._desired}
        news = [(key, value) for key, value in changed if key not in self._sent or self._sent[key] != value]
        self._sent.update(news)
        return news


class NameIndex:
    """Names of objects by uid. The late end of an object does not end its namesake, which has another uid."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._uids: dict[str, str] = {}

    def put(self, uid: str, name: str) -> None:
        """An object bears this name now, whoever bore it before."""
        self._names[uid] = name
        self._uids[name] = uid

    def remove(self, uid: str) -> str:
        """Forget an object. Returns its name, or "" when it was unknown or a namesake has taken its place."""
        name = self._names.pop(uid, "")
        if self._uids.get(name) != uid:
            return ""
        del self._uids[name]
        return name
