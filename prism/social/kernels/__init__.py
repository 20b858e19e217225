"""The loops of the social world that become machine code: acts and views, feeds, choices, waves, ticks in one call."""
