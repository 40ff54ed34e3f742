"""One file per move: a way to change a placement that a search tries."""
