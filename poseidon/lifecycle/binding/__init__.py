"""Placed pods on their way to being bound: what they wait for, what is posted, and how it ends."""
