"""What a script's text says: calls, arguments, lines. Uses `ast`, imports nothing of the user's."""
