"""Plain loops over the libraries of providers, guarded: one small file for each provider."""
