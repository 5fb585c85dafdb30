"""Scripts that act (CodeAct): an agent writes one program that calls its tools, in the place of one call at a time."""
