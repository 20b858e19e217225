"""`prism play`: a local page on which a changed setting reruns the world at once."""
