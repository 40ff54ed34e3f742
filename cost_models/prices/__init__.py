"""Machines that cost money, and some more than others."""
