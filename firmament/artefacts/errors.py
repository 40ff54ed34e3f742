"""What is wrong with a saved round."""

from __future__ import annotations


class ArtefactError(ValueError):
    """A saved round that cannot be read: the message names the file, what is wrong with it and what to do."""
