"""Defines errors of requests to an API server, with one-line messages."""

from __future__ import annotations

import re
from http import HTTPStatus

from protos.conventions.secrets import redact_credentials

_LONGEST_SHOWN = 200
_REPLACED = re.compile(r"UID in (the )?precondition")


class KubeError(Exception):
    """Base of all errors of this package that concern a single request."""


class ApiError(KubeError):
    """The API server answered with an error.

    ``status`` is the HTTP code (or the code of an ERROR event of a watch), ``reason`` the machine-readable
    word of the ``Status`` body ("NotFound", "Expired", ...), ``message`` its text, and ``retry_after`` the
    seconds that the server asks the client to wait, or None.
    """

    def __init__(self, status: int, reason: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after

    @property
    def not_found(self) -> bool:
        """Whether the object or its whole API group is absent."""
        return self.status == HTTPStatus.NOT_FOUND

    @property
    def conflict(self) -> bool:
        """Whether a precondition failed, or the object is not in the state that the request assumes."""
        return self.status == HTTPStatus.CONFLICT

    @property
    def replaced(self) -> bool:
        """Whether another object has this name now, by kube-apiserver's message."""
        return self.conflict and _REPLACED.search(self.message) is not None

    @property
    def outrun(self) -> bool:
        """Whether another write changed the object in between, so that the same request may succeed next time."""
        return self.conflict and not self.replaced and not self.already_exists

    @property
    def expired(self) -> bool:
        """Whether a resource version or a continue token is too old: the client must list anew."""
        return self.status == HTTPStatus.GONE or self.reason in ("Expired", "Gone")

    @property
    def ahead(self) -> bool:
        """Whether the requested resource version does not exist yet, in the words of kube-apiserver or etcd."""
        return "Too large resource version" in self.message or "is a future revision" in self.message

    @property
    def already_exists(self) -> bool:
        """Whether an object of that name exists already.

        An earlier try of this client, whose answer was lost, may have created the object.
        """
        return self.conflict and self.reason == "AlreadyExists"

    @property
    def terminating(self) -> bool:
        """Whether nothing can be created because the namespace is being deleted."""
        return self.status == HTTPStatus.FORBIDDEN and "because it is being terminated" in self.message

    @property
    def throttled(self) -> bool:
        """Whether the server is too busy to look at the request: it was not carried out."""
        return self.status == HTTPStatus.TOO_MANY_REQUESTS

    @property
    def transient(self) -> bool:
        """Whether the same request, unchanged, may succeed later."""
        return self.status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.REQUEST_TIMEOUT) or self.status >= 500


class UnsendableError(ApiError, ValueError):
    """A request whose path HTTP cannot express, and which is treated as if the server had refused it."""

    def __init__(self, path: str) -> None:
        shown = path if len(path) <= _LONGEST_SHOWN else f"{path[:_LONGEST_SHOWN]}…"
        super().__init__(HTTPStatus.BAD_REQUEST, "", f"{shown!r}: not the path of a request")


class NotLeaderError(ApiError):
    """A request that was not sent, because this process is not the leader."""

    def __init__(self, method: str, path: str) -> None:
        super().__init__(HTTPStatus.FORBIDDEN, "NotLeader", f"{method} {path}: this process does not lead")


class UnreachableError(KubeError):
    """No complete answer came, although the server may have carried out the request.

    The connection may have been refused or reset, have timed out, or have bad certificates. ``idle_closed``: the server
    closed an idle connection just as a request used it again, which does not mean that the server is busy.
    """

    def __init__(self, message: str, *, idle_closed: bool = False) -> None:
        super().__init__(message)
        self.idle_closed = idle_closed


def one_line(error: BaseException) -> str:
    """Return an error's message in one line without credentials; its type if it has no message."""
    return redact_credentials(" ".join(str(error).split())) or type(error).__name__


class SettingsError(Exception):
    """The kubeconfig or the in-cluster settings cannot be used.

    The message says in one line which of the two cannot be used, and why.
    """
