"""The types that every room uses: messages, mailboxes, frames, and the ports that record and observe a run."""
