"""Layer 4: who says what to whom, in which order."""
