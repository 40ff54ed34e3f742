"""Lists and watches: they keep handlers up to date, whatever breaks."""
