"""A placement problem, and the placement that was found for it, as one ``.npz`` file.

Entries are named like the fields of ``PlacementProblem``; what is no plain array is taken apart:

* ``pins_class``, ``pins_first``, ``pins_machine``: the rows of class ``pins_class[i]`` are
  ``pins_machine[pins_first[i]:pins_first[i + 1]]``;
* ``joint_reason``, and per block of joint rows ``joint_N_row_of``, ``joint_N_amount``, ``joint_N_limit``;
* ``placed_cls``, ``placed_machine``, ``placed_count``: the assignments;
* ``ledger_...``, ``rules_...``, ``groups_...``: see ``model_arrays``, ``rule_arrays`` and ``group_arrays``;
  ``spread_...``, ``heights_...``, ``worths_...`` and ``pairs_...``: see ``term_arrays``.

Evictions are not decided again, so what they alone look at (``openings``, ``held``) is left out. ``most`` and
``model_shape`` are missing: only problems that are derived within a round have them.

Nothing in it is pickled, so that reading a file from elsewhere runs no code of its.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Int64, JointRows
from firmament.artefacts.errors import ArtefactError, MalformedEntryError, MissingModelError
from firmament.artefacts.group_arrays import decode_groups, encode_groups
from firmament.artefacts.model_arrays import decode_ledgers, encode_ledgers
from firmament.artefacts.rule_arrays import decode_rules, encode_rules
from firmament.artefacts.term_arrays import decode_terms, encode_terms
from firmament.core.flow.problem import WAIT_BUCKETS, Assignments, PlacementProblem

FILE = "problem.npz"

Arrays = Mapping[str, NDArray[Any]]

_PLAIN = ("counts", "priority", "shape", "requests", "feasible", "cost", "crowd", "free", "gang", "gang_need")
_KINDS = {"feasible": np.bool_, "cost": np.int32}
_UNREADABLE = (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error, NotImplementedError)


def encode_arrays(problem: PlacementProblem, placed: Assignments) -> bytes:
    """Return the content of ``problem.npz``; raises ``ValueError`` for a problem derived within a round."""
    if problem.most or problem.model_shape is not None:
        raise ValueError("a problem derived within a round cannot be saved; save the round's own")
    pinned = sorted(problem.pins)
    arrays: dict[str, Any] = {name: getattr(problem, name) for name in _PLAIN}
    arrays |= {
        "rotation": np.int64(problem.rotation),
        "pins_class": np.array(pinned, dtype=np.int64),
        "pins_first": np.cumsum([0, *(len(problem.pins[cls]) for cls in pinned)], dtype=np.int64),
        "pins_machine": np.concatenate([np.empty(0, np.int64), *(problem.pins[cls] for cls in pinned)]),
        "joint_reason": np.array([rows.reason for rows in problem.joint], dtype=np.str_),
        "placed_cls": placed.cls,
        "placed_machine": placed.machine,
        "placed_count": placed.count,
        **encode_ledgers(problem.ledgers),
        **encode_terms(problem),
    }
    if problem.multiplicity is not None:
        arrays["multiplicity"] = problem.multiplicity
    for number, rows in enumerate(problem.joint):
        arrays |= {
            f"joint_{number}_row_of": rows.row_of,
            f"joint_{number}_amount": rows.amount,
            f"joint_{number}_limit": rows.limit,
        }
    if problem.rules is not None:
        arrays |= encode_rules(problem.rules, problem.machines)
    if problem.topology is not None:
        arrays |= encode_groups(problem.topology)
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()


def decode_arrays(content: bytes) -> tuple[PlacementProblem, Assignments]:
    """Return what ``encode_arrays`` was given.

    Raises ``ArtefactError`` for anything that cannot have been that, and for a ledger that cannot be read.
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except _UNREADABLE as error:
        raise ArtefactError(f"{FILE}: is no readable .npz file; save the round again") from error
    try:
        problem, placed = _problem(arrays), _placed(arrays)
    except KeyError as error:
        raise ArtefactError(f"{FILE}: entry {error} is missing; save the round again") from error
    except MalformedEntryError as error:
        raise ArtefactError(f"{FILE}: {error}; save the round again") from error
    except MissingModelError as error:
        raise ArtefactError(f"{FILE}: {error}") from error
    for fault in (*_shape_faults(problem), *_index_faults(problem, placed)):
        raise ArtefactError(f"{FILE}: {fault}; save the round again")
    return problem, placed


