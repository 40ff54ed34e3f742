"""A placement problem, and the placement that was found for it, as one ``.npz`` file.

Its entries are the columns of ``PlacementProblem`` and, under ``placed``, of ``Assignments``; `array_codec` says how
they are named, `stand_ins` what is there of models' ledgers and constraints, and of trees.

Evictions are not decided again, so what they alone look at (``openings``, ``held``, ``joint.returned``) is left out.
``most`` and ``model_shape`` are missing: only problems that are derived within a round have them.

Nothing in it is pickled, so that reading a file from elsewhere runs no code of its.
"""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from cost_models.api.array_codec import ArrayCodec, Layout
from cost_models.api.arrays import MalformedArraysError
from firmament.artefacts.errors import ArtefactError, MissingModelError
from firmament.artefacts.stand_ins import STAND_INS
from firmament.core.flow.problem import WAIT_BUCKETS, Assignments, PlacementProblem
from firmament.core.rules.ruleset import RuleSet

FILE = "problem.npz"

_COUNTER = Layout(least=0, end="rules.counters")
_AMOUNT = Layout(least=0)

_PROBLEM = ArrayCodec(
    PlacementProblem,
    {
        "counts": Layout("CW", 0),
        "priority": Layout("C", 0),
        "shape": Layout("C", 0, "S"),
        "requests": Layout("SK", 0),
        "feasible": Layout("SM"),
        "cost": Layout("SM"),
        "crowd": Layout("M", 0),
        "free": Layout("MK"),
        "pins.key": Layout(least=0, end="C"),
        "pins.value": Layout("*", 0, "M"),
        "joint.row_of": Layout("M", -1),
        "joint.amount": Layout("S", 0),
        "joint.limit": Layout("*"),
        "gang": Layout("*", -1, "gangs"),
        "gang_need": Layout("*"),
        "multiplicity": Layout("M", 1),
        "rules.counters.domain": Layout("M", -1),
        "rules.counters.start": Layout("*"),
        "rules.counters.settled": Layout("*"),
        "rules.of.key": Layout(least=0, end="C"),
        "rules.of.value.adds": _COUNTER,
        "rules.of.value.exclusions.counter": _COUNTER,
        "rules.of.value.attraction.counters": _COUNTER,
        "rules.of.value.spreadings.counter": _COUNTER,
        "rules.of.value.spreadings.key_domain": Layout("M", -1),
        "rules.of.value.spreadings.counted": Layout("*"),
        "rules.of.value.inclinations.counter": _COUNTER,
        "rules.of.value.soft_spreadings.counter": _COUNTER,
        "rules.of.value.soft_spreadings.key_domain": Layout("M", -1),
        "rules.unsettled.key.0": _COUNTER,
        "rules.unsettled.key.1": _AMOUNT,
        "rules.modelled.kind": Layout("C"),
        "pairs.kind": Layout("C", -1, "N"),
        "pairs.resident_kind": Layout("A", 0, "N"),
        "pairs.resident_machine": Layout("A", 0, "M"),
        "pairs.terms.domain": Layout("M", 0, "D"),
        "pairs.terms.cost": Layout("DD"),
        "pairs.terms.rating": Layout("DD"),
        "pairs.terms.group": Layout("N"),
        "pairs.terms.stage": Layout("N"),
        "pairs.terms.source": Layout("P", 0, "N"),
        "pairs.terms.target": Layout("P", 0, "N"),
        "pairs.terms.limit": Layout("P"),
        "pairs.terms.amount": Layout("P"),
        "pairs.terms.link": Layout("DD", -1, "R"),
        "pairs.terms.link_limit": Layout("R"),
        "topology.tree.rows": Layout("L", 0, "M"),
        "topology.groups.key": Layout(least=0, end="gangs"),
        "topology.groups.value.size": _AMOUNT,
        "topology.groups.value.rules.partitions": _AMOUNT,
        "topology.groups.value.rules.least": _AMOUNT,
        "topology.groups.value.rules.most": _AMOUNT,
        "topology.groups.value.rules.factor": _AMOUNT,
        "topology.groups.value.held": Layout("L", 0),
        "topology.groups.value.order": Layout("*", 0, "C"),
        "topology.position": Layout("M", 0),
        "topology.counted": Layout("*", 0, "K"),
        "heights.start": Layout("M", 0),
        "heights.rate": Layout("HM", 0),
        "heights.amount": Layout("SH", 0),
        "heights.growth": Layout("M", 0),
        "heights.charges.raw": Layout("SM"),
        "spread.group": Layout("C", -1, "G"),
        "spread.domain": Layout("M", 0),
        "spread.machine_step": Layout("G", 0),
        "spread.domain_step": Layout("G", 0),
        "spread.resident_group": Layout("B", 0, "G"),
        "spread.resident_machine": Layout("B", 0, "M"),
        "dual_prices.shape": Layout("E", 0, "S"),
        "dual_prices.price": Layout("E", -math.inf),
    },
    stand_ins=STAND_INS,
    left_out=frozenset({"openings", "held", "model_shape", "most", "joint.returned"}),
)
"""By letters: classes, shapes, machines, resources, and buckets of waiting tasks (W); others are named where they
occur: kinds (N), domains (D), leaves (L), groups (G)."""

