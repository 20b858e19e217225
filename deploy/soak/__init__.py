"""A soak: a long run watched for memory, latency and alerts, and the report of it."""
