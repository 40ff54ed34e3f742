"""Which machines a changed record may have opened: one, all, or none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cost_models.interface import Needs
from firmament.core.events import ClassDefined, RecordRemoved, RecordUpserted
from firmament.core.intake.events import apply_events
from firmament.core.model import TaskClaim
from firmament.core.record_kinds import (
    DEVICE_CLAIM_RECORD,
    FLAVOR_RECORD,
    FOREIGN_NOMINATION_RECORD,
    NAMESPACE_RECORD,
    QUOTA_RECORD,
)
from firmament.core.state.cluster import Cluster
from firmament.core.state.machines import RowStamps
from tests.support.core import machine, task_class

CLAIMING = ClassDefined(1, task_class(1, claims=(TaskClaim("c", claim="ns/c"),)))


def cluster() -> Cluster:
    made = Cluster(Needs(records=("Read", "Seen"), arrivals=("Seen",)))
    apply_events(made, [machine("m"), machine("n"), CLAIMING], 0.0)
    made.dirty.clear()
    return made


def opened(made: Cluster, kind: str, name: str, payload: Any = None) -> str | list[str]:
    """What a record opens: all machines, or these; ``payload`` None: the record goes."""
    made.dirty.clear()
    event = (
        RecordRemoved(kind, name)
        if payload is None
        else RecordUpserted(kind, name, json.dumps(payload).encode())
    )
    apply_events(made, [event], 0.0)
    if made.dirty.everywhere:
        return "all"
    return [made.machines.names[row] for row in sorted(made.dirty.machines)]


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        (QUOTA_RECORD, "q", "all"),
        (FLAVOR_RECORD, "f", "all"),
        ("Read", "m", "all"),
        ("Seen", "m", ["m"]),
        ("Seen", "unknown", []),
        ("Other", "m", []),
        (NAMESPACE_RECORD, "ns", []),
    ],
)
def test_who_may_be_opened_by_kind(kind: str, name: str, expected: str | list[str]):
    made = cluster()
    assert opened(made, kind, name, {}) == expected
    assert made.dirty.domains_changed is (kind == NAMESPACE_RECORD)
    assert opened(made, kind, name) == expected


def test_a_task_of_others_that_goes_elsewhere_or_is_gone_leaves_room():
    made = cluster()
    claim = {"machine": "m", "priority": 1, "requests": {"cpu": 100}}
    opened(made, FOREIGN_NOMINATION_RECORD, "u", claim)
    assert "m" in opened(made, FOREIGN_NOMINATION_RECORD, "u", {**claim, "machine": "n"})
    assert opened(made, FOREIGN_NOMINATION_RECORD, "u") == ["n"]


def allocation(device: str, node: str | None) -> dict[str, Any]:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]
    where = {"nodeSelector": {"nodeSelectorTerms": terms}} if node else {}
    return {"devices": {"results": [{"driver": "d", "pool": "p", "device": device, "request": "r"}]}, **where}


class TestClaims:
    def test_a_claim_that_somebody_names_matters_when_its_devices_change(self):
        made = cluster()
        assert opened(made, DEVICE_CLAIM_RECORD, "ns/c", {"spec": {}}) == "all"
        assert opened(made, DEVICE_CLAIM_RECORD, "ns/c", {"spec": {}, "reserved_for": ["u"]}) == []
        held = {"spec": {}, "allocation": allocation("a", "m")}
        assert opened(made, DEVICE_CLAIM_RECORD, "ns/c", held) == "all"
        assert opened(made, DEVICE_CLAIM_RECORD, "ns/c") == ["m"], "its devices are free"

    def test_one_that_nobody_names_matters_where_it_frees_devices(self):
        made = cluster()
        assert opened(made, DEVICE_CLAIM_RECORD, "ns/x", {"allocation": allocation("a", "m")}) == []
        assert opened(made, DEVICE_CLAIM_RECORD, "ns/x", {"allocation": allocation("b", "n")}) == ["m"]
        assert opened(made, DEVICE_CLAIM_RECORD, "ns/x") == ["n"]
        assert opened(made, DEVICE_CLAIM_RECORD, "ns/y", {"allocation": allocation("a", None)}) == []
        assert opened(made, DEVICE_CLAIM_RECORD, "ns/y") == "all", "devices that all machines reach"

    @pytest.mark.parametrize("bad", [{"devices": 3}, {"devices": {"results": [3]}}, 7, {"nodeSelector": 3}])
    def test_one_that_cannot_be_read_is_unknown(self, bad: Any):
        made = cluster()
        opened(made, DEVICE_CLAIM_RECORD, "ns/c", {"allocation": bad})
        assert "ns/c" not in made.devices.known_claims


def test_stamps_tell_changes_before_a_mark_from_those_after_it():
    stamps = RowStamps()
    stamps.touch(0)
    stamps.touch(1)
    first = stamps.mark()
    assert (stamps.stamps(2) <= first).all()
    stamps.touch(1)
    assert (stamps.stamps(2) > first).tolist() == [False, True]
    second = stamps.mark()
    assert second == first + 1
    stamps.touch_all(stamps.stamps(1) * 0)
    assert (stamps.stamps(2) > second).tolist() == [True, False]
    assert stamps.count == 4
    stamps.touch(200)
    assert len(stamps.stamps(201)) == 201
    assert (stamps.stamps(201) > second).nonzero()[0].tolist() == [0, 200]
