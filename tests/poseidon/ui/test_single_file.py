"""One view as a file of its own."""

from __future__ import annotations

import json
import re
from base64 import b64decode

from poseidon.explanations import Charge, PodExplanation, Verdict
from poseidon.ui.single_file import single_file
from poseidon.ui.views.pods import single_page

HOSTILE = "</script><script>alert(1)</script>"


def modules_of(page: str) -> dict[str, str]:
    (found,) = re.findall(r'<script type="importmap">(.*?)</script>', page)
    imports = json.loads(found)["imports"]
    return {name: b64decode(address.partition(",")[2]).decode() for name, address in imports.items()}


def test_modules_import_what_is_there_by_name():
    modules = modules_of(single_file("a page", "#/pods/a/b", {}))
    assert {"page/app.js", "page/data/api.js", "page/vendor/preact.js"} <= modules.keys()
    for name, code in modules.items():
        imported = re.findall(r"""(?:from|import)\s*\(?\s*["']([^"']+)["']""", code)
        assert set(imported) <= modules.keys(), name
        assert not re.search(r"""(?:from|import)\s*\(?\s*["']\.""", code), name


def test_what_people_called_things_ends_no_element():
    page = single_file(HOSTILE, f"#/{HOSTILE}", {"session": {"title": HOSTILE}})
    assert HOSTILE not in page
    (answers,) = re.findall(r'<script type="application/json" id="answers">(.*?)</script>', page)
    assert json.loads(answers) == {"session": {"title": HOSTILE}}


def test_verdicts_as_the_page_asks_for_them():
    charge = Charge(feasible=True, raw=3.0, score=None, cost=12.5)
    nodes = {
        "n1": Verdict(feasible=True, reasons=(), cost=12.5, models={"cpu_mem": charge}),
        "n2": Verdict(feasible=False, reasons=("Too many pods",), cost=0.0, models={}),
    }
    page = single_page(PodExplanation("shop/web-0", "n1", nodes, ()), 100.0)
    (answers,) = re.findall(r'<script type="application/json" id="answers">(.*?)</script>', page)
    found = json.loads(answers)
    assert found["session"]["capabilities"]["explain"] is True
    told = found["pods/shop/web-0"]
    assert (told["phase"], told["reason"]) == (
        "bound",
        "Pod shop/web-0 runs on n1; 1 of 2 nodes is feasible.",
    )
    assert [each["node"] for each in told["verdicts"]["nodes"]] == ["n1"]
    assert told["verdicts"]["nodes"][0]["chosen"] is True
    assert told["verdicts"]["refusals"] == [{"reasons": ["Too many pods"], "nodes": 1, "examples": ["n2"]}]
