"""What a verdict quotes: causes of failures, and text that is safe to print."""
