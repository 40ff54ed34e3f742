"""Decodes the API server's bytes, and parsed manifests, into structs.

The fast path decodes JSON straight into structs. If the fast path fails, the bytes are repaired (see ``readable``)
and decoded generically. Afterwards nulls, which Kubernetes treats as absent, are dropped, and the value is converted
into the struct. One object with a broken field therefore does not spoil a list of 100,000, and no field must be
declared nullable.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from poseidon.kube.api.metadata import KubeStruct, ListMeta, ObjectMeta
from poseidon.kube.api.resource import Outline
from poseidon.kube.parsing.readable import readable

T = TypeVar("T", bound=KubeStruct)
S = TypeVar("S")


class MalformedObjectError(ValueError):
    """The error for an object that does not fit its kind. ``field`` is a path such as ``spec.containers[0].name``."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field = field
        self.problem = problem


class WatchEvent(Struct, frozen=True, gc=False):
    """A line in the API server's answer to a watch.

    ``object`` is left encoded, because its kind depends on ``type`` (ERROR: a Status).
    """

    type: str
    object: msgspec.Raw


class Rejected(Struct, frozen=True):
    """An item of a list that could not be decoded, with the readable part of its metadata."""

    metadata: ObjectMeta
    problem: str


class Page(Struct, Generic[T], frozen=True):
    """One page of a list.

    ``continue_token`` is "" on the last page; ``kind`` is the kind of the list, such as PodList.
    """

    items: tuple[T, ...]
    resource_version: str
    continue_token: str
    rejected: tuple[Rejected, ...] = ()
    api_version: str = ""
    kind: str = ""


class _RawPage(KubeStruct, frozen=True):
    api_version: str = ""
    kind: str = ""
    metadata: ListMeta = ListMeta()
    items: tuple[msgspec.Raw, ...] | None = None


class MetadataOnly(KubeStruct, frozen=True):
    """An object of any kind, reduced to its metadata."""

    metadata: ObjectMeta = ObjectMeta()


