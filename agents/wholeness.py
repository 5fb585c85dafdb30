"""Whether agents, tools, skills and scanners fit together: looked at once, at a runner's start, before it drives
anything.
"""

from agents.guardrails.registry import found_scanners
from agents.registry import BadAgent, specs
from agents.skills.registry import skills
from agents.tools.providers import PROVIDER_NAMES
from agents.tools.registry import tools


def check() -> None:
    """Loads all of them. Raises BadAgent, BadTool, BadSkill or BadScanner, which name the file and what it lacks."""
    known = tools()
    skills()
    found_scanners()
    for name, spec in specs().items():
        for tool in spec.tools:
            if tool not in known:
                raise BadAgent(f"agents/roster/{name}/agent.py names the tool '{tool}', which does not exist")
            if not known[tool].is_for(name):
                raise BadAgent(f"agents/roster/{name}/agent.py names the tool '{tool}', which is not for this agent")
        unknown = sorted(set(spec.needs) - set(PROVIDER_NAMES))
        if unknown:
            allowed = ", ".join(PROVIDER_NAMES)
            raise BadAgent(f"agents/roster/{name}/agent.py needs {', '.join(unknown)}; there are: {allowed}")
