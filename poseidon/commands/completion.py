"""``poseidon completion``: a script for a shell."""

from __future__ import annotations

from protos.conventions.completion import completion_command

completion = completion_command("poseidon")