_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Exceptions that a decoder raises for bad input."""


class _RawMetadata(KubeStruct, frozen=True):
    metadata: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict)


_METADATA = msgspec.json.Decoder(MetadataOnly)
_RAW_METADATA = msgspec.json.Decoder(_RawMetadata)
_RAW_PAGES = msgspec.json.Decoder(_RawPage)
_WATCH_EVENTS = msgspec.json.Decoder(WatchEvent)


def decode_page(raw: bytes, kind: type[T]) -> Page[T]:
    """Decode one page of a list of ``kind``; ``rejected`` of the result has the items that cannot be decoded.

    Raises ``MalformedObjectError`` when the page itself is not a list.
    """
    page = _decode(_RAW_PAGES, raw)
    decode = _decoder(kind).decode
    items: list[T] = []
    rejected: list[Rejected] = []
    for item in page.items or ():
        try:
            items.append(decode(item))
        except _UNREADABLE:
            try:
                items.append(_decode_tolerant(item, kind))
            except MalformedObjectError as error:
                rejected.append(Rejected(decode_metadata(item), str(error)))
    metadata = page.metadata
    return Page(
        tuple(items),
        metadata.resource_version,
        metadata.continue_token,
        tuple(rejected),
        page.api_version,
        page.kind,
    )


def decode_watch_event(line: bytes) -> WatchEvent:
    """Decode the envelope of a watch line; raises ``MalformedObjectError``."""
    return _decode(_WATCH_EVENTS, line)


def decode_object(raw: bytes | msgspec.Raw, kind: type[T]) -> T:
    """Decode one object; raises ``MalformedObjectError`` naming the field that is wrong."""
    decoder: msgspec.json.Decoder[T] = _decoder(kind)
    try:
        return decoder.decode(raw)
    except _UNREADABLE:
        return _decode_tolerant(raw, kind)


def decode_outline(raw: msgspec.Raw, outline: type[Outline]) -> Outline | None:
    """Decode the outline of an object; return None if that fails, so that ``decode_object`` can name the fault."""
    try:
        return _decoder(outline).decode(raw)
    except _UNREADABLE:
        return None


def decode_metadata(raw: bytes | msgspec.Raw) -> ObjectMeta:
    """Decode the metadata of a broken object: all of it if possible, else name, namespace and uid, else none."""
    text = readable(bytes(raw))
    for decode in (_METADATA.decode, lambda given: _decode_tolerant(given, MetadataOnly)):
        try:
            return decode(text).metadata
        except (*_UNREADABLE, MalformedObjectError):
            continue
    try:
        found = _RAW_METADATA.decode(text).metadata
    except msgspec.MsgspecError:
        return ObjectMeta()
    return ObjectMeta(
        name=_text(found.get("name")), namespace=_text(found.get("namespace")), uid=_text(found.get("uid"))
    )


def _text(raw: msgspec.Raw | None) -> str:
    """Return an encoded text, "" for anything else."""
    try:
        return msgspec.json.decode(raw, type=str) if raw is not None else ""
    except msgspec.MsgspecError:
        return ""


def convert_object(value: object, kind: type[T]) -> T:
    """Convert a parsed manifest into ``kind``; raises ``MalformedObjectError`` naming the wrong field."""
    try:
        return msgspec.convert(drop_nulls(value), kind)
    except msgspec.ValidationError as error:
        raise explain_malformed(error) from None


def drop_nulls(value: Any) -> Any:
    """Return a value without null entries of maps. Nulls inside lists stay, because they are mistakes.

    Labels and annotations with null get the value "", as the API server reads them. Shared parts (YAML aliases) are
    copied once and stay shared, so a few lines that stand for billions of entries stay small. Raises ``RecursionError``
    for a value that contains itself.
    """
    if not _may_hold_null(value):
        return value
    copies: dict[int, Any] = {}

    def copy(part: Any) -> Any:
        if not isinstance(part, dict | list):
            return part
        known = copies.get(id(part))
        if known is None:
            if isinstance(part, dict):
                known = {
                    key: _texts(item) if key in _TEXTS and isinstance(item, dict) else copy(item)
                    for key, item in part.items()
                    if item is not None
                }
            else:
                known = [copy(item) for item in part]
            copies[id(part)] = known
        return known

    return copy(value)


def _may_hold_null(value: Any) -> bool:
    """Return whether a value may contain nulls.

    This check encodes the value, which takes a tenth of the time that a copy would take.
    """
    try:
        return b"null" in msgspec.json.encode(value)
    except (
        TypeError,
        ValueError,
        OverflowError,
        RecursionError,
    ):  # a type that only YAML has, or a value that contains itself
        return True


_TEXTS = frozenset({"labels", "annotations"})
"""Names of maps of strings, in which null means an empty string."""


def _texts(given: dict[Any, Any]) -> dict[Any, Any]:
    return {key: "" if item is None else item for key, item in given.items()}


def explain_malformed(error: msgspec.MsgspecError) -> MalformedObjectError:
    """Translate msgspec's message into the words of people who write manifests."""
    text = str(error)
    problem, _, path = text.partition(" - at ")
    about_key = "`key` in " in path or path.startswith("key")
    path = path[path.find("`$") :].strip("`").removeprefix("$").removeprefix(".")
    # For an unknown entry of a list, msgspec writes [...].
    path = path.replace("[...]", "[*]")
    problem = _TYPE_NAMES.sub(lambda match: _PLAIN_NAMES.get(match.group(1), match.group(1)), problem)
    problem = problem[:1].lower() + problem[1:]
    return MalformedObjectError(path, f"a key of this map: {problem}" if about_key else problem)


_TYPE_NAMES = re.compile(r"`([^`]*)`")
_PLAIN_NAMES = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a map",
    "null": "null",
    "str | null": "a string",
    "int | null": "an integer",
    "object | null": "a map",
    "array | null": "a list",
    "int | float | str": "a quantity",
    "str | int | float": "a quantity",
}


@lru_cache(maxsize=64)
def _decoder(kind: type[S]) -> msgspec.json.Decoder[S]:
    return msgspec.json.Decoder(kind)


def _decode(decoder: msgspec.json.Decoder[S], raw: bytes) -> S:
    """Decode an envelope; if that fails, repair its bytes and try again."""
    try:
        return decoder.decode(raw)
    except _UNREADABLE:
        pass
    try:
        return decoder.decode(readable(raw))
    except msgspec.MsgspecError as error:
        raise explain_malformed(error) from None


def _decode_tolerant(raw: bytes | msgspec.Raw, kind: type[T]) -> T:
    try:
        value = msgspec.json.decode(readable(bytes(raw)))
    except msgspec.MsgspecError as error:
        raise explain_malformed(error) from None
    return convert_object(value, kind)
