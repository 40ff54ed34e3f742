"""Reads from pod annotations where the input of tasks lies, as sparse arrays over racks and machines.

The annotation ``firmament.io/inputs`` holds a JSON list of blocks, such as

    [{"bytes": 1073741824, "machine": "node-7"}, {"bytes": 536870912, "machine": ["node-1", "node-9"]},
     {"bytes": 1048576, "rack": "r2"}]

A block states its size in bytes, and which machines or racks hold a copy of it, as a name or a list of names. A block
counts once per machine and once per rack, however many copies these hold. A name that the scheduler does not know
holds nothing, but the block still counts as input.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cost_models.api.parsed_records import BadRecordError, check_whole
from cost_models.interface import Float64, Int64, MachineColumns, ShapeRow

ANNOTATION = "firmament.io/inputs"
MOST_BYTES = 2**60
"""A block of at least this size counts as a mistake; sums of many smaller blocks stay exact enough in a float64."""


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a task's input: its size, and the names of the machines and racks that hold it."""

    size: int
    machines: tuple[str, ...] = ()
    racks: tuple[str, ...] = ()


def parse_blocks(text: str) -> tuple[Block, ...]:
    """Return the blocks that the annotation names; raises ``BadRecordError``."""
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadRecordError("is not valid JSON") from error
    if not isinstance(entries, list):
        raise BadRecordError("is not a JSON list")
    return tuple(_block(index, entry) for index, entry in enumerate(entries))


def _block(index: int, entry: Any) -> Block:
    if not isinstance(entry, dict):
        raise BadRecordError(f"[{index}] is not an object")
    unknown = sorted(set(entry) - {"bytes", "machine", "rack"})
    if unknown:
        raise BadRecordError(f"[{index}] has the unknown key {unknown[0][:40]!r}")
    size = check_whole(f"[{index}].bytes", entry.get("bytes"), 0, MOST_BYTES)
    block = Block(size, _names(index, entry, "machine"), _names(index, entry, "rack"))
    if not block.machines and not block.racks:
        raise BadRecordError(f"[{index}] names neither machine nor rack")
    return block


def _names(index: int, entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = entry.get(key, [])
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise BadRecordError(f"[{index}].{key} is neither a name nor a list of names")
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True, slots=True)
class Racks:
    """The racks of a round's machines.

    ``by_machine``: int64[M], the rack of each machine; ``size``: int64[racks], the number of machines in each rack.

    ``order``: machine rows by rack; those of rack ``r`` are ``order[start[r] : start[r] + size[r]]``. ``row``: rack by
    name. A machine without a rack label has a rack of its own, without a name.
    """

    by_machine: Int64
    size: Int64
    start: Int64
    order: Int64
    row: Mapping[str | int, int]

    @property
    def count(self) -> int:
        """Number of racks."""
        return len(self.size)

    @classmethod
    def build(cls, machines: MachineColumns, labels: Sequence[str]) -> Racks:
        """Return the racks that machines' labels name; of several ``labels`` on a machine the first counts."""
        row: dict[str | int, int] = {}  # Machines without a rack label count as racks of their own.
        names = (
            next((given[label] for label in labels if given.get(label)), "") for given in machines.labels
        )
        of = np.array([row.setdefault(name or at, len(row)) for at, name in enumerate(names)], dtype=np.int64)
        size = np.bincount(of, minlength=len(row)).astype(np.int64)
        return cls(of, size, np.cumsum(size) - size, np.argsort(of, kind="stable"), row)


@dataclass(frozen=True, slots=True)
class Located:
    """The input of one shape: ``total`` bytes, of which ``machine_bytes[i]`` lie on machine row ``machine[i]`` and
    ``rack_bytes[j]`` in rack ``rack[j]``; rows ascend, and each occurs once.
    """

    total: float
    machine: Int64
    machine_bytes: Float64
    rack: Int64
    rack_bytes: Float64


def locate(blocks: Sequence[Block], row_of: Mapping[str, int], racks: Racks) -> Located:
    """Find the machines and racks of a shape's blocks; ``row_of``: machine row by name."""
    on_machine: dict[int, float] = {}
    in_rack: dict[int, float] = {}
    for block in blocks:
        rows = [row_of[name] for name in block.machines if name in row_of]
        holding = {int(racks.by_machine[row]) for row in rows}
        holding.update(racks.row[name] for name in block.racks if name in racks.row)
        for row in rows:
            on_machine[row] = on_machine.get(row, 0.0) + block.size
        for rack in holding:
            in_rack[rack] = in_rack.get(rack, 0.0) + block.size
    return Located(float(sum(block.size for block in blocks)), *_columns(on_machine), *_columns(in_rack))


def _columns(amounts: Mapping[int, float]) -> tuple[Int64, Float64]:
    rows = sorted(amounts)
    return np.array(rows, dtype=np.int64), np.array([amounts[row] for row in rows], dtype=np.float64)


def blocks_of(row: ShapeRow) -> tuple[tuple[Block, ...], str]:
    """Return the blocks of a shape, and a note on what is wrong with its annotation, or "".

    A bad annotation gives no blocks.
    """
    text = row.annotations.get(ANNOTATION)
    if text is None:
        return (), ""
    try:
        return parse_blocks(text), ""
    except BadRecordError as error:
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        where = f" in namespace {row.namespace}" if row.namespace else ""
        return (
            (),
            f"pods{where} with annotation {ANNOTATION}={shown!r}: {error}; they count as having no input",
        )
