"""Single sign-on by OpenID Connect: the code flow with PKCE, state and nonce.

`protocol` is the arithmetic, `id_tokens` looks at signatures, `provider` makes the calls, `arriving` says whose account
it is, `roles` what the claims give, `views` arranges. What can go wrong is in `problems`, a sentence for each.
"""
