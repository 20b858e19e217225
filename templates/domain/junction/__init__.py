"""Traffic lights: a domain for PRISM."""
