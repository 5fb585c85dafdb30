"""The browser in which pages are looked at."""

import shutil

EXECUTABLE = shutil.which("chromium-headless-shell") or "/usr/bin/chromium"
"""Without a window, where it is installed: the same pages for a fifth of the work."""
