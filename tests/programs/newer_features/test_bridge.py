"""The verdicts, as a bridge comes to them that lists the objects, and one that hears of them by and by."""

from __future__ import annotations

import json
from random import Random

import pytest

from poseidon.manifests.loader import load_manifests
from tests.programs.equivalence.api_side import objects_of
from tests.programs.equivalence.test_equivalence import OURS, faults
from tests.programs.newer_features.cases import CASES, as_ours


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_is_the_verdict_of_the_plan(tmp_path, case):
    path = tmp_path / "cluster.json"
    objects = [as_ours(each) for each in case.objects]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    manifests = load_manifests([str(path)])
    assert faults(manifests, objects_of(manifests), None, OURS, Random(1)) == []
