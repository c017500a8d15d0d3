"""Results as HTML: pieces, and whole files that make no request."""
