"""Answer each page of the shop: one module a page, one function a request."""
