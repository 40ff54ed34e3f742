"""Manifests and image recipes."""
