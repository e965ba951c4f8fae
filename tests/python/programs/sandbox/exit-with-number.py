# So is `exit(3)`, with its number.
def main():
    if tools.github.list_issues(owner="a", repo="b")["total"] > 30:
        exit(3)

main()
