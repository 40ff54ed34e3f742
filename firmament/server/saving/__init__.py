"""Saved rounds beside the scheduling: the folder that keeps them, and the thread that writes."""
