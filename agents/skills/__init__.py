"""One folder for each skill: something that agents can do as a whole, by `invoke_skill`. Skills use each other through
their context only."""
