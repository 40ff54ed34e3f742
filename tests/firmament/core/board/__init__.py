"""The board of a round."""
