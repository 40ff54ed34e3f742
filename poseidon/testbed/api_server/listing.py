"""Lists objects, in pages on request: implements ``limit``, ``continue`` and ``resourceVersion`` of the API."""

from __future__ import annotations

import base64
from dataclasses import dataclass

import msgspec

from poseidon.testbed.objects import errors
from poseidon.testbed.objects.collection import Collection, View
from poseidon.testbed.objects.history import ExpiredRevisionError, Record
from poseidon.testbed.objects.resources import ResourceType, list_item
from poseidon.testbed.objects.selectors import Selection
from poseidon.testbed.objects.store import Store

_NEWEST = -1
"""Revision in the token of an inconsistent continuation, which reads the present state."""


_PAGE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list "
    "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
    "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
    "modified, or deleted between the time the first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class ListOptions:
    """The parameters of a list request, as texts if the API takes texts. A ``limit`` of 0 means all objects."""

    limit: int = 0
    continue_token: str = ""
    resource_version: str = ""
    resource_version_match: str = ""


class _Token(msgspec.Struct):
    """Content of a continue token: the next page begins after key ``start``, in the state at revision ``rv``."""

    v: str
    rv: int
    start: str


def parse_revision(text: str) -> int:
    """Return a resourceVersion as a number, or 0 if the text is empty.

    Raises ``ApiError`` 400 if the text is no number.
    """
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal()):
        raise errors.bad_request(
            f"invalid resource version: {text!r} is not a number that this server gave out"
        )
    return int(text)


def list_page(
    store: Store, collection: Collection, selection: Selection, options: ListOptions
) -> tuple[list[Record], dict[str, str | int]]:
    """Return a list's records, or one page of them if ``options.limit`` is set, and the list's metadata.

    All pages that follow the same first page show the same state. Raises ``ApiError`` 400, 410, 422 or 504.
    """
    view, after, limit = _resolve(store, collection, options)
    low, high = view.bounds(selection.namespace, after)
    records, next_index = _collect(view, selection, low, high, limit)
    metadata: dict[str, str | int] = {"resourceVersion": str(view.revision)}
    if next_index < high:
        metadata["continue"] = _encode_token(view.revision, view.keys[next_index - 1])
        if not selection.filters:
            metadata["remainingItemCount"] = high - next_index
    return records, metadata


def render(
    resource: ResourceType, collection: Collection, records: list[Record], metadata: dict[str, str | int]
) -> bytes:
    """Return the JSON text of a list object around ``records``."""
    head = f'{{"kind":"{resource.kind}List","apiVersion":"{resource.api_version}","metadata":'.encode()
    if resource.is_storage_version and not resource.custom:
        cut = len(collection.header) + 1
        items = (b",{".join([record.raw[cut:] for record in records])) if records else b""
        opening = b',"items":[{' if records else b',"items":['
    else:
        items = b",".join([list_item(resource, collection, record) for record in records])
        opening = b',"items":['
    return b"".join((head, msgspec.json.encode(metadata), opening, items, b"]}"))


def _collect(view: View, selection: Selection, low: int, high: int, limit: int) -> tuple[list[Record], int]:
    """Return up to ``limit`` selected records of the index range, and the index after the last one examined."""
    get = view.get
    if not selection.filters:
        end = min(high, low + limit) if limit else high
        return [record for key in view.keys[low:end] if (record := get(key)) is not None], max(low, end)
    records: list[Record] = []
    index = low
    while index < high and (not limit or len(records) < limit):
        record = get(view.keys[index])
        index += 1
        if record is not None and selection.matches(record):
            records.append(record)
    return records, index


def _resolve(store: Store, collection: Collection, options: ListOptions) -> tuple[View, str, int]:
    """Return the state to list, the key after which to continue, and the page size."""
    current = store.revision
    if options.continue_token:
        return _continue(store, collection, options)
    wanted, match = parse_revision(options.resource_version), options.resource_version_match
    _check_match(options)
    if wanted > current:
        cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
        message = f"Timeout: Too large resource version: {wanted}, current: {current}"
        raise errors.ApiError(504, "Timeout", message, {"causes": [cause], "retryAfterSeconds": 1})
    # For compatibility with servers before resourceVersionMatch, a list with a limit and a revision is exact.
    exact = match == "Exact" or (not match and options.limit > 0 and wanted > 0)
    if exact:
        return _view_at(collection, wanted, ""), "", options.limit
    # With resourceVersion=0, the watch cache answers, and the cache ignores the limit.
    limit = 0 if options.resource_version == "0" else options.limit
    return collection.view(current), "", limit


def _check_match(options: ListOptions) -> None:
    match = options.resource_version_match
    if not match:
        return
    field = "resourceVersionMatch"
    cause = None
    if match not in ("Exact", "NotOlderThan"):
        cause = errors.make_unsupported_value_cause(field, match, "Exact", "NotOlderThan")
    elif not options.resource_version:
        cause = errors.forbidden_field(
            field, "resourceVersionMatch is forbidden unless resourceVersion is provided"
        )
    elif match == "Exact" and options.resource_version == "0":
        cause = errors.forbidden_field(
            field, 'resourceVersionMatch "Exact" is forbidden for resourceVersion "0"'
        )
    if cause is not None:
        raise errors.invalid("ListOptions", "meta.k8s.io", "", [cause])


def _continue(store: Store, collection: Collection, options: ListOptions) -> tuple[View, str, int]:
    if options.resource_version not in ("", "0"):
        raise errors.bad_request("specifying resource version is not allowed when using continue")
    try:
        # Tokens have no padding; surplus padding is ignored.
        token = msgspec.json.decode(base64.urlsafe_b64decode(options.continue_token + "=="), type=_Token)
    except (ValueError, msgspec.MsgspecError):
        raise errors.bad_request("continue key is not valid: it was not given out by this server") from None
    if token.v != "meta.k8s.io/v1" or token.rv > store.revision:
        raise errors.bad_request("continue key is not valid: it was not given out by this server")
    if token.rv == _NEWEST:
        return collection.view(store.revision), token.start, options.limit
    return _view_at(collection, token.rv, token.start), token.start, options.limit


def _view_at(collection: Collection, revision: int, start: str) -> View:
    try:
        return collection.view_at(revision)
    except ExpiredRevisionError as error:
        if not start:
            raise errors.too_old(revision, error.oldest) from None
        raise errors.make_expired_error(_PAGE_EXPIRED, _encode_token(_NEWEST, start)) from None


def _encode_token(revision: int, last_key: str) -> str:
    text = msgspec.json.encode(_Token("meta.k8s.io/v1", revision, last_key))
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()
