"""Commands and options that the documents name exist, and the reference of options is complete."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from benchmarks.__main__ import main as benchmarks
from firmament.cli import main as firmament
from poseidon.cli import main as poseidon
from poseidon.commands.sweep import sweep
from poseidon.testbed.process import main as simulated
from tests.documentation.markdown import ROOT, blocks, codes, documents, rows, section, text

REFERENCE = text("docs/configuration.md")
PROGRAMS: dict[str, click.Command] = {"poseidon": poseidon, "firmament": firmament}
MODULES: dict[str, click.Command] = {
    "benchmarks": benchmarks,
    "poseidon.testbed": simulated,
    "poseidon": poseidon,
    "firmament": firmament,
}
ALWAYS = {"--help", "-h", "--version"}

Invocation = tuple[click.Command, list[str]]


def invocation(words: list[str]) -> Invocation | None:
    """The command that words run and its arguments, if it is one of ours."""
    while words and re.fullmatch(r"\w+=.*", words[0]):
        words = words[1:]
    if not words:
        return None
    program = Path(words[0]).name
    if program == "python" and words[1:2] == ["-m"] and words[2:3] and words[2] in MODULES:
        command, rest = MODULES[words[2]], words[3:]
    elif program in PROGRAMS:
        command, rest = PROGRAMS[program], words[1:]
    else:
        return None
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        found = command.get_command(click.Context(command), rest[0])
        assert found is not None, f"{program} has no command {rest[0]!r}"
        command, rest = found, rest[1:]
    if command.name == "simulate" and rest[:1] == ["sweep"]:
        return sweep, rest[1:]
    return command, rest


def shown(document: str) -> list[str]:
    """Command lines of the fenced blocks: those behind a prompt, and those that begin with kubectl."""
    lines = [
        line[2:]
        for block in blocks(document, "console")
        for line in block.splitlines()
        if line.startswith("$ ")
    ]
    lines += [
        line for block in blocks(document, "") for line in block.splitlines() if re.match(r"kubectl ", line)
    ]
    return lines


def invocations(document: str) -> list[Invocation]:
    """Every run of a command of ours in a document's fenced blocks and inline code."""
    lines = shown(document)
    prose = re.sub(r"^```.*?^```", "", document, flags=re.DOTALL | re.MULTILINE)
    lines += [code for code in codes(prose.replace("\n", " ")) if " " in code and "…" not in code.split()[0]]
    found = []
    for line in lines:
        for part in re.split(r"\||&&|;", line):
            try:
                words = shlex.split(part, comments=True)
            except ValueError:
                continue  # prose in backticks
            run = invocation(words)
            if run is not None:
                found.append(run)
    return found


def options(command: click.Command) -> set[str]:
    """All spellings of a command's options."""
    return {
        spelling
        for parameter in command.params
        for spelling in (*parameter.opts, *parameter.secondary_opts)
        if spelling.startswith("-")
    }


@pytest.mark.parametrize("document", documents(), ids=lambda file: file.relative_to(ROOT).as_posix())
def test_options_in_commands_exist(document: Path):
    for command, arguments in invocations(document.read_text(encoding="utf-8")):
        named = {word.partition("=")[0] for word in arguments if re.match(r"--?[a-z]", word)}
        assert named <= options(command) | ALWAYS, f"{command.name}: {sorted(named - options(command))}"


def test_the_documents_show_every_command():
    names = {command.name for document in documents() for command, _ in invocations(document.read_text())}
    assert {"run", "plan", "explain", "demo", "serve", "submit", "throughput", "simulated"} <= names


def leaves(command: click.Command, words: str) -> Iterator[tuple[str, click.Command]]:
    """The commands below one that do something by themselves, by the words that run them."""
    if not isinstance(command, click.Group):
        yield words, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from leaves(found, f"{words} {name}")


COMMANDS = dict([*leaves(poseidon, "poseidon"), *leaves(firmament, "firmament")])


