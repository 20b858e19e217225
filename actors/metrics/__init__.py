"""What is seen from outside: snapshots, the exposition, and the HTTP endpoint."""
