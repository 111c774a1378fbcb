"""Reports: what a run found, as data, and every way to write it down.

`model` is the data, `catalogue` what its checks and rules say.  Each format
is one function of the two, which returns text: ``as_json.as_json`` (and back: ``from_json``),
``markdown.as_markdown``, ``junit.as_junit``, ``html.as_html``, ``badge.as_badge``; `terminal` shows
a report, and `writing` puts text into files, whole or not at all.
"""
