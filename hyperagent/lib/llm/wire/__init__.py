"""The read side of the providers' protocols: bytes in, deltas out. Pure, incremental, and no file imports a client."""
