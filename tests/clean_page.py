"""What is wrong with a page as a browser shows it."""

from typing import Any, Final

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

# Level AA of WCAG 2.2: what came with 2.2, the size of what is pressed (2.5.8), axe leaves out unless it is named.
WCAG_22_AA: Final = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
# A colour on its way to another has a contrast of its own, also one that sets out with the next frame.
RUN: Final = """async ([context, options]) => {
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    document.getAnimations()
        .filter((animation) => Number.isFinite(animation.effect?.getComputedTiming().endTime))
        .forEach((animation) => animation.finish());
    return (await axe.run(context ?? document, options)).violations;
}"""


def axe_faults(page: Page, *, context: str | None = None, **options: Any) -> list[str]:
    """What axe finds, with the first three places of each. `options`: of axe, beside ours."""
    # Half a megabyte, which stays for as long as the document.
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate(RUN, [context, {**WCAG_22_AA, **options}])
    return [f"{one['id']} ({len(one['nodes'])}): {[node['html'][:200] for node in one['nodes'][:3]]}" for one in found]


def faults_of(page: Page, path: str) -> list[str]:
    """What the console says, whether it is wider than the window, and what axe finds."""
    faults = []
    page.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(path)
    wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if wider > 0:
        faults.append(f"{wider} px wider than the window")
    return faults + axe_faults(page)
