"""The configuration: models, loading, and the one-line messages for what is wrong with it."""
