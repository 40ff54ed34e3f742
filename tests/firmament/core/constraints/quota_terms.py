"""Quotas of a round in a few words, without records and rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from firmament.core.constraints.quota_terms import Draw, DrawGroup, QuotaTerms
from firmament.core.constraints.quota_tree import UNBOUNDED, QuotaTree

Row = Sequence[int | None]


def one_of(*flavors: int, amount: int = 1) -> DrawGroup:
    """A group of one resource: ``amount`` of it in one of the flavors, each of which is its own column."""
    return DrawGroup(flavors, tuple((each,) for each in flavors), (amount,))


def pose(
    nominal: Sequence[Row],
    draws: Sequence[Draw],
    *,
    parent: Sequence[int] | None = None,
    kind: Sequence[int] = (0,),
    covers: Sequence[Sequence[bool]] | None = None,
    borrowing: Sequence[Row] | None = None,
    lending: Sequence[Row] | None = None,
    limit: Sequence[Row] | None = None,
    own: Sequence[Row] | None = None,
    **more: Any,
) -> QuotaTerms:
    """Quotas q0, q1, ... of so much of each flavor (a column each); every shape takes the draw of its number."""
    nodes, columns = len(nominal), len(nominal[0])

    def table(given: Sequence[Row] | None, nothing: int) -> np.ndarray:
        rows = given or [[None] * columns] * nodes
        return np.array([[nothing if each is None else each for each in row] for row in rows], dtype=np.int64)

    tree = QuotaTree.build(
        np.array(parent or [-1] * nodes, dtype=np.int64),
        table(nominal, 0),
        table(lending, UNBOUNDED),
        table(borrowing, UNBOUNDED),
        table(limit, UNBOUNDED),
    )
    false = np.zeros(nodes, dtype=np.bool_)
    none = np.zeros(nodes, dtype=np.int64)
    terms = QuotaTerms(
        tree=tree,
        names=tuple(f"q{number}" for number in range(nodes)),
        columns=tuple((f"f{number}", "cpu") for number in range(columns)),
        flavor=np.arange(columns),
        resource=np.zeros(columns, dtype=np.int64),
        own=table(own, 0),
        weight=np.ones(nodes),
        fair=false,
        strict=false,
        within=none,
        reclaim=none,
        borrows=false,
        threshold=none,
        kind=np.array(kind, dtype=np.int64),
        covers=np.ones((max(kind) + 1, columns), dtype=np.bool_) if covers is None else np.array(covers),
        draws=tuple(draws),
        draw=np.arange(len(draws)),
    )
    return replace(terms, **more)
