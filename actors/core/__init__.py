"""What every actor speaks: messages, mailboxes, frames, and the ports through which a run is recorded and observed."""
