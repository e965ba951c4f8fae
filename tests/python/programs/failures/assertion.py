# A failed assertion with its message.
repos = tools.github.list_repos(owner="acme")["repos"]
assert len(repos) > 10, f"only {len(repos)} repositories"
