"""Floor 2: who waits for whom.  The tables of legal streams; the drivers come with devices."""
