"""Layer 6: the public functions."""
