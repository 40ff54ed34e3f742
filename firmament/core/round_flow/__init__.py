"""A round's flow for people: which tasks went where, at what price, and what kept other tasks waiting."""
