"""Replies, in whatever pieces they come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poseidon.kube.client.replies import MalformedReplyError, ReplyReader, read_whole

BODIES = st.binary(max_size=300)


@st.composite
def wires(draw):
    """What a server sends, and the status and body that it means."""
    status = draw(st.sampled_from([200, 201, 409, 422, 503]))
    body = draw(BODIES)
    head = f"HTTP/1.1 {status} Some Reason\r\nContent-Type: application/json\r\n".encode()
    if draw(st.booleans()):
        head = b"HTTP/1.1 100 Continue\r\n\r\n" + head
    if draw(st.booleans()):
        return head + b"CONTENT-length:  %d \r\n\r\n" % len(body) + body, status, body
    cuts = sorted(draw(st.lists(st.integers(0, len(body)), max_size=4)))
    chunks = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True) if a < b]
    extension = draw(st.sampled_from([b"", b";a=b"]))
    trailer = draw(st.sampled_from([b"", b"X-Sum: 1\r\n"]))
    coded = b"".join(b"%X%b\r\n%b\r\n" % (len(chunk), extension, chunk) for chunk in chunks)
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + coded + b"0\r\n" + trailer + b"\r\n", status, body


def pieces(wire, cuts):
    cuts = sorted({cut % len(wire) for cut in cuts} - {0})
    return [wire[a:b] for a, b in zip([0, *cuts], [*cuts, len(wire)], strict=True)]


@given(wires(), st.lists(st.integers(0, 10_000), max_size=8))
def test_pieces_make_no_difference(sent, cuts):
    wire, status, body = sent
    reader = ReplyReader()
    *early, last = pieces(wire, cuts)
    for piece in early:
        assert reader.feed(piece) is None
    reply = reader.feed(last)
    assert reply is not None
    assert (reply.status, reply.reason, reply.body, reply.keeps_open) == (status, "Some Reason", body, True)


@given(wires(), st.integers(0, 10_000))
def test_a_reply_that_breaks_off_is_an_error(sent, cut):
    wire, _, _ = sent
    reader = ReplyReader()
    assert reader.feed(wire[: cut % len(wire)]) is None
    with pytest.raises(MalformedReplyError, match="before its reply was whole"):
        reader.finish()


def test_without_a_length_the_end_of_the_connection_ends_the_reply():
    reader = ReplyReader()
    assert reader.feed(b"HTTP/1.0 200 OK\r\n\r\nab") is None
    assert reader.feed(b"cd") is None
    reply = reader.finish()
    assert (reply.body, reply.keeps_open) == (b"abcd", False)


def test_some_replies_have_no_body():
    reply = ReplyReader().feed(b"HTTP/1.1 204\r\n\r\n")
    assert reply is not None
    assert (reply.status, reply.reason, reply.body, reply.keeps_open) == (204, "", b"", True)


@pytest.mark.parametrize(
    "wire",
    [
        b"HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n",
    ],
)
def test_some_connections_carry_no_other_request(wire):
    reply = ReplyReader().feed(wire)
    assert reply is not None
    assert not reply.keeps_open


def test_when_to_ask_again_is_kept():
    reply = ReplyReader().feed(b"HTTP/1.1 429 Too Many\r\nretry-AFTER: 7\r\nContent-Length: 0\r\n\r\n")
    assert reply is not None
    assert reply.retry_after == "7"


@pytest.mark.parametrize(
    "wire",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nok!",
        b"HTTP/1.1 200 OK\r\nContent-Length : 3\r\nContent-Length: 2\r\n\r\nok!",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
        b"a" * 70_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"0" * 70_000,
    ],
)
def test_what_is_no_reply_is_an_error(wire):
    with pytest.raises(MalformedReplyError):
        ReplyReader().feed(wire)


@given(wires())
def test_a_whole_reply_is_read_at_once_if_it_is_of_the_usual_kind(sent):
    wire, status, body = sent
    reply = read_whole(wire)
    usual = b"ransfer-" not in wire.partition(b"\r\n\r\n")[0] and not wire.startswith(b"HTTP/1.1 100")
    assert (reply is not None) is usual
    if reply is not None:
        assert reply == ReplyReader().feed(wire)
        assert (reply.status, reply.reason, reply.body) == (status, "Some Reason", body)


@given(wires(), st.integers(0, 10_000), st.binary(min_size=1, max_size=5))
def test_more_or_less_than_a_whole_reply_is_left_to_the_reader(sent, cut, more):
    wire, _, _ = sent
    assert read_whole(wire[: cut % len(wire)]) is None
    assert read_whole(wire + more) is None


@pytest.mark.parametrize(
    "wire",
    [
        b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: +0\r\n\r\n",
        b"hello\r\n\r\n",
    ],
)
def test_what_is_special_is_left_to_the_reader(wire):
    assert read_whole(wire) is None


def test_a_refusal_says_when_to_ask_again():
    wire = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 2\r\n\r\n{}"
    reply = read_whole(wire)
    assert reply == ReplyReader().feed(wire)
    assert reply is not None
    assert reply.retry_after == "1"


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 2\r\nContent-Length: 3",
        b"Content-Length: 3\r\nContent-Length: 2",
        b"Content-Length: 2,3",
    ],
)
def test_a_reply_with_conflicting_lengths_is_not_read_at_once_either(head):
    assert read_whole(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\nok") is None


def test_equal_lengths_are_one():
    wire = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2, 2\r\n\r\nok"
    reply = ReplyReader().feed(wire)
    assert reply is not None
    assert reply.body == b"ok"
