"""The command line: the `check` and `matrix` commands, their options, and progress."""
