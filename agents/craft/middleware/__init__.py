"""What stands around the model calls of a loop: one class a file, each immutable, put together in `default.py`."""
