"""Layer 2: stream ordering: valid streams, pending work, waits, and drivers of devices."""
