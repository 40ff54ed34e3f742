"""Poseidon: the bridge. It speaks Kubernetes on one side and the solver's protocol on the other."""

import logging

__version__ = "0.1.0"

# Commands that do not log have nothing printed; those that do add handlers of their own.
logging.getLogger(__name__).addHandler(logging.NullHandler())
