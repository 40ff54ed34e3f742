"""Rounds as files: what is written of each on demand, and how a written one is run again.

Sans-I/O: everything here turns objects into named bytes and back. Who wants files on a disk writes them.
"""

from __future__ import annotations


class ArtefactError(ValueError):
    """A saved round that cannot be read: the message names the file, what is wrong with it and what to do."""
