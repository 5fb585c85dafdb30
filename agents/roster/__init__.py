"""The agents. A folder with an `agent.py` that has `SPEC` and `run` is one; nothing else lists them."""
