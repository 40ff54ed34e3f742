"""Reads Azure's LLM inference traces (AzurePublicDataset, 2023 and 2024).

The files are CSV with the columns TIMESTAMP, ContextTokens and GeneratedTokens. A file contains the time and the
tokens of each request. A request becomes a task that runs as long as a usual server needs for its tokens, at the
assumed rates `CONTEXT_RATE` and `GENERATED_RATE`.
"""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from poseidon.simulate.scenario.document import Trace
from poseidon.simulate.workloads.columns import ALONE, Work, order_work
from poseidon.simulate.workloads.generator import template_of

CONTEXT_RATE = 4000.0
"""Tokens of context that the assumed server reads per second."""
GENERATED_RATE = 40.0
"""Tokens that the assumed server generates per second."""


def read_azure_llm(path: Path, part: Trace) -> tuple[Work, tuple[dict[str, Any], ...]]:
    """Return one task per request, of the kind that the trace states, and no nodes.

    Raises ``ValueError`` if the file is no trace of this format.
    """
    assert part.kind is not None  # The check of the document ensures that the kind is stated.
    arrival: list[float] = []
    duration: list[float] = []
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        missing = {"TIMESTAMP", "ContextTokens", "GeneratedTokens"}.difference(rows.fieldnames or ())
        if missing:
            raise ValueError(f"line 1: there is no column {', '.join(sorted(missing))}")
        for number, row in enumerate(rows, start=2):
            try:
                arrival.append(_parse_time(row["TIMESTAMP"]))
                context, generated = float(row["ContextTokens"]), float(row["GeneratedTokens"])
            except (TypeError, ValueError):
                raise ValueError(f"line {number} is not a time and two numbers") from None
            duration.append(context / CONTEXT_RATE + generated / GENERATED_RATE)
            if part.first is not None and len(arrival) >= part.first:
                break
    count = len(arrival)
    template = np.zeros(count, dtype=np.int64)
    gang = np.full(count, ALONE, dtype=np.int64)
    return order_work([template_of(part.kind)], np.array(arrival), np.array(duration), template, gang), ()


def _parse_time(text: str) -> float:
    """Return the seconds of a time with up to seven decimals, which these traces use."""
    whole, _, rest = text.strip().replace("T", " ").partition(".")
    digits = rest.split("+")[0].rstrip("Z")
    moment = datetime.strptime(whole, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    return moment.timestamp() + (float(f"0.{digits}") if digits else 0.0)
