"""Lets another program decide drawn cases; the package's docstring says how this program is called."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.judge.drawn_queues.drawing import DrawnCase
from benchmarks.judge.drawn_queues.objects import state_case
from benchmarks.judge.queues.cases import Admitted, Decision


def decide_elsewhere(program: Path, cases: Sequence[DrawnCase]) -> list[Decision]:
    """Return the program's decision on each case; raises ``RuntimeError`` if it does not decide all of them."""
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder) / "cases", Path(folder) / "decisions"
        asked.write_text("".join(json.dumps(state_case(case)) + "\n" for case in cases))
        done = subprocess.run([program, asked, answered], capture_output=True, text=True, check=False)
        answers = answered.read_text().splitlines() if answered.exists() else []
    if done.returncode or len(answers) != len(cases):
        raise RuntimeError(
            f"{program} decided {len(answers)} of {len(cases)} cases: {(done.stdout + done.stderr)[-500:]}"
        )
    return [_read_decision(case, json.loads(line)) for case, line in zip(cases, answers, strict=True)]


def _read_decision(case: DrawnCase, answer: dict[str, Any]) -> Decision:
    """Return what has been decided after all cycles.

    Who waits for victims does not come if nobody is evicted; what it will use is known only if there is one flavor.
    """
    flavors = {each["name"] for spec in case.queues.values() for each in spec["resourceGroups"][0]["flavors"]}
    known = {each.name: each for each in case.workloads}
    admitted, comes, evicted = dict[str, Admitted](), set[str](), set[str]()
    for cycle in answer["cycles"] or ():
        for name, flavor_of in cycle["admitted"].items():
            admitted[name] = Admitted(known[name].use_in(next(iter(flavor_of.values()))))
        comes |= {*cycle["comes"]}
        evicted |= {*cycle["evicted"]}
    waits = {
        name: Admitted(known[name].use_in(*flavors) if len(flavors) == 1 else None)
        for name in sorted(comes - admitted.keys())
        if evicted
    }
    return Decision(admitted, waits, tuple(sorted(evicted)))
