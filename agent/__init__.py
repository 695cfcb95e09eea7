"""Do a request with a page's tools and a local model."""
