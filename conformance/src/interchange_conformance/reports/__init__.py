"""Reports: the result of a run as data, and its output formats.

`model` contains the data, `catalogue` the facts of its checks and rules.  Each format is one
function of both, which returns text: ``as_json.as_json`` (and the inverse ``from_json``),
``markdown.as_markdown``, ``junit.as_junit``, ``html.as_html``, ``badge.as_badge``; `terminal`
prints a report, and `files` writes files completely or not at all.  A catalogue that is left out is
that of the registry.
"""
