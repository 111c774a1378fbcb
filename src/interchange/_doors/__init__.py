"""Floor 8: the functions that people come in by."""
