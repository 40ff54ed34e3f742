"""Plans over manifests, beside the same manifests in the words of the differential tests' world."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.judge.random_cluster.generation import random_cluster
from benchmarks.judge.random_cluster.objects import NAMESPACES, OURS, Object, make_object
from firmament.core.results import Delta, DeltaKind
from poseidon.embedding import load_configuration
from poseidon.manifests.loader import load_manifests
from poseidon.offline.plan import Plan, make_plan
from tests.programs.differential.drive import Outcome, check
from tests.programs.differential.manifests import case_of
from tests.programs.differential.world import Case


@dataclass(frozen=True)
class Planned:
    """A cluster, what the plan does to it, and its bindings in the order of their admission."""

    case: Case
    plan: Plan
    placed: tuple[Delta, ...]

    def checked(self, placed: Sequence[Delta] | None = None) -> Outcome:
        """The checker's word on the bindings, or on others instead."""
        return check(self.case.cluster, self.case.waiting, self.placed if placed is None else placed)


def planned(seed: int, folder: Path) -> Planned:
    """The random cluster of a seed."""
    return planned_objects(random_cluster(seed).objects(), folder, seed)


def planned_objects(objects: Sequence[Object], folder: Path, seed: int = 0) -> Planned:
    """A cluster of these objects, and the judge's namespaces."""
    # As an API server shows them: what it has not bound to volumes, no offline command binds.
    everything = [_as_read(each) for each in (*_namespaces(), *objects)]
    path = folder / f"{seed}.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": everything}), encoding="utf-8")
    plan = make_plan(load_manifests([str(path)]), load_configuration(None), 0.0, frozenset({OURS}))
    nodes = {each.pod: each.node for each in plan.bindings}
    placed = tuple(Delta(DeltaKind.PLACE, pod, nodes[pod]) for pod in plan.admitted)
    return Planned(case_of(seed, everything), plan, placed)


def _as_read(each: Object) -> Object:
    return {**each, "metadata": {**each["metadata"], "resourceVersion": "1"}}


def _namespaces() -> list[Object]:
    made = [make_object("Namespace", name) for name in NAMESPACES]
    for each in made:
        each["metadata"]["labels"] = NAMESPACES[each["metadata"]["name"]]
    return made
