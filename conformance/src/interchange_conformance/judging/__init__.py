"""Judging subjects: which items are run, what is known to fail, and what the run amounts to."""
