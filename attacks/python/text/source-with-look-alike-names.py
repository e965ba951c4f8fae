# attack: names in other Unicode forms, which the interpreter takes for the plain ones
# property: S41
# tools: ["shop.list_customers"]
# build: [["name = 'echo'\ntry:\n    \uff54\uff4f\uff4f\uff4c\uff53.\uff50robe[name]({})\n    return 'sent'\nexcept T\uff4folError as error:\n    return error.code", 1]]
# expect: value "denied"
