"""Decides which machines a shape may use, and why not the others."""