_PLACED = ArrayCodec(
    Assignments,
    {
        "placed.cls": Layout("A", 0, "C"),
        "placed.machine": Layout("A", 0, "M"),
        "placed.count": Layout("A", 1),
    },
    name="placed",
)
_UNREADABLE = (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error, NotImplementedError)


def encode_arrays(problem: PlacementProblem, placed: Assignments) -> bytes:
    """Return the content of ``problem.npz``; raises ``ValueError`` for a problem derived within a round."""
    if problem.most or problem.model_shape is not None:
        raise ValueError("a problem derived within a round cannot be saved; save the round's own")
    content = io.BytesIO()
    columns: dict[str, Any] = _PROBLEM.encode(problem) | _PLACED.encode(placed)
    np.savez_compressed(content, **columns)
    return content.getvalue()


def decode_arrays(content: bytes) -> tuple[PlacementProblem, Assignments]:
    """Return what ``encode_arrays`` was given.

    Raises ``ArtefactError`` for anything that cannot have been that, and for what models saved and cannot be read.
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            columns = {name: archive[name] for name in archive.files}
    except _UNREADABLE as error:
        raise ArtefactError(f"{FILE}: is no readable .npz file; save the round again") from error
    try:
        gangs = columns["gang_need"].size
        problem = _PROBLEM.decode(columns, W=WAIT_BUCKETS, gangs=gangs)
        placed = _PLACED.decode(columns, C=problem.classes, M=problem.machines)
    except KeyError as error:
        raise ArtefactError(f"{FILE}: entry {error} is missing; save the round again") from error
    except MalformedArraysError as error:
        raise ArtefactError(f"{FILE}: {error}; save the round again") from error
    except MissingModelError as error:
        raise ArtefactError(f"{FILE}: {error}") from error
    for fault in _faults(problem):
        raise ArtefactError(f"{FILE}: {fault}; save the round again")
    return problem, placed


def _faults(problem: PlacementProblem) -> Iterator[str]:
    """Yield what does not match although each column has a size and numbers as it should."""
    if (len(problem.gang) or len(problem.gang_need)) and problem.gang.shape != (problem.classes,):
        yield f"gang has the size {problem.gang.shape}, not {(problem.classes,)}"
    for number, rows in enumerate(problem.joint):
        if (rows.row_of >= len(rows.limit)).any():
            yield f"joint[{number}].row_of holds numbers out of range"
    if problem.rules is not None:
        yield from _rule_faults(problem.rules)
    if problem.pairs is not None and len(problem.pairs.terms.names) != problem.pairs.terms.kinds:
        yield f"pairs.terms.names has {len(problem.pairs.terms.names)} texts, not {problem.pairs.terms.kinds}"
    if problem.topology is not None:
        levels = len(problem.topology.tree.levels)
        if any(len(group.rules) != levels for group in problem.topology.groups.values()):
            yield f"topology.groups has rules for other levels than {levels}"
        if (problem.topology.position > problem.topology.tree.leaves).any():
            yield "topology.position holds numbers out of range"
    for charge in () if problem.heights is None else problem.heights.charges:
        if charge.raw.dtype.kind not in "iuf":
            yield f"heights.charges.raw is {charge.raw.dtype} of the size {charge.raw.shape}"
    if problem.dual_prices is not None and (np.diff(problem.dual_prices.shape) <= 0).any():
        yield "dual_prices.shape holds numbers out of order"


def _rule_faults(rules: RuleSet) -> Iterator[str]:
    """Yield which rules speak of more domains than their counters count."""
    sizes = [len(each.start) for each in rules.counters]
    for counter in rules.counters:
        if counter.domain.max(initial=-1) >= len(counter.start):
            yield "rules.counters.domain names more domains than rules.counters.start counts"
        if len(counter.settled) != len(counter.start):
            yield "rules.counters.start and rules.counters.settled differ in length"
    for own in rules.of.values():
        named = [(each.counter, each.key_domain) for each in own.spreadings]
        named += [(each.counter, each.key_domain) for each in own.soft_spreadings]
        if any(domain.max(initial=-1) >= sizes[number] for number, domain in named):
            yield "rules.of.value: key_domain names more domains than its counter counts"
        if any(len(each.counted) != sizes[each.counter] for each in own.spreadings):
            yield "rules.of.value.spreadings.counted differs in length from what its counter counts"
    if any(where >= sizes[counter] for counter, where in rules.unsettled):
        yield "rules.unsettled.key.1 holds numbers out of range"
