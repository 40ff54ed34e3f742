"""Commands that ask a running cluster."""
