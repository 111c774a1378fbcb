"""The links of the built pages: every one within the docs leads to a file and an anchor.

Links to other sites are not fetched.
"""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

pytestmark = pytest.mark.browser


class Page(HTMLParser):
    """The anchors, the links and the description of a page.

    Attributes
    ----------
    anchors : set[str]
        The ids.
    links : set[str]
        What the page refers to.
    description : str
        The description for search engines.
    """

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.description = set(), set(), ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        """Keep what a tag names and refers to."""
        given = dict(attrs)
        self.anchors.update(given[name] for name in ("id", "name") if given.get(name))
        self.links.update(given[name] for name in ("href", "src") if given.get(name))
        if tag == "meta" and given.get("name") == "description":
            self.description = given["content"]


@pytest.fixture(scope="module")
def parsed(built):
    """Path of each built page -> its contents."""
    return {path: Page(path) for path in built.rglob("*.html") if "_static" not in path.parts}


def test_every_link_leads_to_a_file_and_an_anchor(built, parsed):
    """Every link within the docs leads to an existing file, and its fragment to an id there."""
    dead = []
    for path, page in parsed.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = parsed[target].anchors if target in parsed else set()
            if not target.is_file() or (
                target in parsed and parts.fragment and unquote(parts.fragment) not in anchors
            ):
                dead.append((path.relative_to(built).as_posix(), link))

    assert dead == []


def test_every_page_has_a_description(built, parsed):
    """Every page that has sentences has a description."""
    made_by_sphinx = {"genindex", "py-modindex", "search"}
    names = {path: path.relative_to(built).with_suffix("").as_posix() for path in parsed}

    assert [
        name
        for path, name in names.items()
        if not parsed[path].description and name not in made_by_sphinx
    ] == []


def test_every_page_has_the_icon(parsed):
    """Every page has the favicon."""
    assert [
        path for path, page in parsed.items() if "favicon.svg" not in " ".join(page.links)
    ] == []
