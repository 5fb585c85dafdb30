"""HyperAgent as an agent that other programs' agents ask by the Agent2Agent protocol (A2A 1.0, and 0.3)."""
