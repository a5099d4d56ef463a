"""Where blobs are kept."""
