"""Writes rounds to files on demand, and runs saved rounds again.

Sans-I/O: everything here turns objects into named bytes and back. Who wants files on a disk writes them.
"""

from __future__ import annotations


class SavedRoundError(ValueError):
    """A saved round cannot be read; the message names the file, what is wrong with it and what to do."""
