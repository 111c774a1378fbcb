"""Layer 6: the functions that people come in by."""
