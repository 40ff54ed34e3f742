"""Questions of commands to a running cluster and its solver. Nothing is written."""
