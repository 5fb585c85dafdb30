"""The one door to the world outside: to addresses that people, pages or models chose, and to servers of the house.

`addresses` says where one may go, `egress` where an administrator lets one go. `client` makes HTTP's connections and
looks at each of them: `fetching` reads a page by it, `posting` sends webhooks, `calling` asks what an administrator
configured, which may lie in a private network. `http_client` lends guarded connections to libraries that speak a
protocol of their own, `sockets` makes those to mail servers, also to such as a person named, `tunnel` those of proxies.
`robots` reads what a site asks of programs, `json_values` counts the values of what comes. Nothing else may open a
connection: import contracts and a test name the few exceptions, such as the model gateway, which goes to servers that
administrators configured.
"""
