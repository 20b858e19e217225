"""PRISM decides: statecharts, worlds, rules. Values and functions, without tasks, clocks, logs, files or sockets."""
