"""Does what the API server's admission does to pods as people write them: completes some, refuses others."""
