"""From a script or a recording to fixes that are proven, shown and written."""
