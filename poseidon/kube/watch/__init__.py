"""Lists and watches: handlers are kept informed of what there is, whatever breaks."""
