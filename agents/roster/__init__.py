"""The agents, a folder each. A folder with an `agent.py` that has `SPEC` and `run` is an agent; nothing else lists them."""
