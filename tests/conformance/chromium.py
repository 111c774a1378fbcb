"""Chromium for tests of pages: its driver, and the fixture that starts it once.

Source: W3C WebDriver; Chrome DevTools Protocol, "Emulation".
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from pathlib import Path

import pytest

OPTIONS = (
    "--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
)  # fmt: skip
DESKTOP = (1280, 900)  # [pixels]


def lacking():
    """Return what is missing for tests in a browser."""
    programs = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    modules = [
        name
        for name in ("selenium", "axe_playwright_python")
        if importlib.util.find_spec(name) is None
    ]
    return ", ".join(programs + modules)


class Browser:
    """Chromium, and one page in it.

    Attributes
    ----------
    driver : selenium.webdriver.Chrome
        The driver of the browser.
    """

    def __init__(self, profile):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        user = f"--user-data-dir={profile}"
        for option in (*OPTIONS, user, *(["--no-sandbox"] if os.geteuid() == 0 else [])):
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        service = Service(executable_path=shutil.which("chromedriver"))
        self.driver = webdriver.Chrome(options, service)

    def tell(self, command, **arguments):
        """Send a command of the DevTools protocol."""
        return self.driver.execute_cdp_cmd(command, arguments)

    def show(self, page, fragment="", *, size=DESKTOP, media=None, script=True):
        """Load a page again."""
        self.driver.get("about:blank")
        self.logs()
        width, height = size
        self.tell(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        wanted = {"prefers-color-scheme": "light", "prefers-reduced-motion": "reduce"}
        wanted.update(media or {})
        features = [{"name": name, "value": value} for name, value in wanted.items()]
        self.tell("Emulation.setEmulatedMedia", features=features)
        self.tell("Emulation.setScriptExecutionDisabled", value=not script)
        self.driver.get(page.as_uri() + (f"#{fragment}" if fragment else ""))

    def run(self, script, *arguments):
        """Run a function body in the page, and return its result."""
        return self.driver.execute_script(script, *arguments)

    def press(self, *keys, control=False):
        """Press keys in sequence, in the focused element."""
        from selenium.webdriver import ActionChains, Keys

        chain = ActionChains(self.driver)
        if control:
            chain.key_down(Keys.CONTROL)
        for key in keys:
            chain.send_keys(getattr(Keys, key, key))
        if control:
            chain.key_up(Keys.CONTROL)
        chain.perform()

    def logs(self):
        """Return the log since the last call: messages, and requested addresses."""
        messages = [entry["message"] for entry in self.driver.get_log("browser")]
        events = [
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        ]
        asked = [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]
        return messages, asked

    def texts(self, selector, what="textContent"):
        """Return the texts, or another property, of the visible elements."""
        script = (
            "return [...document.querySelectorAll(arguments[0])]"
            f".filter((element) => element.checkVisibility()).map((element) => element.{what})"
        )
        return self.run(script, selector)

    def count(self, selector):
        """Return the number of visible elements."""
        return len(self.texts(selector))

    def choose(self, *values):
        """Click on checkboxes of the filters."""
        for value in values:
            self.run("document.querySelector(`#filters [value='${arguments[0]}']`).click()", value)

    def fragment(self):
        """Return the fragment of the address."""
        return self.run("return decodeURIComponent(location.hash)")

    def wait(self):
        """Wait until the page has handled its pending events."""
        self.run("return new Promise((done) => setTimeout(done, 50))")

    def axe(self):
        """Return the violations that axe finds in the current page."""
        found = importlib.util.find_spec("axe_playwright_python")
        folder = Path(next(iter(found.submodule_search_locations)))
        self.run((folder / "axe.min.js").read_text(encoding="utf-8"))
        self.driver.set_script_timeout(100)
        violations = self.driver.execute_async_script(
            "axe.run(document, {resultTypes: ['violations']})"
            ".then((found) => arguments[0](found.violations))"
        )
        return [f"{one['id']}: {node['html'][:200]}" for one in violations for node in one["nodes"]]


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Chromium; skipped if it is not installed, failed if it is required."""
    if missing := lacking():
        if "browser" in os.environ.get("INTERCHANGE_TEST_REQUIRE", "").split(","):
            pytest.fail(f"a browser is required here, and there is no {missing}")
        pytest.skip(f"there is no {missing}: see the extra named browser")
    found = Browser(tmp_path_factory.mktemp("chromium"))
    yield found
    found.driver.quit()
