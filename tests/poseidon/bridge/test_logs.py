"""Log lines say what their templates say, whatever names and messages hold."""

from __future__ import annotations

import ast
import json
import logging
import re
from pathlib import Path

import pytest

import protos
from protos.conventions.logs import JsonFormatter, TextFormatter


def line(template, *values, formatter=None):
    record = logging.LogRecord("poseidon.bridge.x", logging.WARNING, "f", 1, template, values, None)
    return (formatter or TextFormatter()).format(record)


def after_the_time(text):
    return text.partition(" ")[2]


def test_words_and_pairs():
    assert after_the_time(line("round over round=%d gap=%.4f in=%.1fs state=%s", 3, 0.5, 1.25, "ok")) == (
        'level=warning logger=bridge.x msg="round over" round=3 gap=0.5000 in=1.2s state=ok'
    )
    assert after_the_time(line('refused pod=%s error="%s"', "ns/web", "too small")) == (
        'level=warning logger=bridge.x msg="refused" pod=ns/web error="too small"'
    )
    assert after_the_time(line("claim claim=%s/%s", "ns", "data")).endswith(' msg="claim" claim=ns/data')
    assert after_the_time(line("100%% of %s done", "it")).endswith(' msg="100% of it done"')
    assert after_the_time(line("stopped")).endswith(' msg="stopped"')


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a\nlevel=error forged=yes", '"a\\nlevel=error forged=yes"'),
        ("a b=c", '"a b=c"'),
        ('say "no"', '"say \\"no\\""'),
        ("back\\slash", '"back\\\\slash"'),
        ("\u2028next", '"\\u2028next"'),
        ("\u202ebackwards", '"\\u202ebackwards"'),
        ("\x1b[31mred", '"\\x1b[31mred"'),
        ("\ud800", '"\\ud800"'),
    ],
)
def test_a_value_ends_neither_its_line_nor_its_pair(value, shown):
    assert line("lost pod=%s node=%s", value, "n1").endswith(f' msg="lost" pod={shown} node=n1')
    assert line('lost reason="%s" node=%s', value, "n1").endswith(f' msg="lost" reason={shown} node=n1')
    assert line("lost %s node=%s", value, "n1").endswith(f' msg="lost {shown[1:-1]}" node=n1')


def test_what_has_no_template_is_one_line_too():
    assert "\n" not in line("from a library\nwith two lines 100% of=it")
    record = logging.LogRecord("grpc", logging.ERROR, "f", 1, "a %(b)s", ({"b": "x\ny"},), None)
    assert TextFormatter().format(record).endswith('msg="a x\\ny"')


def test_a_traceback_follows_on_its_own_lines():
    try:
        int("odd")
    except ValueError as error:
        found = (type(error), error, error.__traceback__)
    record = logging.LogRecord("poseidon.x", logging.ERROR, "f", 1, "broken pod=%s", ("p",), found)
    first, _, rest = TextFormatter().format(record).partition("\n")
    assert first.endswith('msg="broken" pod=p')
    assert rest.splitlines()[-1].startswith("ValueError: ")


def test_as_json_the_pairs_are_members_and_values_cannot_forge_others():
    record = logging.LogRecord(
        "firmament.server.x",
        logging.WARNING,
        "f",
        1,
        'note n=%d note="%s" level=%s',
        (3, 'x" y="z\n', "odd"),
        None,
    )
    text = JsonFormatter().format(record)
    assert "\n" not in text
    found = json.loads(text)
    assert found.pop("time").endswith("Z")
    assert found == {"level": "warning", "logger": "server.x", "msg": "note", "n": "3", "note": 'x" y="z\n'}


def test_as_json_a_traceback_is_a_member():
    try:
        int("odd")
    except ValueError as error:
        found = (type(error), error, error.__traceback__)
    record = logging.LogRecord("poseidon.x", logging.ERROR, "f", 1, "broken", (), found)
    assert "ValueError: " in json.loads(JsonFormatter().format(record))["traceback"]


def templates():
    """Yield where lines are logged, and by which templates."""
    root = Path(protos.__path__[0]).parent
    for path in sorted(
        each for name in ("poseidon", "firmament", "protos") for each in (root / name).rglob("*.py")
    ):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(
                    func=ast.Attribute(
                        value=ast.Name(id="log" | "_log"), attr="debug" | "info" | "warning" | "error"
                    ),
                    args=[ast.Constant(value=str() as template), *_],
                ):
                    yield f"{path.relative_to(root)}:{node.lineno}", template


def test_every_value_of_a_line_has_a_key_of_its_own():
    found = list(templates())
    assert len(found) > 50
    for where, template in found:
        words, *pairs = re.split(r"\s(?=[\w.]+=)", template)
        assert words.strip() != "%s", f"{where}: words are filled in as a whole; name them in the template"
        for pair in pairs:
            assert not re.search(r"\s%", pair.partition("=")[2].replace('"', "")), f"{where}: {pair}"
