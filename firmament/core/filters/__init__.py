"""Decides which machines a shape may use, and why it may not use the others."""
