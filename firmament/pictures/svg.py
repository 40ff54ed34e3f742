"""Writes simple SVG: shapes with integer coordinates, text, and a document for light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

INK = "#1f2328"
PALE = "#8c959f"
FLOW = "#0969da"
LOST = "#cf222e"
PAPER = "#ffffff"
_ON_DARK = {INK: "#e6edf3", FLOW: "#58a6ff", LOST: "#ff7b72", PAPER: "#0d1117"}
_DARK = " ".join(
    f'[{of}="{light}"] {{ {of}: {dark} }}' for light, dark in _ON_DARK.items() for of in ("fill", "stroke")
)
"""Rules of a style sheet that replace colours on dark pages."""
CHARACTER = 8
"""Approximate width of a label's character, in pixels."""


def make_document(width: int, height: int, title: str, body: Iterable[str]) -> str:
    """Return an SVG document with a white background, or with a dark one for readers who prefer dark pages.

    ``title``: text for readers who cannot see the picture.
    """
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif" font-size="13" role="img">'
    )
    style = f"<style>@media (prefers-color-scheme: dark) {{ {_DARK} }}</style>"
    ground = f'<rect width="{width}" height="{height}" fill="{PAPER}"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", style, ground, *body, "</svg>", ""])


def draw_line(start: tuple[int, int], end: tuple[int, int], *, colour: str, width: float = 1) -> str:
    """Return a straight line as SVG."""
    return (
        f'<line x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}" '
        f'stroke="{colour}" stroke-width="{width:g}"/>'
    )


def draw_box(centre: tuple[int, int], size: tuple[int, int], *, colour: str = INK) -> str:
    """Return a rectangle with rounded corners as SVG."""
    x, y = centre[0] - size[0] // 2, centre[1] - size[1] // 2
    return (
        f'<rect x="{x}" y="{y}" width="{size[0]}" height="{size[1]}" rx="4" '
        f'fill="{PAPER}" stroke="{colour}"/>'
    )


def draw_text(
    at: tuple[int, int], content: str, *, colour: str = INK, anchor: str = "middle", plate: bool = False
) -> str:
    """Return a line of text as SVG, vertically centred at ``at``; ``plate``: hide lines behind the text."""
    width = CHARACTER * len(content)
    behind = (
        f'<rect x="{at[0] - width // 2}" y="{at[1] - 8}" width="{width}" height="16" fill="{PAPER}"/>'
        if plate
        else ""
    )
    return (
        f'{behind}<text x="{at[0]}" y="{at[1] + 4}" text-anchor={quoteattr(anchor)} fill="{colour}">'
        f"{escape(content)}</text>"
    )
