"""Images as tools reach them: made by a model that makes them, looked at by a model that sees."""
