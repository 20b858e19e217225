"""The way of a question to its answer: queue, admission, rate, concurrency, call."""
