"""Reports: what a run found, as data, and every way to write it down.

Source: interchange.  `model` is the data; each other module turns it into one format.
"""