def _problem(arrays: Arrays) -> PlacementProblem:
    firsts, machines = _numbers(arrays, "pins_first"), _numbers(arrays, "pins_machine")
    pinned = _numbers(arrays, "pins_class")
    if len(firsts) != len(pinned) + 1 or firsts[-1] != len(machines) or (np.diff(firsts) < 0).any():
        raise ArtefactError(f"{FILE}: pins_first does not divide pins_machine; save the round again")
    rows = np.split(machines, firsts[1:-1]) if len(pinned) else []
    joint = tuple(
        JointRows(
            row_of=_numbers(arrays, f"joint_{number}_row_of"),
            amount=_numbers(arrays, f"joint_{number}_amount"),
            limit=_numbers(arrays, f"joint_{number}_limit"),
            reason=str(reason),
        )
        for number, reason in enumerate(arrays["joint_reason"].ravel().tolist())
    )
    plain = {name: _plain(arrays, name) for name in _PLAIN}
    return PlacementProblem(
        **plain,
        rotation=int(_array(arrays, "rotation", np.int64, 0)),
        pins=dict(zip(pinned.tolist(), rows, strict=True)),
        joint=joint,
        ledgers=decode_ledgers(arrays, len(plain["requests"]), len(plain["free"])),
        rules=decode_rules(arrays, len(plain["shape"]), len(plain["free"])),
        topology=decode_groups(arrays, plain["gang"], *plain["free"].shape),
        multiplicity=_numbers(arrays, "multiplicity") if "multiplicity" in arrays else None,
        **decode_terms(arrays, len(plain["shape"]), len(plain["requests"]), len(plain["free"])),
    )


def _placed(arrays: Arrays) -> Assignments:
    return Assignments(*(_numbers(arrays, f"placed_{part}") for part in ("cls", "machine", "count")))


def _plain(arrays: Arrays, name: str) -> Any:
    dimensions = 2 if name in {"counts", "requests", "feasible", "cost", "free"} else 1
    return _array(arrays, name, _KINDS.get(name, np.int64), dimensions)


def _numbers(arrays: Arrays, name: str) -> Int64:
    return _array(arrays, name, np.int64, 1)


def _array(arrays: Arrays, name: str, kind: Any, dimensions: int) -> Any:
    """Return the entry; raises ``KeyError`` if there is none, ``ArtefactError`` if it is of another kind."""
    array = arrays[name]
    if array.dtype != kind or array.ndim != dimensions:
        raise ArtefactError(
            f"{FILE}: {name} is {array.dtype} with {array.ndim} dimensions, not {np.dtype(kind)} with {dimensions}; "
            "save the round again"
        )
    return array


def _shape_faults(problem: PlacementProblem) -> Iterator[str]:
    """Yield what does not match in the sizes of a problem's arrays."""
    classes, machines = len(problem.shape), problem.free.shape[0]
    shapes, resources = problem.requests.shape
    expected: dict[str, tuple[int, ...]] = {
        "counts": (classes, WAIT_BUCKETS),
        "priority": (classes,),
        "feasible": (shapes, machines),
        "cost": (shapes, machines),
        "crowd": (machines,),
        "free": (machines, resources),
    }
    if len(problem.gang_need) or len(problem.gang):
        expected["gang"] = (classes,)
    for name, size in expected.items():
        found = getattr(problem, name).shape
        if found != size:
            yield f"{name} has the size {found}, not {size}"
    if problem.multiplicity is not None and problem.multiplicity.shape != (machines,):
        yield f"multiplicity has the size {problem.multiplicity.shape}, not {(machines,)}"
    for number, rows in enumerate(problem.joint):
        if rows.row_of.shape != (machines,) or rows.amount.shape != (shapes,):
            yield f"joint_{number} does not match {machines} machines and {shapes} shapes"


def _index_faults(problem: PlacementProblem, placed: Assignments) -> Iterator[str]:
    """Yield which numbers point nowhere, or are negative where a count is meant. Sizes match by now."""
    classes, machines = problem.classes, problem.machines
    checks: list[tuple[str, Int64, int, int | None]] = [
        ("counts", problem.counts.ravel(), 0, None),
        ("priority", problem.priority, 0, None),
        ("requests", problem.requests.ravel(), 0, None),
        ("crowd", problem.crowd, 0, None),
        ("gang", problem.gang, -1, len(problem.gang_need)),
        ("shape", problem.shape, 0, problem.requests.shape[0]),
        ("pins_class", np.array(list(problem.pins), dtype=np.int64), 0, classes),
        ("placed_cls", placed.cls, 0, classes),
        ("placed_machine", placed.machine, 0, machines),
        ("placed_count", placed.count, 1, None),
    ]
    checks += [("pins_machine", rows, 0, machines) for rows in problem.pins.values()]
    if problem.multiplicity is not None:
        checks.append(("multiplicity", problem.multiplicity, 1, None))
    for number, rows in enumerate(problem.joint):
        checks.append((f"joint_{number}_row_of", rows.row_of, -1, len(rows.limit)))
        checks.append((f"joint_{number}_amount", rows.amount, 0, None))
    for name, values, least, end in checks:
        if (values < least).any() or (end is not None and (values >= end).any()):
            yield f"{name} holds numbers out of range"
    if not len(placed.cls) == len(placed.machine) == len(placed.count):
        yield "placed_cls, placed_machine and placed_count differ in length"
