"""Lists and watches collections, recovers from all failures, and passes changes to handlers."""
