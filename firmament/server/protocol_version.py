"""Checks the first message of a client: the version of the protocol that the client speaks, and who it is."""

from __future__ import annotations

import grpc

from protos.firmament.v1 import scheduler_pb2 as pb

VERSION_MAJOR = 1
VERSION_MINOR = 2
"""The version of the protocol that this solver speaks."""

_LONGEST_NAME = 1024


class ProtocolError(Exception):
    """A driver broke the protocol; its stream ends with the error's code and text."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code


def check_hello(message: pb.ClientMessage) -> pb.Hello:
    """Return the Hello in a stream's first message.

    Raise ``ProtocolError`` unless the Hello is valid and of a known version.
    """
    early, wrong = grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.INVALID_ARGUMENT
    if message.WhichOneof("body") != "hello":
        raise ProtocolError(early, "the first message of a stream must be Hello")
    hello = message.hello
    if hello.version_major != VERSION_MAJOR or abs(hello.version_minor - VERSION_MINOR) > 1:
        raise ProtocolError(
            early,
            f"protocol {hello.version_major}.{hello.version_minor} is not spoken here; this server speaks "
            f"{VERSION_MAJOR}.{VERSION_MINOR} and accepts one minor version more or less",
        )
    if not hello.cluster:
        raise ProtocolError(wrong, "Hello: cluster: is empty; name the cluster")
    if len(hello.cluster) > _LONGEST_NAME or len(hello.client) > _LONGEST_NAME:
        text = f"Hello: cluster or client: has more than {_LONGEST_NAME} characters; shorten it"
        raise ProtocolError(wrong, text)
    return hello
