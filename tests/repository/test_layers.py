"""The core and the cost models are deterministic: they read no clock, no entropy and no environment.

Import contracts (``make lint``) see modules; what they cannot see, such as ``datetime.now`` beside the
harmless ``datetime.fromisoformat``, is looked for here in the syntax tree.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Parts of firmament that do I/O, measure time or load configuration. Whatever is not listed is core.
SHELL = {"cli.py", "commands", "configuration.py", "logs.py", "server", "solvers", "submit", "wire"}

FORBIDDEN_MODULES = {
    "asyncio",
    "multiprocessing",
    "random",
    "secrets",
    "socket",
    "subprocess",
    "threading",
    "time",
}

# Last two names of a dotted expression.
FORBIDDEN_NAMES = {
    ("date", "today"),
    ("datetime", "now"),
    ("datetime", "today"),
    ("datetime", "utcnow"),
    ("os", "environ"),
    ("os", "getenv"),
    ("os", "urandom"),
    ("uuid", "uuid1"),
    ("uuid", "uuid4"),
}

# numpy.random's module-level functions share hidden state; generators that are seeded and passed on do not.
RANDOM_ALLOWED = {"Generator", "PCG64", "SeedSequence", "default_rng"}


def core_files() -> list[Path]:
    """Every module that has to be pure."""
    parts = [part for part in sorted((ROOT / "firmament").iterdir()) if part.name not in SHELL]
    parts.append(ROOT / "cost_models")
    return [file for part in parts for file in (sorted(part.rglob("*.py")) if part.is_dir() else [part])]


def defects(source: str) -> list[str]:
    """What in ``source`` reads a clock, entropy or the environment, with line numbers."""
    return [f"line {line}: {what}" for node in ast.walk(ast.parse(source)) for line, what in _defects(node)]


def _defects(node: ast.AST) -> list[tuple[int, str]]:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
        return [(node.lineno, name) for name in names if name.partition(".")[0] in FORBIDDEN_MODULES]
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        if module.partition(".")[0] in FORBIDDEN_MODULES and not node.level:
            return [(node.lineno, module)]
        names = [alias.name for alias in node.names]
        return [(node.lineno, f"{module}.{name}") for name in names if (module, name) in FORBIDDEN_NAMES]
    if isinstance(node, ast.Attribute):
        owner = _last_name(node.value)
        if (owner, node.attr) in FORBIDDEN_NAMES or _hidden_random_state(node):
            return [(node.lineno, f"{owner}.{node.attr}")]
    if (
        isinstance(node, ast.Call)
        and _last_name(node.func) == "default_rng"
        and not (node.args or node.keywords)
    ):
        return [(node.lineno, "default_rng() without a seed")]
    return []


def _hidden_random_state(node: ast.Attribute) -> bool:
    value = node.value
    in_numpy_random = (
        isinstance(value, ast.Attribute)
        and value.attr == "random"
        and _last_name(value.value) in {"np", "numpy"}
    )
    return in_numpy_random and node.attr not in RANDOM_ALLOWED


def _last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


@pytest.mark.parametrize("file", core_files(), ids=lambda file: file.relative_to(ROOT).as_posix())
def test_core_reads_no_clock_and_no_entropy(file):
    assert defects(file.read_text()) == []


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "import time as clock",
        "from time import monotonic",
        "import datetime\ndatetime.datetime.now()",
        "from datetime import datetime\ndatetime.now(tz=None)",
        "import os\nos.environ['SEED']",
        "from os import environ",
        "import numpy as np\nnp.random.shuffle([1])",
        "import numpy as np\nnp.random.default_rng()",
        "from numpy.random import default_rng\ndefault_rng()",
        "def f():\n    import random\n",
    ],
)
def test_the_check_finds(source):
    assert len(defects(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "from datetime import datetime\ndatetime.fromisoformat('2026-01-01')",
        "import numpy as np\nnp.random.default_rng(7)",
        "def run(clock):\n    return clock()",
        "from .time import Window",
    ],
)
def test_the_check_lets_pass(source):
    assert defects(source) == []
