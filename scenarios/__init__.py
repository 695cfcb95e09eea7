"""A page, requests and what should have happened; all that people start."""
