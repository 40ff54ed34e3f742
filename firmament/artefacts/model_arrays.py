"""What models saved themselves, as entries of ``problem.npz`` with a prefix that their models read: above all ledgers.

* ``ledger_reason``, ``ledger_model``: one text per ledger; the model is the one that reads it, "" where the ledger
  cannot be saved;
* ``ledger_N_...``: the arrays of ledger N, as its model names them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cost_models.api.arrays import Arrays, MalformedArraysError
from cost_models.interface import Ledger, ModelDeclarationError
from cost_models.registry import UnknownModelError
from cost_models.saved_ledgers import SavableLedger, restore_ledger
from firmament.artefacts.errors import MalformedEntryError, MissingModelError

T = TypeVar("T")


def encode_ledgers(ledgers: Sequence[Ledger]) -> dict[str, NDArray[Any]]:
    """Return the entries by name."""
    models = [ledger.model if isinstance(ledger, SavableLedger) else "" for ledger in ledgers]
    entries: dict[str, NDArray[Any]] = {
        "ledger_reason": np.array([ledger.reason for ledger in ledgers], dtype=np.str_),
        "ledger_model": np.array(models, dtype=np.str_),
    }
    for number, ledger in enumerate(ledgers):
        if isinstance(ledger, SavableLedger):
            entries |= {f"ledger_{number}_{name}": array for name, array in ledger.saved().items()}
    return entries


def decode_ledgers(arrays: Arrays, shapes: int, machines: int) -> tuple[Ledger, ...]:
    """Return ledgers that say what those said that ``encode_ledgers`` was given.

    Raises ``MissingModelError`` for one that was not or cannot be read, ``KeyError`` for a missing entry,
    ``MalformedEntryError`` for one that makes no sense.
    """
    reasons = [str(reason) for reason in arrays["ledger_reason"].ravel().tolist()]
    if not reasons:
        return ()
    models = arrays["ledger_model"].ravel().tolist() if "ledger_model" in arrays else [""] * len(reasons)
    if len(models) != len(reasons):
        raise MalformedEntryError("ledger_reason and ledger_model differ in length")
    found = []
    for number, (model, reason) in enumerate(zip(models, reasons, strict=True)):
        if not model:
            raise MissingModelError(
                f"the round counted with a model's ledger ({reason}), which no file holds; "
                "it cannot be run again, but its other files can be read"
            )
        restore = partial(restore_ledger, shapes=shapes, machines=machines)
        found.append(restored(arrays, f"ledger_{number}_", "counted with a ledger", str(model), restore))
    return tuple(found)


def restored(arrays: Arrays, prefix: str, what: str, model: str, restore: Callable[[str, Arrays], T]) -> T:
    """Return what ``restore`` makes of the entries with a prefix; ``what``: what the round did with it.

    Raises as ``decode_ledgers``.
    """
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    try:
        return restore(model, own)
    except KeyError as error:
        raise KeyError(f"{prefix}{error.args[0]}") from error
    except MalformedArraysError as error:
        raise MalformedEntryError(f"{prefix}{error}") from error
    except (UnknownModelError, ModelDeclarationError) as error:
        raise MissingModelError(
            f"the round {what} that {model!r} has to read: {error}; install what it ran with"
        ) from error
