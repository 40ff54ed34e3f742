"""Places tasks together that end at about the same time, so that machines become empty sooner."""
