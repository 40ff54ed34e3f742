"""Writes and reads a placement problem and its placement as one ``.npz`` file.

The file's entry ``structure`` contains both as MessagePack, with references in place of arrays. The problem's own
arrays are entries under the names of its fields. All other arrays are in one pool for each type of elements, each
array once however often it occurs.

Ledgers and constraints belong to models, which turn them into arrays and back. Saved rounds do not decide evictions
again, so what only evictions read (``rooms_after_eviction``, ``held``, ``returned`` of joint rows) is left out. A
field that a problem does not state is null.

Nothing in the file is pickled, so reading a file from elsewhere runs no code that it contains.
"""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, get_args, get_origin

import msgspec
import numpy as np
from numpy.typing import NDArray

from cost_models.api.arrays import Arrays, MalformedArraysError
from cost_models.api.assessment import SavableLedger
from cost_models.interface import Ledger, ModelDeclarationError
from cost_models.registry import UnknownModelError, reader_of
from firmament.core.constraints.ruleset import RuleSet
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.rules.framework.limit_rule import LimitRule
from firmament.core.rules.registry import LIMIT_RULES
from firmament.saved_rounds import SavedRoundError
from firmament.saved_rounds.layouts import faults

FILE = "problem.npz"

_STRUCTURE = "structure"
_FAMILIES = {each.name: each.default for each in fields(PlacementProblem) if is_dataclass(each.default)}
"""For each field of a problem that may be absent, the value that stands for "absent"."""
_RULES: Mapping[str, LimitRule] = {rule.name: rule for rule in LIMIT_RULES}
_UNREADABLE = (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error, NotImplementedError)


class MissingModelError(Exception):
    """Data of a model was not saved, or no installed model can read it; the text says in one line what to do."""


@dataclass(frozen=True, slots=True)
class SavedByModel:
    """Arrays that a model has saved of its ledger or constraint.

    ``model``: the model's name, "" if nothing could be saved. ``sizes``: number of shapes or kinds, and of machines,
    of the problem. ``reason``: the ledger's reason.
    """

    model: str
    sizes: tuple[int, int]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Content:
    problem: PlacementProblem
    placed: Assignments


def encode_arrays(problem: PlacementProblem, placed: Assignments) -> bytes:
    """Return the content of ``problem.npz``; raise ``ValueError`` for a problem derived within a round."""
    if problem.most or problem.model_shape is not None:
        raise ValueError("a problem derived within a round cannot be saved; save the round's own")
    writer = _Writer(_Content(_storable(problem), placed))
    structure: NDArray[np.uint8] = np.frombuffer(writer.structure, dtype=np.uint8)
    entries: dict[str, Any] = {_STRUCTURE: structure, **writer.entries}
    content = io.BytesIO()
    np.savez_compressed(content, **entries)
    return content.getvalue()


def decode_arrays(content: bytes) -> tuple[PlacementProblem, Assignments]:
    """Return the problem and placement that ``encode_arrays`` wrote.

    Raise ``SavedRoundError`` for malformed content, and for data of models that cannot be read.
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            reader = _Reader({name: archive[name] for name in archive.files})
    except _UNREADABLE as error:
        raise SavedRoundError(f"{FILE}: not a readable .npz file; save the round again") from error
    try:
        read = reader.content()
    except KeyError as error:
        raise SavedRoundError(f"{FILE}: entry {error} is missing; save the round again") from error
    except msgspec.DecodeError as error:
        raise SavedRoundError(f"{FILE}: {error}; save the round again") from error
    except MissingModelError as error:
        raise SavedRoundError(f"{FILE}: {error}") from error
    for fault in faults(read.problem, read.placed):
        raise SavedRoundError(f"{FILE}: {fault}; save the round again")
    problem = read.problem
    expected = [(len(problem.requests), problem.machines)] * len(problem.ledgers)
    expected += _constraint_sizes(problem.rules, problem.machines)
    if reader.sizes != expected:
        raise SavedRoundError(f"{FILE}: a model saved something for another problem; save the round again")
    return problem, read.placed


def _storable(problem: PlacementProblem) -> PlacementProblem:
    """Return the problem as it is saved: without absent parts, with models' ledgers and constraints as arrays."""
    changes: dict[str, Any] = {
        name: None for name, nothing in _FAMILIES.items() if getattr(problem, name) is nothing
    }
    changes |= {"rooms_after_eviction": (), "held": None}
    changes["joint"] = tuple(replace(rows, returned=None) for rows in problem.joint)
    sizes = len(problem.requests), problem.machines
    changes["ledgers"] = tuple(
        SavedByModel(ledger.model, sizes, ledger.save(), ledger.reason)
        if isinstance(ledger, SavableLedger)
        else SavedByModel("", sizes, reason=ledger.reason)
        for ledger in problem.ledgers
    )
    if problem.rules.modelled:
        saved: list[Any] = [
            SavedByModel(each.model, size, each.constraint.save())
            for each, size in zip(
                problem.rules.modelled, _constraint_sizes(problem.rules, problem.machines), strict=True
            )
        ]
        pairs = zip(problem.rules.modelled, saved, strict=True)
        modelled = tuple(replace(each, constraint=constraint) for each, constraint in pairs)
        changes["rules"] = replace(problem.rules, modelled=modelled)
    return replace(problem, **changes)


