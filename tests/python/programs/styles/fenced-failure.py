# Lines are those of the whole text.
```python
pages = tools.wiki.list_pages()["pages"]
print(pages[99])
```
