"""An installation as one file: taken while it runs, and put back whole or not at all."""
