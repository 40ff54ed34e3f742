"""The network and how it is solved."""
