"""Changes to a user's source that remove a cause: recognised with `ast`, written with LibCST."""
