"""Work on many runs: experiments, calibrations, and the gateway that their oracles share."""
