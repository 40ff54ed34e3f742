"""What comes in: events and reports of bindings, checked as a whole, then applied."""
