"""The one HTTP server: uvicorn in a thread, with limits on clients that are slow or too many."""
