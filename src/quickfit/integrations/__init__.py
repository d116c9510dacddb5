"""quickfit inside other programs: a script, a notebook or a test that watches itself."""
