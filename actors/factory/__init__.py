"""From a configuration to objects: domains with their input files, and oracles."""
