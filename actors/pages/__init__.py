"""Pages for a browser: the report of runs, and the looks that all pages share."""
