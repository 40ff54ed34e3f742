"""What an API server answers without keeping an object: may I do this, and a token for that account."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from poseidon.testbed.access.roles import Attributes
from poseidon.testbed.objects import errors

if TYPE_CHECKING:
    from poseidon.testbed.access.accounts import Accounts
    from poseidon.testbed.access.roles import RoleBasedAccess

Object = dict[str, Any]
T = TypeVar("T")

ACCESS_PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

_SHORTEST, _DEFAULT = 600, 3600
"""Seconds that a token is good for: what the API server grants at least, and where nothing is asked for."""


class _ResourceAttributes(msgspec.Struct):
    verb: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class _AccessSpec(msgspec.Struct, rename="camel"):
    resource_attributes: _ResourceAttributes = msgspec.field(default_factory=_ResourceAttributes)


class _AccessReview(msgspec.Struct):
    spec: _AccessSpec


class _TokenSpec(msgspec.Struct, rename="camel"):
    expiration_seconds: int = _DEFAULT


class _TokenRequest(msgspec.Struct):
    spec: _TokenSpec = msgspec.field(default_factory=_TokenSpec)


def answer_access(body: bytes, user: str, access: RoleBasedAccess) -> Object:
    """Answer a SelfSubjectAccessReview. Raises ``ApiError`` 400."""
    asked = _decode(body, _AccessReview).spec.resource_attributes
    resource = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
    wanted = Attributes(asked.verb, asked.group, resource, asked.namespace, asked.name)
    return {
        "kind": "SelfSubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "status": {"allowed": access.allows(user, wanted)},
    }


def answer_token(body: bytes, namespace: str, name: str, accounts: Accounts) -> Object:
    """Answer a TokenRequest for a service account. Raises ``ApiError`` 400."""
    seconds = max(_SHORTEST, _decode(body, _TokenRequest).spec.expiration_seconds)
    token, until = accounts.issue(namespace, name, seconds)
    good_until = datetime.fromtimestamp(int(until), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"expirationSeconds": seconds},
        "status": {"token": token, "expirationTimestamp": good_until},
    }


def _decode(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.MsgspecError as error:
        raise errors.bad_request(f"the review cannot be handled: {error}") from None
