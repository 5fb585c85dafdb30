"""Questions that are asked by themselves: when, in whose name, under which rule, and what came of it."""
