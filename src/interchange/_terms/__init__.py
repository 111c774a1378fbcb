"""Floor 1: the words.  Element types, devices, layouts, errors, typing.  Integers only."""
