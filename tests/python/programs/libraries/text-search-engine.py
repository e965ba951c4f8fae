# A tiny search engine: tokenising, an inverted index, tf-idf ranking.
import math
import re
from collections import Counter, defaultdict

documents = {f"wiki/{slug}": re.sub(r"<[^>]+>", " ", tools.wiki.get_page(slug=slug)["html"]) for slug in tools.wiki.list_pages()["pages"]}
documents |= {f"issue/{i['number']}": i["title"] + " " + i["body"] for i in tools.github.list_issues(owner="a", repo="b", per_page=9)["issues"]}
tokens = {name: Counter(re.findall(r"[a-zà-ÿ]+", text.lower())) for name, text in documents.items()}
index = defaultdict(set)
for name, counts in tokens.items():
    for word in counts:
        index[word].add(name)

def search_for(query, limit=3):
    scores = Counter()
    for word in query.lower().split():
        idf = math.log(len(documents) / len(index[word])) if word in index else 0
        for name in index.get(word, ()):
            scores[name] += tokens[name][word] / tokens[name].total() * idf
    return sorted(((round(s, 4), n) for n, s in scores.items()), key=lambda p: (-p[0], p[1]))[:limit]

for query in ("wiki home", "slow start", "unicode café", "nothing"):
    print(query, search_for(query))
