"""The contract between the two processes."""
