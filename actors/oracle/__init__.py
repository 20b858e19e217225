"""One question's way to an answer: queue, admission, rate, concurrency, call."""
