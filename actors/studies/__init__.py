"""Work on many runs: experiments, calibrations, causes, and the gateway that their oracles share."""
