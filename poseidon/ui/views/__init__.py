"""What is shown, as plain values for JSON: pure functions of what is known."""
