"""The table of fields: complete by Kubernetes' published schema, and true by what the bridge decodes."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator

import kubernetes
import msgspec
from kubernetes import client

from poseidon.kube.api.devices import DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from poseidon.kube.api.namespaces import Namespace
from poseidon.kube.api.nodes import Node, PriorityClass
from poseidon.kube.api.pod_groups import CompositePodGroup, DisruptionBudget, NativePodGroup
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.storage import (
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from tests.documentation.markdown import rows, text

ROOTS: dict[str, type[msgspec.Struct] | None] = {
    "V1Pod": Pod,
    "V1Node": Node,
    "V1Namespace": Namespace,
    "V1PriorityClass": PriorityClass,
    "V1PodDisruptionBudget": DisruptionBudget,
    "V1beta1PodGroup": NativePodGroup,
    "V1alpha3CompositePodGroup": CompositePodGroup,
    "V1PersistentVolumeClaim": PersistentVolumeClaim,
    "V1PersistentVolume": PersistentVolume,
    "V1StorageClass": StorageClass,
    "V1VolumeAttachment": VolumeAttachment,
    "V1CSINode": CsiNode,
    "V1CSIDriver": CsiDriver,
    "V1CSIStorageCapacity": CsiStorageCapacity,
    "V1DeviceClass": DeviceClass,
    "V1ResourceSlice": ResourceSlice,
    "ResourceV1ResourceClaim": ResourceClaim,
    "V1ResourceClaimTemplate": ResourceClaimTemplate,
}
"""Models of the schema, and the structs that they are decoded to; None: they are not read."""

VERDICTS = ("honoured", "refused", "not honoured", "no meaning")
DOCUMENT = text("docs/conformance.md")


def table() -> dict[tuple[str, str], str]:
    """The verdict on each field by type and name, but for fields that are gone."""
    found: dict[tuple[str, str], str] = {}
    for kind, names, verdict, _ in rows(DOCUMENT.partition("## Gone")[0]):
        for name in names.split(", "):
            assert (kind, name) not in found, f"{kind}.{name} has two rows"
            found[kind, name] = verdict
    return found


def plain(model: str) -> str:
    """The name of a model without its version."""
    return re.sub(r"^([A-Z][a-z]+)?V\d+((alpha|beta)\d+)?", "", model)


def struct_of(kind: object) -> type[msgspec.Struct] | None:
    """The struct that a field holds, alone or several."""
    for each in (
        kind,
        *typing.get_args(kind),
        *(b for a in typing.get_args(kind) for b in typing.get_args(a)),
    ):
        if isinstance(each, type) and issubclass(each, msgspec.Struct):
            return each
    return None


def read_fields() -> dict[str, set[str]]:
    """Of each model that the bridge decodes, the names of the fields that it reads."""
    found: dict[str, set[str]] = {}
    for model, struct in ROOTS.items():
        _walk(model, struct, found)
    return found


def _walk(model: str, struct: type[msgspec.Struct] | None, found: dict[str, set[str]]) -> None:
    fields = (
        {} if struct is None else {each.encode_name: each.type for each in msgspec.structs.fields(struct)}
    )
    new = fields.keys() - found.get(model, set())
    found.setdefault(model, set()).update(fields)
    kinds = getattr(client, model).openapi_types
    for name, wire in getattr(client, model).attribute_map.items():
        inner = struct_of(fields[wire]) if wire in new else None
        for nested in re.findall(r"V\d\w+", kinds[name]) if inner is not None else ():
            _walk(nested, inner, found)


def schema() -> Iterator[tuple[str, str]]:
    """Type and name of every field of the models that the bridge decodes."""
    for model in read_fields():
        for wire in getattr(client, model).attribute_map.values():
            yield plain(model), wire


def test_every_field_has_a_row_and_every_row_a_field():
    known, there = set(schema()), table().keys()
    assert sorted(known - there) == [], "fields without a row"
    assert sorted(there - known) == [], "rows without a field"


def test_what_is_said_to_be_honoured_is_read_and_nothing_else():
    read = {(plain(model), wire) for model, fields in read_fields().items() for wire in fields} & set(
        schema()
    )
    honoured = {field for field, verdict in table().items() if verdict == "honoured"}
    assert honoured == read


def test_verdicts_are_known():
    assert {*table().values()} <= {*VERDICTS}
    for kind, _, verdict, how in rows(DOCUMENT):
        assert how or verdict in ("honoured", "no meaning"), f"{kind}: say why it is {verdict}"


def test_the_schema_is_the_one_that_is_named():
    """A newer client brings new fields, and the page is to be read again."""
    version = kubernetes.__version__.partition(".")[0]
    assert f"schema of 1.{version}" in " ".join(DOCUMENT.split())
