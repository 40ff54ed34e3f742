"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.pictures.drawing:STEP": 84,
    "firmament.pictures.drawing:TOP": 96,
    "firmament.pictures.drawing:WIDTH": 760,
    "firmament.pictures.drawing:_CLASS_STRETCH": 1.5,
    "firmament.pictures.drawing:_MOST_COSTS": 4,
    "firmament.pictures.drawing:_NODE": (120, 34),
    "firmament.pictures.drawing:_SPOTS": (0.36, 0.68, 0.52),
    "firmament.pictures.drawing:_WIDEST": 176,
    "firmament.pictures.drawing:_node.width": 120,
    "firmament.pictures.example:GBIT": 1_000_000_000,
    "firmament.pictures.example:GIB": 1_073_741_824,
    "firmament.pictures.rounds:MOST_CLASSES": 8,
    "firmament.pictures.rounds:MOST_MACHINES": 30,
    "firmament.pictures.rounds:_LONGEST": 14,
    "firmament.pictures.svg:CHARACTER": 8,
    "firmament.pictures.svg:draw_line.width": 1,
    "firmament.pictures.svg:draw_text.plate": False,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
