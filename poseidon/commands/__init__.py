"""The sub-commands of ``poseidon``, one per module; each is imported only when it is run."""
