"""What a bundle keeps of objects: what placement reads, and no message or parameter beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from poseidon.live.redaction import is_kept, redact_object
from poseidon.live.support_bundle import round_parts

READ = "scheduling.k8s.io/group-name"


def test_annotations_are_kept_that_placement_reads_or_somebody_asks_for():
    template = {"metadata": {"annotations": {"secret": "x", "also": "y"}}}
    found = redact_object(
        "Pod",
        {
            "metadata": {
                "name": "p",
                "annotations": {"secret": "x", "firmament.io/reschedule": "allow", "also": "y"},
            },
            "spec": {"template": template, "list": [{"metadata": {"annotations": {"secret": "x"}}}]},
        },
        {"also"},
    )
    assert found["metadata"] == {
        "name": "p",
        "annotations": {"firmament.io/reschedule": "allow", "also": "y"},
    }
    assert found["spec"]["template"]["metadata"] == {"annotations": {"also": "y"}}
    assert found["spec"]["list"] == [{"metadata": {}}]


@pytest.mark.parametrize(
    ("key", "kept"),
    [
        ("firmament.io/reschedule", True),
        ("kubectl.kubernetes.io/last-applied-configuration", False),
        ("x", False),
    ],
)
def test_which_annotations_are_read(key, kept):
    assert is_kept(key) is kept


def test_messages_are_dropped_except_those_that_schedulers_write():
    status = {
        "message": "secret",
        "phase": "Failed",
        "conditions": [
            {"type": "Ready", "status": "False", "message": "secret"},
            {"type": "PodScheduled", "status": "False", "message": "no room"},
            "odd",
        ],
    }
    found = redact_object("Pod", {"metadata": {}, "status": status})
    assert found["status"] == {
        "phase": "Failed",
        "conditions": [
            {"type": "Ready", "status": "False"},
            {"type": "PodScheduled", "status": "False", "message": "no room"},
            "odd",
        ],
    }
    assert redact_object("Pod", {"metadata": {}, "status": "odd"})["status"] == "odd"


@pytest.mark.parametrize("kind", ["AppGroup", "NetworkTopology"])
def test_of_objects_as_they_were_written_known_fields_are_kept(kind):
    given = {
        "metadata": {"name": "a", "labels": {"x": "y"}},
        "spec": {"workloads": [{"workload": {"name": "w", "password": "x"}, "odd": 1}, "text"], "secret": {}},
        "status": {"nodeCount": 3, "message": "x"},
    }
    assert redact_object(kind, given) == {
        "metadata": {"name": "a", "labels": {"x": "y"}},
        "spec": {"workloads": [{"workload": {"name": "w"}}, "text"]},
        "status": {"nodeCount": 3},
    }


def test_of_devices_the_parameters_of_drivers_are_dropped():
    given: dict[str, Any] = {
        "metadata": {"name": "c"},
        "spec": {"devices": {"config": [{"opaque": "x"}], "requests": [{"name": "gpu", "config": 1}]}},
        "status": {
            "allocation": {"devices": {"results": [{"device": "d"}], "config": ["x"]}},
            "devices": [{"device": "d", "conditions": [{"type": "Ready", "message": "secret"}]}],
        },
    }
    found = redact_object("ResourceClaim", given)
    assert found["spec"] == {"devices": {"requests": [{"name": "gpu"}]}}
    assert found["status"]["allocation"] == {"devices": {"results": [{"device": "d"}]}}
    assert found["status"]["devices"] == [{"device": "d", "conditions": [{"type": "Ready"}]}]


def test_the_latest_rounds_are_added_without_credentials(tmp_path: Path):
    for number in range(1, 5):
        folder = tmp_path / f"round-{number}"
        folder.mkdir()
        (folder / "round.json").write_text('{"url": "https://me:secret@host/"}')
        (folder / "arrays.npz").write_bytes(b"\x00\xff")
    (tmp_path / "other").mkdir()
    (tmp_path / "round-file").write_text("x")
    found = list(round_parts(tmp_path, 2))
    assert [each.name for each in found] == [
        f"rounds/round-{number}/{name}" for number in (3, 4) for name in ("arrays.npz", "round.json")
    ]
    assert found[0].content == b"\x00\xff"
    assert b"secret" not in found[1].content
    [missing] = round_parts(tmp_path / "none")
    assert (missing.name, missing.content) == ("rounds", b"")
    assert missing.problem == f"{tmp_path}/none: No such file or directory"
