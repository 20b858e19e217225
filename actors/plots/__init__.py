"""Charts of runs and experiments: one function a chart, from columns to an Altair object."""
