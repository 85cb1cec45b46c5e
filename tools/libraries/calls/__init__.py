"""The functions of each library, as tables of calls: one module for each library."""
