"""The pages of the shop: one module per page, one function per request."""
