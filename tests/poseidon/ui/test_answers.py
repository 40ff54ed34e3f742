"""Answers of the page's server: kept until their subject changes, tagged, and compressed where that pays."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request

from poseidon.ui.server import answers as module
from poseidon.ui.server.answers import Answers, ClientError, error_response


class Versions:
    """Versions of subjects, as a test sets them."""

    def __init__(self) -> None:
        self.of: dict[str, int] = {}

    def get(self, subject: str) -> int:
        return self.of.get(subject, 0)


class Scene:
    def __init__(self) -> None:
        self.versions = Versions()
        self.now = 100.00049
        self.answers = Answers(self.versions, lambda: self.now)  # type: ignore[arg-type]
        self.made = 0

    def view(self, subject: str = "nodes", key: Any = ("a",), text: str = "x", **headers: str) -> Any:
        def make() -> dict[str, Any]:
            self.made += 1
            return {"text": text}

        request = make_mocked_request(
            "GET", "/", headers={k.replace("_", "-"): v for k, v in headers.items()}
        )
        return self.answers.view(request, subject, key, make)


def content(answer: Any) -> Any:
    return json.loads(answer.body)


def test_an_answer_is_made_once_for_each_key_and_version():
    scene = Scene()
    first = scene.view()
    assert content(first) == {"at": 100.0, "version": 0, "text": "x"}
    assert first.headers["Content-Type"] == "application/json; charset=utf-8"
    assert first.headers["Cache-Control"] == "private, no-cache"
    assert first.headers["Vary"] == "Accept-Encoding"
    scene.now += 5
    assert content(scene.view())["at"] == 100.0
    assert scene.made == 1
    scene.view(key=("b",))
    assert scene.made == 2
    scene.versions.of["nodes"] = 7
    assert content(scene.view()) == {"at": 105.0, "version": 7, "text": "x"}
    assert scene.made == 3


def test_who_has_the_present_version_gets_no_content():
    scene = Scene()
    tag = scene.view().headers["ETag"]
    assert tag == '"100.000-0"'
    again = scene.view(If_None_Match=tag)
    assert (again.status, again.headers["ETag"], scene.made) == (304, tag, 1)
    scene.versions.of["nodes"] = 1
    assert scene.view(If_None_Match=tag).status == 200


@pytest.mark.parametrize(
    ("length", "accepts", "packed"),
    [(2000, "gzip, br", True), (2000, "br", False), (2000, "", False), (10, "gzip", False)],
)
def test_long_answers_are_compressed_for_who_takes_that(length, accepts, packed):
    answer = Scene().view(text="x" * length, Accept_Encoding=accepts)
    assert (answer.headers.get("Content-Encoding") == "gzip") is packed
    body = gzip.decompress(answer.body) if packed else answer.body
    assert len(json.loads(body)["text"]) == length


def test_compression_begins_beyond_a_kibibyte():
    scene = Scene()
    overhead = len(scene.view(text="").body)
    for length, packed in ((1024 - overhead, False), (1025 - overhead, True)):
        answer = scene.view(key=(length,), text="x" * length, Accept_Encoding="gzip")
        assert ("Content-Encoding" in answer.headers) is packed


def test_the_answers_asked_for_last_are_kept():
    scene = Scene()
    for number in range(64):
        scene.view(key=(number,))
    scene.view(key=(0,))
    scene.view(key=("one more",))
    assert scene.made == 65
    scene.view(key=(0,))
    assert scene.made == 65
    scene.view(key=(1,))
    assert scene.made == 66


def test_large_answers_push_others_out_but_not_themselves(monkeypatch):
    monkeypatch.setattr(module, "_MOST_BYTES", 500)
    scene = Scene()
    scene.view(key=("a",), text="x" * 200)
    scene.view(key=("b",), text="y" * 200)
    scene.view(key=("a",), text="x" * 200)
    assert scene.made == 2
    scene.view(key=("c",), text="z" * 200)
    scene.view(key=("b",), text="y" * 200)
    assert scene.made == 4
    scene.view(key=("huge",), text="x" * 900)
    scene.view(key=("huge",), text="x" * 900)
    assert scene.made == 5


def test_fresh_answers_are_not_kept():
    scene = Scene()
    answer = scene.answers.fresh(make_mocked_request("GET", "/"), {"a": 1}, 5)
    assert content(answer) == {"at": 100.0, "version": 5, "a": 1}
    assert "ETag" not in answer.headers


def test_errors_are_a_line_and_never_stored():
    answer = error_response(404, "not there", {"X": "1"})
    assert (answer.status, content(answer)) == (404, {"error": "not there"})
    assert (answer.headers["Cache-Control"], answer.headers["X"]) == ("no-store", "1")
    error = ClientError(403, "no")
    assert (error.status, str(error)) == (403, "no")
