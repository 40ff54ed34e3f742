"""Which annotations a support bundle keeps: all that the code reads, by the code itself; and nothing of a hostile
cluster's secrets.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, get_args

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

import poseidon
from cost_models.registry import list_available, model_class
from poseidon.devices.sharing.virtual_claims import CONTAINERS
from poseidon.kube.api.decoding import MalformedObjectError, decode_object
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.write.pod_recovery import _LAST_APPLIED
from poseidon.leadership.election import FENCING
from poseidon.live.redaction import ANNOTATIONS, is_kept, redact_object
from poseidon.live.support_bundle import COLLECTIONS, reduce_object
from protos.conventions.secrets import redact_urls
from tests.programs.hostile.objects import Mallory, fields
from tests.support.effort import examples

SECRET = "hunter2"

ROOT = Path(poseidon.__file__).parent
OTHERS = ("testbed", "demo")
"""Packages that play a cluster."""
NOT_FOR_PLACEMENT = {FENCING, _LAST_APPLIED, CONTAINERS}
"""Read of Leases, dropped from copies of pods, and of claims that the API server does not have."""
CHOSEN_ELSEWHERE = {"key", "CONSTRAINTS"}
"""Names of variables that go through a table, which is looked at by itself."""


def keys_read() -> Iterator[tuple[str, ast.expr]]:
    """Yield module and expression of every key by which annotations are looked up."""
    for path in sorted(ROOT.rglob("*.py")):
        module = ".".join(("poseidon", *path.relative_to(ROOT).with_suffix("").parts))
        if module.split(".")[1] in OTHERS or module == "poseidon.live.redaction":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Attribute(value=of, attr="get" | "pop"), args=[key, *_]) if _is_map(
                    of
                ):
                    yield module, key
                case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[of]) if _is_map(of):
                    yield module, key
                case ast.Subscript(value=of, slice=key) if _is_map(of):
                    yield module, key


def _is_map(node: ast.expr) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "annotations") or (
        isinstance(node, ast.Name) and node.id == "annotations"
    )


def test_every_annotation_that_the_code_reads_is_on_the_list():
    found = list(keys_read())
    assert len(found) > 15
    for module, key in found:
        if isinstance(key, ast.Constant):
            value = str(key.value)
        else:
            assert isinstance(key, ast.Name), (
                f"{module}: {ast.unparse(key)}: name the annotation by a constant"
            )
            if key.id in CHOSEN_ELSEWHERE:
                continue
            value = getattr(import_module(module), key.id)
        assert is_kept(value) or value in NOT_FOR_PLACEMENT, (
            f"{module}: {value}: add it to poseidon/live/redaction.py"
        )


def test_what_the_installed_cost_models_need_is_on_the_list():
    for name in list_available():
        needs = model_class(name).needs
        for key in (*needs.annotations, *needs.machine_annotations):
            assert is_kept(key), f"{key}: add it to poseidon/live/redaction.py"


def test_nothing_that_kubectl_or_controllers_write_is_on_the_list():
    for key in ANNOTATIONS:
        assert not any(word in key for word in ("last-applied", "secret", "token", "password"))


PLANTED_KEYS = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "kapp.k14s.io/original",
    "objectset.rio.cattle.io/applied",
    "csi.storage.k8s.io/node-publish-secret-value",
    "iam.kubernetes.io/aws-secret-key",
    "scheduling.koordinator.sh/password",
    "koordinator.sh/token",
    "karpenter.sh/secret",
)
KEYS = st.sampled_from(PLANTED_KEYS) | st.text("abc./-", min_size=1)


@given(st.dictionaries(KEYS, st.just(SECRET), max_size=5))
@settings(max_examples=examples(200))
def test_annotations_of_no_list_go_whatever_their_domain(annotations):
    for kind in ("Pod", "Node", "AppGroup", "ConfigMap"):
        cut = redact_object(kind, {"metadata": {"name": "x", "annotations": dict(annotations)}})
        assert SECRET not in str(cut)


def test_free_specs_and_data_keep_the_fields_that_are_read():
    group = {
        "numMembers": 1,
        "password": SECRET,
        "workloads": [{"workload": {"name": "a", "env": SECRET}}],
    }
    assert redact_object("AppGroup", {"spec": group}) == {
        "spec": {"numMembers": 1, "workloads": [{"workload": {"name": "a"}}]}
    }
    assert redact_object("ConfigMap", {"data": {"name": "g", "size": "2", "password": SECRET}}) == {
        "data": {"name": "g", "size": "2"}
    }
    conditions = [{"type": "Ready", "message": SECRET}, {"type": "PodScheduled", "message": "0/3 nodes"}]
    assert redact_object("Pod", {"status": {"message": SECRET, "conditions": conditions}}) == {
        "status": {"conditions": [{"type": "Ready"}, {"type": "PodScheduled", "message": "0/3 nodes"}]}
    }


class Planter:
    """Plants a secret in each place of an object where one may stand, and none that placement reads."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def plant(self, kind: type, found: dict[str, Any]) -> dict[str, Any]:
        """Return an object of a kind with fields that its kind does not have, at every level, and URLs for texts."""
        known = dict(fields(kind))
        found = {name: self._within(known.get(name), each) for name, each in found.items()}
        if kind is ObjectMeta:
            found["annotations"] = dict.fromkeys(PLANTED_KEYS, SECRET)
        unknown = {
            "env": [{"name": "PASSWORD", "value": SECRET}],
            "args": [f"--password={SECRET}"],
            "command": [SECRET],
            "password": SECRET,
            "nodePublishSecretRef": {"name": SECRET},
            "volumeAttributes": {"token": SECRET},
            "stringData": {"token": SECRET},
        }
        return found | {name: value for name, value in unknown.items() if name not in known}

    def _within(self, declared: Any, found: Any) -> Any:
        if isinstance(found, str):
            return f"https://u:{SECRET}@h/{found[:3]}" if self._random.random() < 0.1 else found
        kind = next(_structs(declared), None)
        if kind is not None and isinstance(found, dict):
            return self.plant(kind, found)
        if isinstance(found, list):
            return [self._within(declared, each) for each in found]
        return found


def _structs(declared: Any) -> Iterator[type]:
    if isinstance(declared, type) and issubclass(declared, msgspec.Struct):
        yield declared
    for each in get_args(declared):
        yield from _structs(each)


def test_no_secret_of_hostile_objects_is_in_a_bundle():
    random = Random(7)
    mallory, planter = Mallory(random), Planter(random)
    kept: Counter[str] = Counter()
    for turn in range(examples(3000)):
        resource = COLLECTIONS[turn % len(COLLECTIONS)]
        _, raw = mallory.raw(resource.kind, spoil=False)
        planted = planter.plant(resource.kind, json.loads(raw))
        assert SECRET in str(planted)
        try:
            cut = reduce_object(decode_object(json.dumps(planted).encode(), resource.kind))
        except MalformedObjectError:
            continue  # left out
        kept[resource.name] += 1
        assert SECRET not in json.dumps(redact_urls(cut)), resource.name
    assert kept.keys() == {each.name for each in COLLECTIONS}
