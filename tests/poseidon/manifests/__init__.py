"""Reading, checking and expanding manifests."""
