"""One file for each scanner; it is found by its `SCANNER`, and nothing lists it."""
