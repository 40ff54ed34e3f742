"""Moves running pods to nodes where they cost less: chooses the moves, orders them and carries them out."""
