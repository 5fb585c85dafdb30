"""The browser in which pages are looked at."""

import shutil

from playwright.sync_api import expect

EXECUTABLE = shutil.which("chromium-headless-shell") or "/usr/bin/chromium"
"""Without a window, where it is installed: the same pages for a fifth of the work."""

# Of a page beside three others that work, on a machine that has all its cores taken: no test is about time.
expect.set_options(timeout=30_000)
