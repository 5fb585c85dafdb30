"""Connectors: places outside (a folder on disk, a web page, the pages of a sitemap) whose files become documents.

`actions` changes a connector, `looking` looks at one that is due, `folders`, `pages` and `sitemaps` know the places,
`items` keeps what was found there in step with documents. How a document is read is not known here.
"""
