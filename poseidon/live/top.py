"""Draws the figures of a running bridge and its solver on a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from poseidon.live.figures import Figures
from protos.conventions.logs import one_line
from protos.conventions.number_formats import format_count

_WAITING: Mapping[str, str] = {
    "active": "for the next round",
    "unschedulable": "no node is right",
    "group": "for their group",
    "claims": "for their volumes",
    "priority_class": "for their priority class",
    "set_aside": "set aside",
    "leaving_room": "others must leave first",
}


def make_screen(found: Figures) -> RenderableType:
    """Return the screen: the state of both programs, waiting pods by what they wait for, and times."""
    return Group(_line(found), Text(), _waiting(found), Text(), _times(found))


def _line(found: Figures) -> Text:
    bridge = "leads" if found.leads else "stands by"
    solver = "refuses this bridge" if found.refused else "connected" if found.connected else "not connected"
    good = found.connected or not found.leads
    text = Text(f"{format_count(found.nodes, 'node')}   bridge {bridge}   solver ")
    text.append(solver, style="" if good else "bold red")
    text.append(f"   {found.bound:,.1f} pods bound per second, {found.bound_in_all:,} in all")
    if found.failures:
        text.append(f"   {format_count(found.failures, 'round')} failed", style="bold red")
    return text


def _waiting(found: Figures) -> Table:
    table = Table("PODS THAT WAIT", "", box=None, pad_edge=False)
    for queue, count in found.queues.items():
        table.add_row(Text(_WAITING.get(queue, one_line(queue))), f"{count:,}")
    table.add_row("being bound", f"{found.in_flight:,}")
    return table


def _times(found: Figures) -> Table:
    table = Table("TIME", "MEDIAN", "99 OF 100", box=None, pad_edge=False)
    for name, each in (
        ("from creation to binding", found.scheduling),
        ("until the solver answers", found.answer),
        ("a binding", found.binding),
    ):
        table.add_row(name, _time(each.median), _time(each.most))
    table.add_section()
    for stage, spent in found.stages.items():
        table.add_row(f"a round: {stage}", _time(spent), "")
    table.add_row("rounds per second", f"{found.rounds:,.2f}", "")
    table.add_row("arcs of the largest network", f"{found.arcs:,}", "")
    return table


def _time(seconds: float) -> str:
    if math.isnan(seconds):
        return "-"
    return f"{seconds * 1000:,.1f} ms" if seconds < 1 else f"{seconds:,.2f} s"
