"""Ledgers as plain arrays and back, so that a round that counted with one can be run again.

A ledger that can be saved names the model that can read it, by its entry point. The class behind that entry point has
a static method ``restore_ledger``. Ledgers that offer nothing of this are as good in a round, but such a round cannot
be run again.
"""

from __future__ import annotations

from typing import ClassVar, Protocol, runtime_checkable

from cost_models.api.arrays import Arrays, MalformedArraysError
from cost_models.api.assessment import Ledger
from cost_models.registry import reader_of


class MalformedLedgerError(MalformedArraysError):
    """Arrays that no ledger can have been saved as."""


@runtime_checkable
class SavableLedger(Ledger, Protocol):
    """A ledger with its content as arrays. ``model``: name of the entry point that reads them."""

    model: ClassVar[str]

    def saved(self) -> Arrays:
        """What the ledger says now, as arrays of numbers, truth values or text: no objects."""
        ...


def restore_ledger(model: str, arrays: Arrays, shapes: int, machines: int) -> Ledger:
    """Return a ledger that says what the saved one said, for a problem of so many shapes and machines.

    Raises ``UnknownModelError`` if no such model is installed or it saves no ledgers, ``KeyError`` for a missing array,
    ``MalformedLedgerError`` for one that makes no sense.
    """
    restored: Ledger = reader_of(model, "restore_ledger")(arrays, shapes, machines)
    return restored
