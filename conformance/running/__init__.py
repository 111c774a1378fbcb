"""How checks are run: each in a process of its own, so that a crash is a verdict.

Source: interchange.  The command's process imports neither the library nor its description.  It
starts a few *nurseries* per subject (`nursery`), each of which imports the library once and forks a
child for each check (`execution`); `pool` hands out the checks and collects the verdicts.
"""
