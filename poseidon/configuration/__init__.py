"""Contains the bridge's part of the configuration."""
