"""Runs notebooks as a kernel does, cell by cell, without one; ``UPDATE_DOCUMENTS=1`` writes what cells show."""

from __future__ import annotations

import ast
import io
import json
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from tests.documentation.markdown import ROOT

NOTEBOOKS = tuple(sorted((ROOT / "examples" / "notebooks").glob("*.ipynb")))
RICH = {"_repr_html_": "text/html", "_repr_svg_": "image/svg+xml"}


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in notebook["cells"] if each["cell_type"] == "code"]


def run_cells(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """What each cell with code shows: its printed text, and its last value."""
    names: dict[str, Any] = {"__name__": "__main__"}
    return [
        _run("".join(each["source"]), number, names) for number, each in enumerate(code_cells(notebook), 1)
    ]


def _run(source: str, number: int, names: dict[str, Any]) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with redirect_stdout(printed):
        exec(compile(tree, f"<cell {number}>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"<cell {number}>", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        for method, kind in RICH.items():
            if hasattr(value, method):
                # A page in a frame is some hundred kilobytes, and hosts of repositories show none.
                shown = re.sub(r"<iframe.*?</iframe>", "", getattr(value, method)(), flags=re.DOTALL)
                data[kind] = _lines(shown)
        outputs.append(
            {"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}
        )
    return outputs


def _lines(text: str) -> list[str]:
    return re.sub(r"\d+ ms", "20 ms", text).splitlines(keepends=True)


def read_notebook(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def write_outputs(path: Path, notebook: dict[str, Any], outputs: list[list[dict[str, Any]]]) -> None:
    for number, (cell, shown) in enumerate(zip(code_cells(notebook), outputs, strict=True), 1):
        cell["outputs"], cell["execution_count"] = shown, number
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
