"""Layer 2: who waits for whom: legal streams, pending work, ordering, and drivers of devices."""
