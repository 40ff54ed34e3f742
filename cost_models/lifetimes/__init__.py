"""Machines that become empty sooner, because tasks that end at about the same time share them."""
