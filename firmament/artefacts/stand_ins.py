"""What of a problem is no data by itself, and what saved rounds have in its place.

Ledgers and constraints between tasks are models' own: these save them as arrays, and read them again. A tree is the
paths of its leaves, and the solver of groups is taken for an `ExactSolver`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from numpy.typing import NDArray

from cost_models.api.array_codec import StandIn
from cost_models.api.arrays import MalformedArraysError
from cost_models.interface import Int64, Ledger, ModelDeclarationError
from cost_models.registry import UnknownModelError
from cost_models.saved_ledgers import SavableLedger, restore_ledger
from cost_models.task_constraints import restore_constraint
from firmament.artefacts.errors import MissingModelError
from firmament.core.rules.model_limits import ModelConstraint
from firmament.core.tree_solver.solver import Choice, ExactSolver
from firmament.core.tree_solver.tree import Tree, build_tree

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SavedLedger:
    """``model``: the one that reads the ``arrays``, "" where the ledger cannot be saved."""

    reason: str
    model: str
    arrays: Mapping[str, NDArray[Any]]

    @classmethod
    def of(cls, ledger: Ledger) -> SavedLedger:
        """Of any ledger."""
        if isinstance(ledger, SavableLedger):
            return cls(ledger.reason, ledger.model, ledger.saved())
        return cls(ledger.reason, "", {})


@dataclass(frozen=True, slots=True)
class SavedConstraint:
    """``kind``: int64[C], as in `ModelConstraint`."""

    model: str
    kind: Int64
    arrays: Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class SavedTree:
    """``paths``: of the leaves, a name per level; ``rows``: int64[L], their machines."""

    levels: tuple[str, ...]
    paths: tuple[tuple[str, ...], ...]
    rows: Int64


def _ledger(name: str, saved: SavedLedger, sizes: Mapping[str, int]) -> Ledger:
    if not saved.model:
        raise MissingModelError(
            f"the round counted with a model's ledger ({saved.reason}), which no file holds; "
            "it cannot be run again, but its other files can be read"
        )
    return _restored(
        name,
        "counted with a ledger",
        saved.model,
        lambda: restore_ledger(saved.model, saved.arrays, sizes["S"], sizes["M"]),
    )


def _constraint(name: str, saved: SavedConstraint, sizes: Mapping[str, int]) -> ModelConstraint:
    kinds = int(saved.kind.max(initial=-1)) + 1
    constraint = _restored(
        name,
        "has a constraint",
        saved.model,
        lambda: restore_constraint(saved.model, saved.arrays, kinds, sizes["M"]),
    )
    return ModelConstraint(saved.model, saved.kind, constraint)


def _restored(name: str, what: str, model: str, restore: Callable[[], T]) -> T:
    """What a model makes of its arrays; ``what``: what the round did with it.

    Raises ``KeyError`` for a missing array, ``MalformedArraysError`` for one that makes no sense, ``MissingModelError``
    if nobody reads them.
    """
    try:
        return restore()
    except KeyError as error:
        raise KeyError(f"{name}.{error.args[0]}") from error
    except MalformedArraysError as error:
        raise MalformedArraysError(f"{name}.{error}") from error
    except (UnknownModelError, ModelDeclarationError) as error:
        raise MissingModelError(
            f"the round {what} that {model!r} has to read: {error}; install what it ran with"
        ) from error


def _saved_tree(tree: Tree) -> SavedTree:
    last = len(tree.levels) - 1
    return SavedTree(tree.levels, tuple(tree.path(last, leaf) for leaf in range(tree.leaves)), tree.rows)


def _tree(name: str, saved: SavedTree, _: Mapping[str, int]) -> Tree:
    if len(set(saved.paths)) < len(saved.paths):
        raise MalformedArraysError(f"{name}.paths names a leaf twice")
    try:
        return build_tree(saved.levels, dict(zip(saved.paths, saved.rows.tolist(), strict=True)))
    except ValueError as error:
        raise MalformedArraysError(f"{name}: {error}") from error


STAND_INS: Mapping[Any, StandIn] = {
    Ledger: StandIn(SavedLedger, SavedLedger.of, _ledger),
    ModelConstraint: StandIn(
        SavedConstraint, lambda it: SavedConstraint(it.model, it.kind, it.constraint.saved()), _constraint
    ),
    Tree: StandIn(SavedTree, _saved_tree, _tree),
    ExactSolver: StandIn(Choice, lambda it: it.choice, lambda _, choice, __: ExactSolver(choice)),
}
"""By the type of what they stand for."""
