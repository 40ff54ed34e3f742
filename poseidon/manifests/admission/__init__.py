"""Imitates the API server's admission of pods as people write them: completes some pods and refuses others."""
