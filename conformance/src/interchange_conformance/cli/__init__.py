"""The command line: the ``check`` command, its options, and how far a run is."""
