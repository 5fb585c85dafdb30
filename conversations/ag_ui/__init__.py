"""A run for front ends that speak the Agent-User Interaction Protocol (AG-UI 1.0)."""