@pytest.mark.parametrize("words", COMMANDS)
def test_each_command_is_in_the_reference_and_each_of_its_options_in_some_document(words: str):
    assert words in REFERENCE
    told = "\n".join(each.read_text(encoding="utf-8") for each in documents() if each.name != "CHANGELOG.md")
    named = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", told))
    assert options(COMMANDS[words]) - ALWAYS - named == set()


def _inspecting() -> list[click.Command]:
    context = click.Context(firmament)
    get, explain, export, delete = (
        firmament.get_command(context, name) for name in ("get", "explain", "export-network", "delete")
    )
    assert isinstance(get, click.Group)
    assert isinstance(delete, click.Group)
    assert explain is not None
    assert export is not None
    return [*get.commands.values(), explain, export, *delete.commands.values()]


@pytest.mark.parametrize(
    ("heading", "commands"),
    [
        ("`poseidon run`", [poseidon.get_command(click.Context(poseidon), "run")]),
        ("`poseidon doctor`", [poseidon.get_command(click.Context(poseidon), "doctor")]),
        ("`poseidon audit`", [poseidon.get_command(click.Context(poseidon), "audit")]),
        ("`poseidon reschedule`", [poseidon.get_command(click.Context(poseidon), "reschedule")]),
        ("`poseidon tell-starts`", [poseidon.get_command(click.Context(poseidon), "tell-starts")]),
        ("`poseidon ui`", [poseidon.get_command(click.Context(poseidon), "ui")]),
        ("`poseidon top`", [poseidon.get_command(click.Context(poseidon), "top")]),
        ("`poseidon shadow`", [poseidon.get_command(click.Context(poseidon), "shadow")]),
        ("`poseidon support-bundle", [poseidon.get_command(click.Context(poseidon), "support-bundle")]),
        (
            "`poseidon plan` and `poseidon explain`",
            [poseidon.get_command(click.Context(poseidon), name) for name in ("plan", "explain")],
        ),
        ("`poseidon demo`", [poseidon.get_command(click.Context(poseidon), "demo")]),
        ("`poseidon bandwidth-agent`", [poseidon.get_command(click.Context(poseidon), "bandwidth-agent")]),
        ("`poseidon netperf-probe`", [poseidon.get_command(click.Context(poseidon), "netperf-probe")]),
        ("`firmament serve`", [firmament.get_command(click.Context(firmament), "serve")]),
        ("`firmament replay`", [firmament.get_command(click.Context(firmament), "replay")]),
        ("`firmament get`, `explain`, `export-network`", _inspecting()),
        ("`firmament submit`", [firmament.get_command(click.Context(firmament), "submit")]),
    ],
    ids=[
        "run",
        "doctor",
        "audit",
        "reschedule",
        "tell-starts",
        "ui",
        "top",
        "shadow",
        "support-bundle",
        "plan, explain",
        "demo",
        "agent",
        "probe",
        "serve",
        "replay",
        "get, explain, export-network",
        "submit",
    ],
)
def test_the_reference_lists_all_options_with_their_defaults(heading: str, commands: list[click.Command]):
    table = {
        code.split()[0]: row
        for row in rows(section(REFERENCE, heading))
        for code in codes(row[0])
        if code.startswith("-")
    }
    expected = set().union(*map(options, commands)) - ALWAYS
    assert set(table) == expected
    for command in commands:
        for parameter in command.params:
            default = shown_default(parameter)
            cell = next((table[each][1] for each in parameter.opts if each in table), "")
            assert default is None or default in [
                part.strip() for code in codes(cell) for part in code.split(",")
            ], f"{parameter.opts[0]}: the default is {default}; the reference says {cell}"


def shown_default(parameter: click.Parameter) -> str | None:
    """The default as the reference writes it, None where it uses words."""
    value = parameter.to_info_dict()["default"]
    if not isinstance(parameter, click.Option) or parameter.is_flag or callable(value):
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return format(value, "g")
    return value if isinstance(value, str) and value else None
