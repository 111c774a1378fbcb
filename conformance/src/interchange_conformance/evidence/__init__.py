"""Evidence of verdicts: causes of failures, and text that is safe to print."""
