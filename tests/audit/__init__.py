"""The audit log: that it is whole, that it is complete, who reads it, where it goes."""
