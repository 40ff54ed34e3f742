"""Tasks that wait: who takes part in which round, when they are tried again, and what they could take meanwhile."""
