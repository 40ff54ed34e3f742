"""Role-based access control: what the Role and ClusterRole objects of a cluster allow whom.

Semantics: kubernetes.io, "Using RBAC Authorization". Rules only add up, none denies. Not heeded: aggregated roles,
``nonResourceURLs`` and impersonation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from poseidon.testbed.access.accounts import ADMINISTRATOR

if TYPE_CHECKING:
    from poseidon.testbed.objects.store import Store

Object = dict[str, Any]

_GROUP = "rbac.authorization.k8s.io"
_KINDS = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")


class Attributes(NamedTuple):
    """What a request is to the authoriser: ``resource`` is ``plural`` or ``plural/subresource``; no ``name``: all."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""

    def forbidden_message(self, user: str) -> str:
        """Return what the API server says to who may not do this."""
        scope = f'in the namespace "{self.namespace}"' if self.namespace else "at the cluster scope"
        what = f'{self.verb} resource "{self.resource}" in API group "{self.group}"'
        return f'User "{user}" cannot {what} {scope}'


class _Grant(NamedTuple):
    """What a binding gives a user: rules, in one namespace or (empty) everywhere."""

    namespace: str
    rules: list[Object]


class RoleBasedAccess:
    """Answers whether a user may do something. Looks at the objects anew whenever one of them has been written.

    ``used``: by user, what was allowed and asked for by a request.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._collections = [store.collection(f"{kind.lower()}s.{_GROUP}") for kind in _KINDS]
        self._as_of: tuple[int, ...] = ()
        self._grants: dict[str, list[_Grant]] = {}
        self.used: dict[str, set[Attributes]] = {}

    def note(self, user: str, attributes: Attributes) -> None:
        """Remember that a user has made use of a right."""
        self.used.setdefault(user, set()).add(attributes)

    def allows(self, user: str, wanted: Attributes) -> bool:
        """Return whether ``user`` may do what is ``wanted``."""
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
        roles, cluster_roles, bindings, cluster_bindings = map(self._store.objects, self._collections)
        rules = {_identity("Role", each): each.get("rules") or [] for each in roles}
        rules |= {_identity("ClusterRole", each): each.get("rules") or [] for each in cluster_roles}
        self._grants = {}
        for each in (*bindings, *cluster_bindings):
            namespace = each["metadata"].get("namespace", "")
            reference = each["roleRef"]
            owner = namespace if reference["kind"] == "Role" else ""
            found = rules.get((reference["kind"], owner, reference["name"]), [])
            for subject in each.get("subjects") or ():
                self._grants.setdefault(_user(subject), []).append(_Grant(namespace, found))


def _identity(kind: str, each: Object) -> tuple[str, str, str]:
    return kind, each["metadata"].get("namespace", ""), each["metadata"]["name"]


def _user(subject: Object) -> str:
    if subject["kind"] == "ServiceAccount":
        return f"system:serviceaccount:{subject['namespace']}:{subject['name']}"
    return str(subject["name"])


def _covers(rule: Object, wanted: Attributes) -> bool:
    names = rule.get("resourceNames") or ()
    return (
        _has(rule.get("verbs"), wanted.verb)
        and _has(rule.get("apiGroups"), wanted.group)
        and _has(rule.get("resources"), wanted.resource)
        and (not names or wanted.name in names)
    )


def _has(values: list[str] | None, value: str) -> bool:
    return value in (values or ()) or "*" in (values or ())
