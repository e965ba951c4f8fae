# The guard with a plain function.
def main():
    repos = tools.github.list_repos(owner="acme")["repos"]
    print(", ".join(r["name"] for r in repos))

if __name__ == "__main__":
    main()
