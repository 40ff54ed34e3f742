"""What objects of all kinds share: owners, references and times."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from poseidon.kube.api import kinds
from poseidon.kube.api.metadata import (
    EARLIEST,
    LATEST,
    ObjectMeta,
    ObjectRef,
    OwnerReference,
    PodRef,
    format_time,
    get_metadata,
    seconds,
)
from poseidon.kube.api.other_projects.app_network import AppGroup
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.workloads import Job
from poseidon.kube.parsing.readable import MAX_DEPTH


def test_the_controller_is_the_owner_that_says_so():
    others = OwnerReference(kind="Job", name="a"), OwnerReference(kind="Job", name="b", controller=True)
    assert ObjectMeta(owner_references=others).controller() is others[1]
    assert ObjectMeta(owner_references=others[:1]).controller() is None
    assert OwnerReference().controller is False


def test_references_have_names_and_paths():
    ref = PodRef("u", "shop", "web")
    assert (str(ref), ref.path) == ("shop/web", "/api/v1/namespaces/shop/pods/web")
    assert str(ObjectRef("v1", "Pod", "u", "shop", "web")) == "shop/web"
    metadata = ObjectMeta(name="x")
    assert get_metadata(Pod(metadata=metadata)) is metadata


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2026-01-01T00:00:00Z", 1_767_225_600.0),
        ("2026-01-01T01:00:00+01:00", 1_767_225_600.0),
        ("2026-01-01T00:00:00.5Z", 1_767_225_600.5),
        ("2026-01-01T00:00:00", 1_767_225_600.0),
        ("", None),
        (None, None),
        ("yesterday", None),
        ("0001-01-01T00:00:00Z", EARLIEST),
        ("0001-01-01T00:00:00+01:00", None),
        ("9999-12-31T23:59:59Z", LATEST),
        ("9999-12-31T23:59:59-01:00", None),
    ],
)
def test_times_are_seconds_if_they_can_be_written_again(text, found):
    assert seconds(text) == found


def test_times_are_written_in_whole_seconds_of_utc():
    assert format_time(1_767_225_600.9) == "2026-01-01T00:00:00Z"
    assert format_time(-0.5) == "1969-12-31T23:59:59Z"


@pytest.mark.parametrize(
    ("conditions", "over"),
    [
        ([], False),
        ([("Complete", "True")], True),
        ([("Failed", "True")], True),
        ([("Failed", "False"), ("Suspended", "True")], False),
        ([("Suspended", "True"), ("Complete", "True")], True),
    ],
)
def test_a_job_is_over_once_it_is_complete_or_failed(conditions, over):
    listed = [{"type": kind, "status": status} for kind, status in conditions]
    assert msgspec.convert({"status": {"conditions": listed}}, Job).over is over


@pytest.mark.parametrize(
    ("kind", "plural", "version", "group"),
    [
        (kinds.POD, "pods", "v1", ""),
        (kinds.STORAGE_CLASS, "storageclasses", "storage.k8s.io/v1", "storage.k8s.io"),
        (kinds.HYPER_NODE, "hypernodes", "topology.volcano.sh/v1alpha1", "topology.volcano.sh"),
    ],
)
def test_kinds_have_the_names_of_the_api(kind, plural, version, group):
    assert (kind.plural, kind.api_version, kind.group) == (plural, version, group)


@pytest.mark.parametrize("part", ["spec", "status"])
@pytest.mark.parametrize("wrap", [lambda each: [each], lambda each: {"a": each}], ids=["lists", "maps"])
def test_specs_of_any_shape_have_a_limited_depth(part, wrap):
    value: Any = {"deep": [1]}
    for _ in range(MAX_DEPTH - 2):
        value = wrap(value)
    AppGroup(**{part: value})
    with pytest.raises(ValueError, match="spec or status is nested too deeply; make it flatter"):
        AppGroup(**{part: wrap(wrap(value))})
