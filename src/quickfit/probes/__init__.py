"""What quickfit watches inside the running script; one probe per file.

Everything here lives in someone's training: it is cheap, it never raises into the script, and
it leaves no frame in the script's tracebacks.
"""
