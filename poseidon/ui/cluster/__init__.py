"""What is known of nodes and pods, in few bytes each; sans-I/O."""
