"""The sub-commands of ``poseidon``, one module each; the program imports a module only when its command runs."""
