"""Registers the service with a gRPC server, with a serialiser that lets serialised messages through.

As the generated ``add_SchedulerServicer_to_server`` does, except that round results are bytes already: they are large,
and the event loop, whose thread would serialise them, has health checks to answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc
from google.protobuf.message_factory import GetMessageClass

from protos.firmament.v1 import scheduler_pb2

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from firmament.server.service import SchedulerService


def add_service(service: SchedulerService, server: grpc.aio.Server) -> None:
    """Let ``server`` answer the calls of ``service``, which has a method of the name of each."""
    described = scheduler_pb2.DESCRIPTOR.services_by_name["Scheduler"]
    handlers = {
        method.name: (
            grpc.stream_stream_rpc_method_handler
            if method.client_streaming
            else grpc.unary_unary_rpc_method_handler
        )(
            getattr(service, method.name),
            request_deserializer=GetMessageClass(method.input_type).FromString,
            response_serializer=_serialised,
        )
        for method in described.methods
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(described.full_name, handlers),))


def _serialised(message: Message | bytes) -> bytes:
    return message if isinstance(message, bytes) else message.SerializeToString()
