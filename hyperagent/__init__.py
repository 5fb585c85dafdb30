"""HyperAgent: agents for a team, run by itself."""

import gc

# What is loaded at the start is no garbage. Looked through after every 700 objects, as Python does by itself, a start
# takes a sixth more CPU, and so does what is done with many small objects later.
gc.set_threshold(50_000, 10, 10)
