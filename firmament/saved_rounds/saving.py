"""Writes a round as a set of named files, and reads such files back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.results import RoundResult
from firmament.core.rounds import Placement
from firmament.core.snapshot.snapshot import Snapshot
from firmament.saved_rounds import SavedRoundError, breakdown, description, saved_arrays
from firmament.saved_rounds.description import Description, ModelUse, SavedClass
from firmament.saved_rounds.networks import encode_network

DELTAS = "deltas.json"
NEEDED = (description.FILE, saved_arrays.FILE)
"""Files without which a round cannot be run again; the other files are for people and tools."""


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """A finished round: its snapshot, its placement and its result."""

    cluster: str
    snapshot: Snapshot
    placement: Placement
    result: RoundResult


@dataclass(frozen=True, slots=True)
class SavedRound:
    """A saved round: the data to solve it again, and its result."""

    description: Description
    problem: PlacementProblem
    placed: Assignments


def encode_round(record: RoundRecord, versions: Mapping[str, str]) -> dict[str, bytes]:
    """Return the files of a round by name. ``versions``: versions of packages that may affect a result."""
    snapshot, placement = record.snapshot, record.placement
    files = {
        description.FILE: description.encode_description(_describe(record, versions)),
        saved_arrays.FILE: saved_arrays.encode_arrays(snapshot.problem, placement.assignments),
        breakdown.FILE: breakdown.encode_breakdown(
            snapshot, placement.assignments, snapshot.configuration.models
        ),
        DELTAS: _deltas(record.result),
    }
    if placement.first is not None:
        first = placement.first
        files |= encode_network(first.outcome, first.alike, first.classes, snapshot.machine_names)
    return files


def decode_round(files: Mapping[str, bytes]) -> SavedRound:
    """Return the round that ``encode_round`` wrote; raise ``SavedRoundError`` if it cannot be read.

    Only the files in ``NEEDED`` must be present.
    """
    described = description.read_description(files)
    if saved_arrays.FILE not in files:
        raise SavedRoundError(f"{saved_arrays.FILE} is missing; save the round again")
    problem, placed = saved_arrays.decode_arrays(files[saved_arrays.FILE])
    counted = (len(described.machines), len(described.resources), len(described.classes))
    if counted != (problem.machines, problem.requests.shape[1], problem.classes):
        raise SavedRoundError(
            f"{description.FILE} names other machines, resources or classes than {saved_arrays.FILE} holds; "
            "keep the files of a round together"
        )
    return SavedRound(described, problem, placed)


def _describe(record: RoundRecord, versions: Mapping[str, str]) -> Description:
    snapshot, first = record.snapshot, record.placement.first
    problem, batch = snapshot.problem, snapshot.assessed.batch
    resources = tuple(snapshot.assessed.machines.resources)
    classes = []
    counts = problem.counts.sum(axis=1).tolist()
    for shape, tasks, example in zip(problem.shape.tolist(), counts, snapshot.examples, strict=True):
        seen = batch.rows[shape]
        amounts = zip(resources, problem.requests[shape].tolist(), strict=True)
        classes.append(
            SavedClass(
                tasks=tasks,
                shape=shape,
                namespace=seen.namespace,
                labels=dict(seen.labels),
                annotations=dict(seen.annotations),
                requests={resource: amount for resource, amount in amounts if amount},
                example=example,
            )
        )
    return Description(
        cluster=record.cluster,
        round=record.result.round,
        machines=snapshot.machine_names,
        resources=resources,
        classes=tuple(classes),
        models=tuple(ModelUse(each.model.name, each.weight) for each in snapshot.configuration.models),
        options=snapshot.configuration.options.passes,
        stats=record.result.stats,
        bound=None if first is None else first.outcome.bound,
        versions=dict(versions),
    )


def _deltas(result: RoundResult) -> bytes:
    """Return the content of ``deltas.json``: the deltas that the driver got, in order."""
    document = {
        "deltas": [{**delta._asdict(), "kind": delta.kind.value} for delta in result.deltas],
        "unscheduled": [asdict(group) for group in result.unscheduled],
    }
    return (json.dumps(document) + "\n").encode()
