"""Plays the API server's admission for pods as people write them: completes some, refuses others."""
