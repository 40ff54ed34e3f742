"""Whole rounds of the core by themselves: how long they take, by what is in them."""
