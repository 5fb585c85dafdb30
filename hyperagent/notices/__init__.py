"""What is told to the world outside: signed webhooks for programs, and mail for people. Decides nothing about runs."""