def _constraint_sizes(rules: RuleSet, machines: int) -> list[tuple[int, int]]:
    return [(int(each.kind.max(initial=-1)) + 1, machines) for each in rules.modelled]


class _Writer:
    """Splits content into ``structure``, as MessagePack without arrays, and ``entries``, the arrays by name."""

    def __init__(self, content: _Content) -> None:
        problem = content.problem
        self._own = {id(getattr(problem, each.name)): each.name for each in fields(problem)}
        self._known: dict[tuple[str, tuple[int, ...], bytes], tuple[Any, ...]] = {}
        self._pools: defaultdict[str, list[NDArray[Any]]] = defaultdict(list)
        self._ends: Counter[str] = Counter()
        self.entries: dict[str, NDArray[Any]] = {}
        self.structure = msgspec.msgpack.encode(content, enc_hook=self._reference)
        self.entries |= {name: np.concatenate(pool) for name, pool in self._pools.items()}

    def _reference(self, value: object) -> Any:
        """Return the reference to an array: the name of its own entry, or name of a pool, offset there, and shape."""
        if isinstance(value, np.generic):
            return value.item()
        array = np.asarray(value)
        if id(value) in self._own:
            self.entries[self._own[id(value)]] = array
            return (self._own[id(value)],)
        name = f"pool {array.dtype.str}"
        key = name, array.shape, array.tobytes()
        if key not in self._known:
            self._known[key] = (name, self._ends[name], *array.shape)
            self._ends[name] += array.size
            self._pools[name].append(array.ravel())
        return self._known[key]


class _Reader:
    """Reads content from entries.

    ``sizes``: the sizes of the problems for which models saved arrays, in order of reading.
    """

    def __init__(self, entries: Arrays) -> None:
        self._entries = entries
        self.sizes: list[tuple[int, int]] = []

    def content(self) -> _Content:
        """Return the content that the entries describe.

        Raise ``KeyError``, ``MissingModelError``, or ``DecodeError`` if it is malformed.
        """
        structure = self._entries[_STRUCTURE].tobytes()
        raw = msgspec.msgpack.decode(structure)
        if isinstance(raw, dict) and isinstance(stated := raw.get("problem"), dict):
            for name in _FAMILIES:
                if name in stated and stated[name] is None:
                    del stated[name]
        return msgspec.convert(raw, _Content, dec_hook=self._value)

    def _value(self, kind: Any, given: Any) -> Any:
        """Return the array, ledger or constraint for which MessagePack has a reference or saved arrays."""
        if get_origin(kind) is np.ndarray:
            return self._array(kind, given)
        saved = msgspec.convert(given, SavedByModel, dec_hook=self._value)
        self.sizes.append(saved.sizes)
        if not saved.model:
            raise MissingModelError(
                f"the round counted with a model's ledger ({saved.reason}), which no file holds; "
                "it cannot be run again, but its other files can be read"
            )
        if kind is Ledger and saved.model in _RULES:
            return _restore_of_rule(_RULES[saved.model], saved)
        if kind is Ledger:
            return _restore("restore_ledger", "counted with a ledger", saved)
        return _restore("restore_constraint", "has a constraint", saved)

    def _array(self, kind: Any, reference: Any) -> NDArray[Any]:
        if not isinstance(reference, list):
            raise TypeError("this is no array")
        name, *place = reference
        array = self._entries[name]
        if place:
            first, *size = place
            array = array[first : first + math.prod(size)].reshape(size)
        (elements,) = get_args(get_args(kind)[1])
        if elements is not Any and array.dtype != elements:
            raise ValueError(f"{array.dtype} of the size {array.shape} is not {np.dtype(elements)}")
        return array


def _restore_of_rule(rule: LimitRule, saved: SavedByModel) -> Ledger:
    """Return the ledger that a rule of the solver makes of its arrays."""
    try:
        return rule.restore_ledger(saved.arrays, *saved.sizes)
    except KeyError as error:
        raise KeyError(f"{error.args[0]} of {saved.model}") from error
    except MalformedArraysError as error:
        raise MalformedArraysError(f"{saved.model}: {error}") from error


def _restore(reader: str, what: str, saved: SavedByModel) -> Any:
    """Return the value that a model's ``reader`` makes of its arrays.

    ``what``: how the round used the value, for errors.
    """
    try:
        return reader_of(saved.model, reader)(saved.arrays, *saved.sizes)
    except KeyError as error:
        raise KeyError(f"{error.args[0]} of {saved.model}") from error
    except MalformedArraysError as error:
        raise MalformedArraysError(f"{saved.model}: {error}") from error
    except (UnknownModelError, ModelDeclarationError) as error:
        raise MissingModelError(
            f"the round {what} that {saved.model!r} has to read: {error}; install what it ran with"
        ) from error
