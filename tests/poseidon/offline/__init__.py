"""The offline commands."""
