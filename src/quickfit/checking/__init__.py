"""What `quickfit check` does around the scanning itself: files, choices, formats, fixes."""
