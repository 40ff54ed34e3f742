"""Draw a terminal in which two commands answer, as an animated SVG: the picture of the README.

``python docs/pictures/animate.py FILE``, in the repository's root. What is shown is what the commands print, with long
lines wrapped; where motion is not wanted, the last answer stands still.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from click.testing import CliRunner

from poseidon.cli import main as poseidon

EXAMPLE = "examples/14-pending-pod"
COLUMNS = 104
LINE, CHARACTER, MARGIN, TOP = 17, 7.25, 18, 46
TYPING, READING, PAUSE = 1.6, 0.05, 6.0
"""Seconds: of typing a command, between lines of an answer, and for reading it."""
GROUND, INK, PROMPT, CURE, WAITS = "#0d1117", "#c9d1d9", "#7ee787", "#79c0ff", "#ffa657"


@dataclass(frozen=True, slots=True)
class Scene:
    """A command as it is typed, and the lines of its answer; ``begin`` and ``end`` in seconds."""

    command: str
    lines: tuple[str, ...]
    begin: float

    @property
    def answered(self) -> float:
        """When the first line of the answer is there."""
        return self.begin + TYPING

    @property
    def end(self) -> float:
        """When the next scene begins."""
        return self.answered + READING * len(self.lines) + PAUSE


def main(target: Path) -> None:
    """Write the picture."""
    target.write_text(draw(list(scenes())), encoding="utf-8")


def scenes() -> Iterator[Scene]:
    """Yield what is shown, one after the other."""
    first = Scene("poseidon plan -f cluster.yaml", tuple(_answer("plan")), 0.4)
    yield first
    answer = _answer("explain", "--pod", "shop/checkout-5")
    shown = [*answer[: answer.index("")], "", *_until_blank(answer[answer.index("") + 1 :])]
    cures = answer[len(answer) - 1 - answer[::-1].index("") + 1 :]
    yield Scene(
        "poseidon explain -f cluster.yaml --pod shop/checkout-5", (*shown, "", *cures[:6], "..."), first.end
    )


def _answer(command: str, *more: str) -> list[str]:
    """Return what a command prints of the example, wrapped; it takes the same time on every machine."""
    done = CliRunner().invoke(poseidon, [command, "-f", EXAMPLE, *more], catch_exceptions=False)
    lines = re.sub(r"\d+ ms", "9 ms", done.stdout).splitlines()
    return [part for line in lines for part in _wrap(line)]


def _wrap(line: str) -> list[str]:
    if len(line) <= COLUMNS:
        return [line]
    indent = "    " if line.startswith("    ") else ""
    if indent:
        return [f"{line[: COLUMNS - 1]}…"]
    return textwrap.wrap(line, COLUMNS, break_long_words=True)


def _until_blank(lines: list[str]) -> list[str]:
    return lines[: lines.index("")] if "" in lines else lines


def draw(shown: list[Scene]) -> str:
    """Return the picture."""
    total = shown[-1].end
    rows = max(len(each.lines) for each in shown) + 1
    width, height = round(MARGIN * 2 + COLUMNS * CHARACTER), TOP + LINE * rows + 8
    rules: list[str] = []
    body: list[str] = []
    for scene in shown:
        for row, (text, at) in enumerate(_timed(scene)):
            name = f"l{len(rules)}"
            rules.append(_appear(name, scene, at, total, is_last=scene is shown[-1], typed=row == 0))
            body.append(_line(name, MARGIN, TOP + LINE * row, text))
    still = "@media (prefers-reduced-motion: reduce) { text { animation: none !important } }"
    font = f"text {{ font: 12px ui-monospace, monospace; fill: {INK}; white-space: pre }}"
    style = "\n".join([*rules, still, font])
    title = "poseidon plan and poseidon explain: two pods wait, and these changes would place them"
    dots = "".join(f'<circle cx="{20 + 18 * each}" cy="18" r="5" fill="#484f58"/>' for each in range(3))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img"><title>{title}</title><style>\n{style}\n</style>'
    )
    ground = f'<rect width="{width}" height="{height}" rx="8" fill="{GROUND}"/>'
    return "\n".join([head, ground, dots, *body, "</svg>", ""])


def _appear(name: str, scene: Scene, at: float, total: float, *, is_last: bool, typed: bool) -> str:
    """Return the rules by which a line is there from a moment to the end of its scene, letter by letter if ``typed``.

    Without motion only the lines of the last scene are there.
    """
    start, stop = 100 * at / total, 100 * scene.end / total
    after = "" if is_last else f" {stop:.2f}%, 100% {{ opacity: 0 }}"
    rule = (
        f"@keyframes {name} {{ 0%, {start - 0.01:.2f}% {{ opacity: 0 }} "
        f"{start:.2f}%, {stop - 0.01:.2f}% {{ opacity: 1 }}{after} }}"
    )
    moves = f"{name} {total:.1f}s infinite"
    if typed:
        whole, letters = 100 * (at + TYPING * 0.8) / total, len(scene.command) + 2
        hide = f"clip-path: inset(-4px 100% -4px 0); animation-timing-function: steps({letters})"
        whole_line = f"{whole:.2f}%, 100% {{ clip-path: inset(-4px 0) }}"
        rule += f" @keyframes t{name} {{ 0%, {start:.2f}% {{ {hide} }} {whole_line} }}"
        moves += f", t{name} {total:.1f}s infinite"
    return f"{rule} .{name} {{ opacity: {int(is_last)}; animation: {moves} }}"


def _timed(scene: Scene) -> Iterator[tuple[str, float]]:
    """Yield lines, the command first, and when each is there."""
    yield f"$ {scene.command}", scene.begin
    for number, line in enumerate(scene.lines):
        yield line, scene.answered + READING * number


def _line(name: str, x: int, y: int, text: str) -> str:
    colour = ""
    if text.startswith("$ "):
        colour = f' style="fill: {PROMPT}"'
    elif text.startswith("It would"):
        colour = f' style="fill: {CURE}"'
    elif text.startswith(("Pod ", "PENDING", "shop/Deployment")):
        colour = f' style="fill: {WAITS}"'
    return f'<text class="{name}" x="{x}" y="{y}"{colour}>{escape(text)}</text>' if text else ""


if __name__ == "__main__":
    main(Path(sys.argv[1]))
