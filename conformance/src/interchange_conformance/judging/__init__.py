"""Judge subjects: select the items, compare with known failures, summarise the run."""
