"""The one reader and editor of the user's source: files, names, values, chains, shapes, edits."""
