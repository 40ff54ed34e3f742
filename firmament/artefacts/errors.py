"""What is wrong with a saved round."""

from __future__ import annotations


class ArtefactError(ValueError):
    """A saved round that cannot be read: the message names the file, what is wrong with it and what to do."""


class MissingModelError(ValueError):
    """What a model has to read was not saved, or no installed model reads it; says so, and what to do, in one line."""
