"""Run checks, each in its own process, so that a crash becomes a verdict.

The command's process imports neither the library nor its description.  It starts a few *fork
servers* per subject (`fork_server`, through `client`), each of which imports the library once,
forks a child for each check (`children`), follows it until its end (`child_process`) and reports
the result; `execution` runs in the child.  `pool` distributes the items and collects the verdicts.
"""
