"""What is wrong with a page as a browser shows it."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page


def faults_of(page: Page, path: str) -> list[str]:
    """What the console says, whether it is wider than the window, and what axe finds."""
    faults = []
    page.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(path)
    wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if wider > 0:
        faults.append(f"{wider} px wider than the window")
    faults += [f"{found['id']}: {found['nodes'][0]['html']}" for found in Axe().run(page).response["violations"]]
    return faults
