"""Turns rounds into files on demand, and runs saved rounds again.

This package does no I/O: it turns objects into named bytes, and bytes into objects. Callers that want files on a disk
write the bytes that this package returns.
"""

from __future__ import annotations


class SavedRoundError(ValueError):
    """A saved round cannot be read; the message names the file, what is wrong with it, and what to do."""
