"""Errors as the Kubernetes API reports them: a ``Status`` object with code, reason, message and details.

The messages follow apimachinery's ``pkg/api/errors``, because clients and people match them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of ``details.causes``: the field, a machine-readable reason and a text for people."""

    field: str
    reason: str
    message: str


class ApiError(Exception):
    """Raised if the API server refuses a request. ``code`` is the HTTP status, ``reason`` the cause in one word."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = dict(details or {})
        self.metadata = dict(metadata or {})

    def status(self) -> dict[str, Any]:
        """Return the body of the answer, a ``Status`` object."""
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
        }
        if self.details:
            body["details"] = self.details
        body["code"] = self.code
        return body


def decode_as(kind: type[T], body: bytes, refusal: str) -> T:
    """Decode JSON as a ``kind``. Raises ``ApiError`` 400 with the text ``refusal`` and the fault."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.MsgspecError as error:
        raise bad_request(f"{refusal}: {error}") from None


def success(details: Mapping[str, Any] | None = None, code: int = 200) -> dict[str, Any]:
    """Return the ``Status`` body for a request that has succeeded and has no object to return."""
    body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details:
        body["details"] = dict(details)
    if code != 200:
        body["code"] = code
    return body


def resource_details(resource: str, name: str = "", uid: str = "") -> dict[str, Any]:
    """Return the ``details`` of a Status about an object of ``resource``, written ``plural`` or ``plural.group``."""
    plural, _, group = resource.partition(".")
    details = {"name": name, "group": group, "kind": plural, "uid": uid}
    return {key: value for key, value in details.items() if value}


def not_found(resource: str, name: str) -> ApiError:
    """Return the 404 for an object that does not exist."""
    return ApiError(404, "NotFound", f'{resource} "{name}" not found', resource_details(resource, name))


def path_not_found() -> ApiError:
    """Return the 404 for a path at which the server has nothing."""
    return ApiError(404, "NotFound", "the server could not find the requested resource")


def conflict(resource: str, name: str, why: str) -> ApiError:
    """Return the 409 for a write that came too late, or whose precondition does not hold."""
    message = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return ApiError(409, "Conflict", message, resource_details(resource, name))


def make_expired_error(message: str, continue_token: str = "") -> ApiError:
    """Return the 410 for a revision that the server no longer knows."""
    return ApiError(410, "Expired", message, metadata={"continue": continue_token} if continue_token else {})


def too_old(requested: int, oldest: int) -> ApiError:
    """Return the 410 for a list or watch that starts before the known history."""
    return make_expired_error(f"too old resource version: {requested} ({oldest})")


def bad_request(message: str) -> ApiError:
    """Return the 400 for a request that cannot be understood."""
    return ApiError(400, "BadRequest", message)


def make_unauthorized_error() -> ApiError:
    """Return the 401 for an absent or wrong bearer token."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def forbidden(resource: str, name: str, why: str) -> ApiError:
    """Return the 403 with which admission refuses an object that is well-formed, but not allowed."""
    message = f'{resource} "{name}" is forbidden: {why}'
    return ApiError(403, "Forbidden", message, resource_details(resource, name))


def method_not_allowed() -> ApiError:
    """Return the 405 for a verb that the resource does not support."""
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message)


def media_type_error(got: str, accepted: Sequence[str]) -> ApiError:
    """Return the 415 for a body in a format that the server does not read."""
    message = (
        f'the body of the request was in an unknown format "{got}" - '
        f"accepted media types include: {', '.join(accepted)}"
    )
    return ApiError(415, "UnsupportedMediaType", message)


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> ApiError:
    """Return the 422 for an object that breaks the rules of its kind; ``causes`` must not be empty."""
    texts = [f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in causes]
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    qualified = f"{kind}.{group}" if group else kind
    details: dict[str, Any] = {"name": name, "group": group, "kind": kind}
    details = {key: value for key, value in details.items() if value}
    details["causes"] = [asdict(cause) for cause in causes]
    return ApiError(422, "Invalid", f'{qualified} "{name}" is invalid: {joined}', details)


def make_required_cause(field: str) -> Cause:
    """Return the cause for a mandatory field that is absent."""
    return Cause(field, "FieldValueRequired", "Required value")


def invalid_value(field: str, value: str, why: str) -> Cause:
    """Return the cause for a field whose value breaks a rule."""
    return Cause(field, "FieldValueInvalid", f'Invalid value: "{value}": {why}')


def make_unsupported_value_cause(field: str, value: Any, *supported: str) -> Cause:
    """Return the cause for a field whose value is not among the allowed values."""
    listed = ", ".join(f'"{each}"' for each in supported)
    text = f'Unsupported value: "{value}": supported values: {listed}'
    return Cause(field, "FieldValueNotSupported", text)


def forbidden_field(field: str, why: str) -> Cause:
    """Return the cause for a change that is not permitted."""
    return Cause(field, "FieldValueForbidden", f"Forbidden: {why}")
