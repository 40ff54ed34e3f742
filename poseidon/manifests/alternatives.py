"""Chooses one of several objects with the same name, because some repositories keep alternatives in several files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from poseidon.kube.api.kinds import CLUSTER_SCOPED
from poseidon.manifests.documents import Document
from poseidon.manifests.inventory import identity, is_read
from poseidon.manifests.workloads.table import FAMILIES

_Name = tuple[str, str, str, str]
"""API group, kind, namespace and name."""

_GROUPS_OF_FAMILIES = frozenset(group for group, _ in FAMILIES)


def one_of_each(
    documents: Iterable[Document], messages: list[str], *, strict: bool = False
) -> Iterator[Document]:
    """Yield one document per object: the last document that the input has for it, at the position of the first.

    For each object that has different contents in two files, a line with both files is added to ``messages``.
    """
    last: dict[_Name, Document] = {}
    order: list[tuple[_Name | None, Document]] = []
    for document in documents:
        name = _name_of(document)
        earlier = last.get(name) if name is not None else None
        if name is None or earlier is None:
            order.append((name, document))
        elif earlier.value != document.value:
            problem = f"given differently in {earlier.source} as well"
            remedy = "remove one of the two" if strict else "this one counts"
            messages.append(f"{identity(document)}: {problem}; {remedy}")
        if name is not None and (earlier is None or earlier.value != document.value):
            last[name] = document
    yield from (document if name is None else last[name] for name, document in order)


def _name_of(document: Document) -> _Name | None:
    """Return the key of an object, or None for objects without a name and for kinds that this program does not read."""
    group = document.api_version.rpartition("/")[0]
    metadata = document.value.get("metadata")
    given = metadata if isinstance(metadata, Mapping) else {}
    name, namespace = given.get("name"), given.get("namespace") or "default"
    if not isinstance(name, str) or not name or not isinstance(namespace, str):
        return None
    if not is_read(group, document.kind) and group not in _GROUPS_OF_FAMILIES:
        return None
    return group, document.kind, "" if document.kind in CLUSTER_SCOPED else namespace, name
