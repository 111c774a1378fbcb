"""How checks are run: each in a process of its own, so that a crash is a verdict.

The command's process imports neither the library nor its description.  It
starts a few *fork servers* per subject (`fork_server`, asked by way of `client`), each of which
imports the library once, forks a child for each check (`children`), follows it until its end
(`child_process`) and says how that was; `execution` is what the child does.  `pool` hands out the
items and collects the verdicts.
"""
