"""What the API server's admission would make of pods as people write them, and which it would refuse."""
