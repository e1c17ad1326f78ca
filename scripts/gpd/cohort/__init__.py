"""Where a cohort begins: its reads below a folder or in a sheet, and the configuration that is made of them."""
