"""Takes screenshots of built pages for review: two widths, light and dark.

Source: Chrome DevTools Protocol, "Page".  ``python tests/docs/built/screens.py FOLDER`` writes the
top of each page, and its first figure or heat map; ``sphinx-build`` must have built the pages.
"""

from __future__ import annotations

import argparse
import base64
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS / "conformance"))

from chromium import Browser  # noqa: E402 - found by the line above

BUILT = TESTS.parent / "docs" / "_build" / "html"
PAGES = (
    "index",
    "how-it-works",
    "compatibility",
    "compatibility-columns",
    "conformance",
    "overhead",
)
SIZES = ((1280, 900), (400, 900))  # [pixels]
SCHEMES = ("light", "dark")
TO_FIGURE = """
const seen = [...document.querySelectorAll("article .heat-map, article svg[role=img]")];
document.documentElement.style.scrollBehavior = "auto";
seen[0]?.scrollIntoView({block: "start", behavior: "instant"});
window.scrollBy({top: -120, behavior: "instant"});
return seen.length > 0;
"""


def take(browser, folder, page):
    """Take all pictures of a page, and return where they are."""
    taken = []
    for size in SIZES:
        for scheme in SCHEMES:
            name = f"{page.replace('/', '-')}-{size[0]}-{scheme}"
            browser.show(BUILT / f"{page}.html", size=size, media={"prefers-color-scheme": scheme})
            taken.append(_keep(browser, folder / f"{name}-top.png"))
            if browser.run(TO_FIGURE):
                taken.append(_keep(browser, folder / f"{name}-figure.png"))
    return taken


def _keep(browser, path):
    """Write a screenshot of the screen."""
    browser.wait()
    path.write_bytes(base64.b64decode(browser.tell("Page.captureScreenshot")["data"]))
    return path


def main():
    """Take pictures of the pages that are named, or of those with figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the PNG files are written")
    parser.add_argument("page", nargs="*", default=PAGES, help="as Sphinx calls it")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(Path(profile))
        try:
            for page in asked.page:
                for path in take(browser, asked.folder, page):
                    print(path)
        finally:
            browser.driver.quit()


if __name__ == "__main__":
    main()
