"""Decides what users of the simulated API may do, by tokens of service accounts and role-based access control.

The rules are those of kubernetes.io, "Using RBAC Authorization". Rules only add rights. The module also answers
access reviews. The module does not support aggregated roles, ``nonResourceURLs`` and impersonation.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from poseidon.testbed.objects import errors
from poseidon.testbed.objects.store import Store, time_text

Object = dict[str, Any]

ADMINISTRATOR = "admin"
"""The user who may do everything.

Without authentication, every client that presents no account's token is the administrator.
"""

ACCESS_PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

_SCHEME = "Bearer "
_SHORTEST, _DEFAULT = 600, 3600
"""Seconds for which a token is valid: the shortest time that the API server grants, and the default time."""
_UNREADABLE = "the review cannot be handled"


class _TokenSpec(msgspec.Struct, rename="camel"):
    expiration_seconds: int = _DEFAULT


class _TokenRequest(msgspec.Struct):
    spec: _TokenSpec = msgspec.field(default_factory=_TokenSpec)


class Accounts:
    """Tokens and their users. ``token`` is the administrator's token, None for no authentication.

    ``clock`` returns wall-clock time in seconds.
    """

    def __init__(self, token: str | None, clock: Callable[[], float]) -> None:
        self._token = token
        self._clock = clock
        self._issued: dict[str, tuple[str, float]] = {}

    def answer(self, body: bytes, namespace: str, name: str) -> Object:
        """Answer a TokenRequest for a service account with a new token.

        Raises ``ApiError`` 400 if the request is malformed.
        """
        seconds = max(_SHORTEST, errors.decode_as(_TokenRequest, body, _UNREADABLE).spec.expiration_seconds)
        token, until = self.issue(namespace, name, seconds)
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"expirationSeconds": seconds},
            "status": {"token": token, "expirationTimestamp": time_text(until)},
        }

    def issue(self, namespace: str, name: str, seconds: float) -> tuple[str, float]:
        """Return a new token of a service account, and when it expires."""
        token, until = secrets.token_urlsafe(32), self._clock() + seconds
        self._issued[token] = (f"system:serviceaccount:{namespace}:{name}", until)
        return token, until

    def revoke_all(self) -> None:
        """Make all tokens invalid that have been issued so far."""
        self._issued.clear()

    def user_of(self, authorization: str) -> str:
        """Return the user whom a request's Authorization header names; without the header, a user without a name.

        Raises ``ApiError`` 401 if the token is wrong or has expired.
        """
        user, until = self._issued.get(authorization.removeprefix(_SCHEME), ("", 0.0))
        if user and self._clock() < until:
            return user
        if self._token is None and not user:
            return ADMINISTRATOR
        if not authorization:
            return ""
        if self._token is not None and hmac.compare_digest(
            authorization.encode(), f"{_SCHEME}{self._token}".encode()
        ):
            return ADMINISTRATOR
        raise errors.make_unauthorized_error()


class Attributes(NamedTuple):
    """What a request asks permission for.

    ``resource`` is ``plural`` or ``plural/subresource``; without ``name``, the request is for all objects.
    """

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""

    def forbidden_message(self, user: str) -> str:
        """Return the message with which the API server refuses a user who lacks this right."""
        scope = f'in the namespace "{self.namespace}"' if self.namespace else "at the cluster scope"
        what = f'{self.verb} resource "{self.resource}" in API group "{self.group}"'
        return f'User "{user}" cannot {what} {scope}'


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


class _Grant(NamedTuple):
    """The rules that a binding grants to a user, in one namespace, or everywhere if the namespace is ""."""

    namespace: str
    rules: list[Object]


class RoleBasedAccess:
    """Decides whether a user may do something.

    Roles and bindings are read again when a role or a binding has been written.

    ``used`` has the rights that requests have used, by user.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        kinds = ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
        self._collections = [store.collection(f"{kind}.rbac.authorization.k8s.io") for kind in kinds]
        self._as_of: tuple[int, ...] = ()
        self._grants: dict[str, list[_Grant]] = {}
        self.used: dict[str, set[Attributes]] = {}

    def answer(self, body: bytes, user: str) -> Object:
        """Answer a SelfSubjectAccessReview: say whether ``user`` has the right that ``body`` names.

        Raises ``ApiError`` 400 if the review is malformed.
        """
        asked = errors.decode_as(_AccessReview, body, _UNREADABLE).spec.resource_attributes
        resource = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
        wanted = Attributes(asked.verb, asked.group, resource, asked.namespace, asked.name)
        return {
            "kind": "SelfSubjectAccessReview",
            "apiVersion": "authorization.k8s.io/v1",
            "status": {"allowed": self.allows(user, wanted)},
        }

    def note(self, user: str, attributes: Attributes) -> None:
        """Record that a user has used a right."""
        self.used.setdefault(user, set()).add(attributes)

    def allows(self, user: str, wanted: Attributes) -> bool:
        """Return whether the roles of ``user`` allow the request with the attributes ``wanted``."""
        if user == ADMINISTRATOR:
            return True
        self._read_anew()
        return any(
            grant.namespace in ("", wanted.namespace) and any(_covers(rule, wanted) for rule in grant.rules)
            for grant in self._grants.get(user, ())
        )

    def _read_anew(self) -> None:
        written = tuple(collection.history.end for collection in self._collections)
        if written == self._as_of:
            return
        self._as_of = written
        roles, cluster_roles, *bindings = map(self._store.objects, self._collections)
        rules = {
            (kind, each["metadata"].get("namespace", ""), each["metadata"]["name"]): each.get("rules") or []
            for kind, found in (("Role", roles), ("ClusterRole", cluster_roles))
            for each in found
        }
        self._grants = {}
        for each in (*bindings[0], *bindings[1]):
            namespace = each["metadata"].get("namespace", "")
            reference = each["roleRef"]
            owner = namespace if reference["kind"] == "Role" else ""
            found = rules.get((reference["kind"], owner, reference["name"]), [])
            for subject in each.get("subjects") or ():
                self._grants.setdefault(_user(subject), []).append(_Grant(namespace, found))


def _user(subject: Object) -> str:
    if subject["kind"] == "ServiceAccount":
        return f"system:serviceaccount:{subject['namespace']}:{subject['name']}"
    return str(subject["name"])


def _covers(rule: Object, wanted: Attributes) -> bool:
    names = rule.get("resourceNames") or ()
    asked = {"verbs": wanted.verb, "apiGroups": wanted.group, "resources": wanted.resource}
    return (not names or wanted.name in names) and all(
        value in (rule.get(field) or ()) or "*" in (rule.get(field) or ()) for field, value in asked.items()
    )
