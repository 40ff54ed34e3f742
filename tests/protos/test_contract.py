"""The contract is described field by field, and only ever grows.

``contract.txt`` holds one line per rpc, field and enum value. A line in it that the sources no longer have
is a break for peers of an older version; a new line in the sources has to be written down there once.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from google.protobuf import descriptor_pb2 as pb

from protos.generate import protoc

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLDEN = Path(__file__).with_name("contract.txt")

# Numbers of the parts of a file in the paths of its source info, from descriptor.proto.
MESSAGES, ENUMS, SERVICES = (
    pb.FileDescriptorProto.MESSAGE_TYPE_FIELD_NUMBER,
    pb.FileDescriptorProto.ENUM_TYPE_FIELD_NUMBER,
    pb.FileDescriptorProto.SERVICE_FIELD_NUMBER,
)
FIELDS, NESTED, NESTED_ENUMS = (
    pb.DescriptorProto.FIELD_FIELD_NUMBER,
    pb.DescriptorProto.NESTED_TYPE_FIELD_NUMBER,
    pb.DescriptorProto.ENUM_TYPE_FIELD_NUMBER,
)
METHODS, VALUES = pb.ServiceDescriptorProto.METHOD_FIELD_NUMBER, pb.EnumDescriptorProto.VALUE_FIELD_NUMBER

Location = tuple[int, ...]
# Where a thing stands in the source, its name, and the line that describes it to peers.
Entry = tuple[Location, str, str]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> list[pb.FileDescriptorProto]:
    """The sources as protoc sees them, with comments."""
    output = tmp_path_factory.mktemp("descriptors") / "contract.bin"
    protoc("--include_source_info", f"--descriptor_set_out={output}")
    return list(pb.FileDescriptorSet.FromString(output.read_bytes()).file)


def entries(file: pb.FileDescriptorProto) -> Iterator[Entry]:
    """Everything that has a number or a name on the wire."""
    for index, service in enumerate(file.service):
        for position, method in enumerate(service.method):
            name = f"{file.package}.{service.name}/{method.name}"
            yield (SERVICES, index, METHODS, position), name, f"rpc {name} {_signature(method)}"
    for index, message in enumerate(file.message_type):
        yield from _message(message, (MESSAGES, index), file.package)
    for index, enum in enumerate(file.enum_type):
        yield from _enum(enum, (ENUMS, index), file.package)


def _message(message: pb.DescriptorProto, path: Location, scope: str) -> Iterator[Entry]:
    scope = f"{scope}.{message.name}"
    for index, field in enumerate(message.field):
        name = f"{scope}.{field.name}"
        yield (*path, FIELDS, index), name, f"field {name} = {field.number} {_type(field)}"
    for index, enum in enumerate(message.enum_type):
        yield from _enum(enum, (*path, NESTED_ENUMS, index), scope)
    for index, nested in enumerate(message.nested_type):
        if not nested.options.map_entry:  # made by protoc for map<...>; nobody wrote it
            yield from _message(nested, (*path, NESTED, index), scope)


def _enum(enum: pb.EnumDescriptorProto, path: Location, scope: str) -> Iterator[Entry]:
    for index, value in enumerate(enum.value):
        name = f"{scope}.{enum.name}.{value.name}"
        yield (*path, VALUES, index), name, f"value {name} = {value.number}"


def _type(field: pb.FieldDescriptorProto) -> str:
    label = pb.FieldDescriptorProto.Label.Name(field.label).removeprefix("LABEL_").lower()
    kind = field.type_name or pb.FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
    return f"{label} {kind}"


def _signature(method: pb.MethodDescriptorProto) -> str:
    request = "stream " * method.client_streaming + method.input_type
    reply = "stream " * method.server_streaming + method.output_type
    return f"({request}) ({reply})"


def test_everything_is_commented(files):
    bare = []
    for file in files:
        comments = {
            tuple(place.path): place.leading_comments.strip() or place.trailing_comments.strip()
            for place in file.source_code_info.location
        }
        bare += [name for path, name, _ in entries(file) if not comments.get(path)]
    assert not bare, "say in the .proto what these mean:\n" + "\n".join(bare)


def test_nothing_that_peers_know_has_changed(files):
    known = set(GOLDEN.read_text().splitlines())
    gone = known - {line for file in files for _, _, line in entries(file)}
    assert not gone, "these numbers, names or types were changed or removed:\n" + "\n".join(sorted(gone))


def test_everything_is_written_down(files):
    known = GOLDEN.read_text().splitlines()
    lines = [line for file in files for _, _, line in entries(file)]
    new = [line for line in lines if line not in set(known)]
    assert not new, f"add these lines to {GOLDEN.name}:\n" + "\n".join(new)
    assert len(known) == len(set(known))


def test_no_number_ever_meant_two_things():
    numbers: dict[tuple[str, str], str] = {}
    for line in GOLDEN.read_text().splitlines():
        kind, name, *rest = line.split()
        if kind == "field":
            scope = name.rpartition(".")[0]
            assert numbers.setdefault((scope, rest[1]), line) == line


def test_the_package_is_versioned_and_has_one_service(files):
    assert {file.package for file in files} == {"firmament.v1"}
    assert [service.name for file in files for service in file.service] == ["Scheduler"]


def test_enums_start_with_an_unspecified_value(files):
    firsts: dict[str, str] = {}
    for file in files:
        for _, name, line in entries(file):
            if line.startswith("value "):
                firsts.setdefault(name.rpartition(".")[0], line)
    assert firsts
    assert all(line.endswith("_UNSPECIFIED = 0") for line in firsts.values()), firsts
