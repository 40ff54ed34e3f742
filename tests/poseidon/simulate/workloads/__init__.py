"""Work that is drawn, and work that was recorded."""
