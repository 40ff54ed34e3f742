"""The bridge's part of the configuration."""
