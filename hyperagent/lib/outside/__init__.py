"""The one door to the world outside for whatever follows addresses that people, pages or models chose.

`addresses` says where one may go, `egress` where an administrator lets one go, `client` makes the connections and
looks at each of them, `fetching` reads a page, `http_client` lends them to libraries that speak a protocol of their
own, `posting` sends webhooks, `robots` reads what a site asks of programs. Nothing else may open a connection (an
import contract says so); the model gateway and the mailbox go to servers that administrators configured.
"""
