"""Stores the objects of the simulated API server, without input and output, with one revision counter for all objects.

Every write gets the next revision, which becomes the object's ``metadata.resourceVersion``. An object is encoded once
per write; lists and watches reuse the encoded bytes. Callers decide what a kind means: its defaults, status and
admission.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from poseidon.testbed.objects import errors
from poseidon.testbed.objects.collection import Collection, CollectionSpec
from poseidon.testbed.objects.history import Change, History, Journal, Record

Object = dict[str, Any]

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode

_MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
# The stride is coprime to the number of suffixes, so multiplying by it yields every suffix once before any repeats.
_SUFFIX_STRIDE = 7_368_787


class Preconditions(msgspec.Struct, rename="camel"):
    """Conditions that the current object must fulfil for a write; a field without a value is no condition."""

    uid: str | None = None
    resource_version: str | None = None

    def check(self, resource: str, current: Record) -> None:
        """Raise ``ApiError`` 409 if the object ``current`` does not fulfil the preconditions.

        ``resource`` is ``plural`` or ``plural.group``.
        """
        if self.uid and self.uid != current.uid:
            why = f"Precondition failed: UID in precondition: {self.uid}, UID in object meta: {current.uid}"
            raise errors.conflict(resource, current.name, why)
        if self.resource_version and self.resource_version != str(current.revision):
            raise errors.conflict(resource, current.name, _MODIFIED)


class Store:
    """Collections of objects with a common revision counter.

    ``clock`` returns wall-clock time in seconds. ``history_limit`` is the most changes that are kept per collection.
    With a ``seed``, the UIDs are the same in every run. ``journal`` records all writes.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        history_limit: int = 50_000,
        seed: int | None = None,
        journal: Journal | None = None,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._history_limit = history_limit
        self._random = random.Random(seed)  # noqa: S311 - identifiers, not secrets
        self._collections: dict[str, Collection] = {}
        self._revision = 1
        self._names_generated = 0
        self._timestamp: tuple[int, str] = (-1, "")

    @property
    def revision(self) -> int:
        """Return the revision of the newest write."""
        return self._revision

    def time(self) -> float:
        """Return the current time in seconds."""
        return self._clock()

    def now(self) -> str:
        """Return the current time as Kubernetes writes it, in whole seconds."""
        second = int(self._clock())
        if second != self._timestamp[0]:
            self._timestamp = (second, time_text(second))
        return self._timestamp[1]

    def add_collection(self, spec: CollectionSpec) -> Collection:
        """Add an empty collection for a kind; its name must be new."""
        if spec.name in self._collections:
            raise ValueError(f"collection {spec.name} exists already")
        collection = Collection(spec, History(self._history_limit, self._revision))
        self._collections[spec.name] = collection
        return collection

    def restore(self, collection: Collection, raw: bytes) -> Record:
        """Add an object as an earlier process stored it."""
        obj = _decode(raw)
        record = make_record(collection, obj, int(obj["metadata"]["resourceVersion"]))
        collection.apply(Change("ADDED", record.revision, record, None))
        return record

    def go_on_after(self, revision: int) -> None:
        """Continue with revisions greater than ``revision``; no earlier history is known."""
        self._revision = self._names_generated = revision + 1
        self._random.seed(self._random.getrandbits(64) + revision)
        for collection in self._collections.values():
            collection.history.forget(self._revision)

    def drop_collection(self, name: str) -> None:
        """Remove a kind and all its objects; watches of that kind end."""
        collection = self._collections.pop(name)
        collection.close()
        if self._journal is not None:
            for record in collection.records():
                self._journal.append(name, record.key, self._revision, b"")

    def collection(self, name: str) -> Collection:
        """Return the collection ``name``. Raises ``KeyError`` if the store has no such collection."""
        return self._collections[name]

    def objects(self, collection: Collection) -> list[Object]:
        """Return all objects of a collection as they are now, in order of key, each as a new dictionary."""
        return [decode(record) for record in collection.records()]

    def collections(self) -> list[Collection]:
        """Return all collections, oldest first."""
        return list(self._collections.values())

    def generate_name(self, prefix: str) -> str:
        """Return ``prefix`` with a five-letter suffix. The n-th generated name of a store is always the same."""
        self._names_generated += 1
        number = self._names_generated * _SUFFIX_STRIDE % len(_SUFFIX_ALPHABET) ** _SUFFIX_LENGTH
        letters = []
        for _ in range(_SUFFIX_LENGTH):
            number, digit = divmod(number, len(_SUFFIX_ALPHABET))
            letters.append(_SUFFIX_ALPHABET[digit])
        return prefix[:58] + "".join(letters)

    def get(self, collection: Collection, namespace: str, name: str) -> Record:
        """Return the current record of an object. Raises ``ApiError`` 404 if no object has this name."""
        record = collection.get(collection.key(namespace, name))
        if record is None:
            raise errors.not_found(collection.spec.name, name)
        return record

    def create(self, collection: Collection, obj: Object, *, dry_run: bool = False) -> Record:
        """Add an object; its ``metadata`` must have a name, and a namespace if the kind has namespaces.

        Raises ``ApiError`` 409 if the object exists.

        The store sets uid, creationTimestamp and resourceVersion. The store keeps ``obj``, so callers must not use it
        afterwards.
        """
        metadata = obj["metadata"]
        key = collection.key(metadata.get("namespace", ""), metadata["name"])
        if collection.get(key) is not None:
            kind, name = collection.spec.name, metadata["name"]
            details = errors.resource_details(kind, name)
            raise errors.ApiError(409, "AlreadyExists", f'{kind} "{name}" already exists', details)
        metadata["uid"] = str(uuid.UUID(int=self._random.getrandbits(128), version=4))
        metadata["creationTimestamp"] = self.now()
        return self._commit(collection, "ADDED", obj, None, dry_run=dry_run)

    def replace(
        self, collection: Collection, previous: Record, obj: Object, *, dry_run: bool = False
    ) -> Record:
        """Replace ``previous``, which must be current, by ``obj``. Writing an equal object changes nothing."""
        before = _decode(previous.raw)
        obj["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"]
        if obj == before:
            return previous
        return self._commit(collection, "MODIFIED", obj, previous, dry_run=dry_run)

    def delete(self, collection: Collection, record: Record, *, dry_run: bool = False) -> Record:
        """Remove ``record``; return its last state with the revision of the deletion."""
        return self._commit(collection, "DELETED", _decode(record.raw), record, dry_run=dry_run)

    def _commit(
        self,
        collection: Collection,
        change_type: Any,
        obj: Object,
        previous: Record | None,
        *,
        dry_run: bool,
    ) -> Record:
        revision = self._revision + 1
        record = make_record(collection, obj, revision)
        if not dry_run:
            self._revision = revision
            collection.apply(Change(change_type, revision, record, previous))
            if self._journal is not None:
                raw = b"" if change_type == "DELETED" else record.raw
                self._journal.append(collection.spec.name, record.key, revision, raw)
        return record


def time_text(seconds: float) -> str:
    """Return seconds since the epoch as Kubernetes writes times, in whole seconds."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def decode(record: Record) -> Object:
    """Return the object of ``record`` as a new dictionary."""
    obj: Object = _decode(record.raw)
    return obj


def make_record(collection: Collection, obj: Object, revision: int) -> Record:
    """Encode ``obj`` with ``revision`` as its resourceVersion, and read what selectors need."""
    metadata = obj["metadata"]
    metadata["resourceVersion"] = str(revision)
    spec = collection.spec
    # ``kind`` and ``apiVersion`` come first in a fixed form, because lists cut them off and other versions replace
    # them.
    body = {"kind": spec.kind, "apiVersion": spec.api_version}
    for name, value in obj.items():
        if name not in body:
            body[name] = value
    namespace = metadata.get("namespace", "")
    return Record(
        collection.key(namespace, metadata["name"]),
        namespace,
        metadata["name"],
        metadata["uid"],
        revision,
        _encode(body),
        metadata.get("labels") or {},
        tuple([reader(obj) for reader in spec.readers.values()]),
    )
