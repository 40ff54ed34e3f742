"""Parses the path and the query of a request, before anything is looked up or changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from poseidon.testbed.access import Attributes
from poseidon.testbed.api_server.listing import ListOptions, parse_revision
from poseidon.testbed.api_server.watching import WatchOptions
from poseidon.testbed.objects import errors
from poseidon.testbed.objects.store import Preconditions


@dataclass(frozen=True, slots=True)
class Target:
    """What a request's path names.

    ``name`` is empty for collections, ``subresource`` is empty for the object itself.
    """

    group: str
    version: str
    namespace: str
    plural: str
    name: str
    subresource: str


class DeleteOptions(msgspec.Struct, rename="camel"):
    """The body of a delete request; propagation policies are not supported."""

    grace_period_seconds: int | None = None
    preconditions: Preconditions = msgspec.field(default_factory=Preconditions)
    dry_run: list[str] = []


def parse_path(path: str) -> Target | None:
    """Return the target that a path below ``/api`` or ``/apis`` names, or None if it names no resource."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    # A path /namespaces/NAME, also with a subresource, names the namespace itself; longer paths name objects in it.
    if rest[0] == "namespaces" and len(rest) > 2 and (len(rest) > 3 or rest[2] not in ("status", "finalize")):
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3:
        return None
    plural, name, subresource = (*rest, "", "")[:3]
    return Target(group, version, namespace, plural, name, subresource)


_WATCH_SECONDS = 1800
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


def attributes_of(method: str, target: Target, query: Mapping[str, str]) -> Attributes:
    """Return what a request has to be authorised for."""
    if method in ("GET", "HEAD"):
        single = bool(target.name) and not flag(query, "watch")
        verb = "get" if single else "watch" if flag(query, "watch") else "list"
    elif method == "DELETE":
        verb = "delete" if target.name else "deletecollection"
    else:
        verb = _VERBS.get(method, method.lower())
    resource = f"{target.plural}/{target.subresource}" if target.subresource else target.plural
    return Attributes(
        verb, target.group, resource, target.namespace, target.name or _find_selected_name(query)
    )


def _find_selected_name(query: Mapping[str, str]) -> str:
    """Return the only name that a field selector allows, or "" if it allows several.

    A list or watch with such a selector is authorised as a request for the object that the selector names.
    """
    field, _, name = query.get("fieldSelector", "").partition("=")
    return name.lstrip("=") if field == "metadata.name" else ""


def list_options(query: Mapping[str, str]) -> ListOptions:
    """Read the query of a list. Raises ``ApiError`` 400 if a parameter is malformed."""
    return ListOptions(
        limit=_whole(query, "limit"),
        continue_token=query.get("continue", ""),
        resource_version=query.get("resourceVersion", ""),
        resource_version_match=query.get("resourceVersionMatch", ""),
    )


def watch_options(query: Mapping[str, str], bookmark_interval: float) -> WatchOptions:
    """Read the query of a watch. Raises ``ApiError`` 400 if a parameter is malformed."""
    return WatchOptions(
        revision=parse_revision(query.get("resourceVersion", "")),
        bookmarks=flag(query, "allowWatchBookmarks"),
        send_initial_events=flag(query, "sendInitialEvents"),
        timeout=float(_whole(query, "timeoutSeconds") or _WATCH_SECONDS),
        bookmark_interval=bookmark_interval,
    )


def flag(query: Mapping[str, str], name: str) -> bool:
    """Return whether a boolean parameter is set, in the spellings that the API accepts."""
    return query.get(name, "false").lower() not in ("", "0", "f", "false")


def delete_options(body: bytes, query: Mapping[str, str]) -> DeleteOptions:
    """Read the body of a delete request, or its query if it has no body.

    Raises ``ApiError`` 400 if the body or the query is malformed.
    """
    if not body:
        grace = _whole(query, "gracePeriodSeconds") if "gracePeriodSeconds" in query else None
        return DeleteOptions(grace_period_seconds=grace)
    return errors.decode_as(DeleteOptions, body, "DeleteOptions cannot be handled")


def dry_run(query: Mapping[str, str]) -> bool:
    """Return whether a write is a dry run. Raises ``ApiError`` 400 if the parameter is malformed."""
    value = query.get("dryRun", "")
    if value not in ("", "All"):
        raise errors.bad_request(f'dryRun: Unsupported value: "{value}": supported values: "All"')
    return value == "All"


def _whole(query: Mapping[str, str], name: str) -> int:
    text = query.get(name, "")
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal()):
        raise errors.bad_request(f"{name}: {text!r} is not a whole number")
    return int(text)
