"""Images and networks that are made smaller."""
