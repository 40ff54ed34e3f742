"""What an API server's errors mean."""

from __future__ import annotations

import pytest

from poseidon.kube.client.errors import ApiError, NotLeaderError, UnreachableError, UnsendableError, one_line

MEANINGS = (
    "not_found",
    "conflict",
    "replaced",
    "outrun",
    "expired",
    "ahead",
    "already_exists",
    "terminating",
    "throttled",
    "transient",
)


@pytest.mark.parametrize(
    ("error", "meanings"),
    [
        (ApiError(404, "NotFound", "x"), {"not_found"}),
        (ApiError(409, "Conflict", "x"), {"conflict", "outrun"}),
        (
            ApiError(409, "Conflict", "UID in precondition: a, UID in object meta: b"),
            {"conflict", "replaced"},
        ),
        (
            ApiError(409, "Conflict", "the UID in the precondition (a) does not match"),
            {"conflict", "replaced"},
        ),
        (ApiError(422, "Invalid", "UID in precondition"), set()),
        (ApiError(409, "AlreadyExists", "x"), {"conflict", "already_exists"}),
        (ApiError(404, "AlreadyExists", "x"), {"not_found"}),
        (ApiError(410, "", "x"), {"expired"}),
        (ApiError(400, "Expired", "x"), {"expired"}),
        (ApiError(400, "Gone", "x"), {"expired"}),
        (ApiError(504, "Timeout", "Too large resource version: 5"), {"ahead", "transient"}),
        (ApiError(400, "", "required revision is a future revision"), {"ahead"}),
        (ApiError(403, "Forbidden", "no new content because it is being terminated"), {"terminating"}),
        (ApiError(404, "NotFound", "because it is being terminated"), {"not_found"}),
        (ApiError(403, "Forbidden", "x"), set()),
        (ApiError(429, "TooManyRequests", "x"), {"throttled", "transient"}),
        (ApiError(408, "", "x"), {"transient"}),
        (ApiError(500, "", "x"), {"transient"}),
        (ApiError(499, "", "x"), set()),
        (NotLeaderError("GET", "/x"), set()),
        (UnsendableError("/x"), set()),
    ],
)
def test_each_error_means_what_its_status_and_words_say(error, meanings):
    assert {name for name in MEANINGS if getattr(error, name)} == meanings


def test_errors_are_one_line_with_status_and_reason():
    assert str(ApiError(404, "NotFound", "no pod")) == "404 NotFound: no pod"
    assert str(ApiError(500, "", "down")) == "500: down"
    assert ApiError(429, "", "busy", 3.0).retry_after == 3.0
    assert str(NotLeaderError("GET", "/x")) == "403 NotLeader: GET /x: this process does not lead"


@pytest.mark.parametrize(("length", "cut"), [(200, False), (201, True)])
def test_a_path_that_cannot_be_sent_is_shown_in_short(length, cut):
    shown = "x" * 200 + ("…" if cut else "")
    assert str(UnsendableError("x" * length)) == f"400: {shown!r}: not the path of a request"


def test_lines_have_no_breaks_and_no_credentials():
    assert one_line(ValueError("a\n  b")) == "a b"
    assert one_line(ValueError("")) == "ValueError"
    assert "secret" not in one_line(ValueError("https://me:secret@host"))


def test_idle_connections_that_were_closed_are_told_apart():
    assert not UnreachableError("x").idle_closed
    assert UnreachableError("x", idle_closed=True).idle_closed
